"""The settings of tools: where they come from, how they run, and which a message is sent with.

Part of config. What the words of an intent are is data beside the gate; here an operator changes
them and says which tools they are for.
"""

import re
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hermes.config.section import Means, Named, Section, Word


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError from error
    return pattern


Pattern = Annotated[
    str, Field(min_length=1), AfterValidator(_compiles), Means("a regular expression")
]


class IntentSettings(Section):
    """One thing that people want, how they say it, and the tools that it takes."""

    words: tuple[Word, ...] = Field(
        default=(),
        description="Words and word beginnings that indicate the intent, in any language; they "
        "replace those of the built-in intent of the same name.",
    )
    patterns: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions that indicate the intent; they are matched against "
        "lower case without accents.",
    )
    attached: bool = Field(
        default=False, description="Whether any picture, sound or file also indicates the intent."
    )
    tools: tuple[Word, ...] = Field(
        default=(),
        description="Tools for this intent, in addition to those that name it themselves; * "
        "matches any letters.",
    )


class GateSettings(Section):
    """Sending only the tools that a message can need."""

    mode: Literal["auto", "always", "off"] = Field(
        default="auto",
        description="auto sends the same tools throughout a session, so that the service's "
        "prompt cache stays valid, and none while there was only small talk. always sends only "
        "the tools that each message may need. off sends all tools with every message.",
    )
    trivial: tuple[Word, ...] = Field(
        default=(), description="Additional greetings, thanks and the like, which need no tools."
    )
    follow_ups: tuple[Word, ...] = Field(
        default=(),
        description="Additional words that begin a message which continues the one before.",
    )
    intents: Named[IntentSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="What people want, by name: your own intents, or changes to built-in ones.",
    )


class ToolSettings(Section):
    """Tools: Python functions of your own, and how all tools are run."""

    modules: tuple[Word, ...] = Field(
        default=(),
        description="Modules with @tool functions, each a module name or the path of a .py file; "
        "a relative path starts at the home folder.",
    )
    web_fetch: bool = Field(
        default=False,
        description="Whether agents get the tool web_fetch, which reads public web pages.",
    )
    memory: bool = Field(
        default=True,
        description="Whether agents get the tool memory, which stores facts about the sender.",
    )
    send_message: bool = Field(
        default=True,
        description="Whether agents get the tool send_message; a message to another chat than "
        "the sender's own needs an approval.",
    )
    session_search: bool = Field(
        default=True,
        description="Whether agents get the tool session_search, which finds what the sender "
        "said before, and the answers; search.enabled must be on too.",
    )
    schedule: bool = Field(
        default=True,
        description=("Whether agents get the tool schedule, which creates jobs for the sender."),
    )
    delegate: bool = Field(
        default=True,
        description="Whether agents get the tool delegate, which gives a task to a subagent.",
    )
    delegate_to: tuple[Word, ...] = Field(
        default=(),
        description=('The agents to which an agent may delegate besides itself; "*" means all.'),
    )
    max_result_chars: Annotated[int, Field(ge=1_000, le=4_000_000)] = Field(
        default=30_000,
        description="A longer tool result is cut in the middle for the model, and stored whole.",
    )
    parallel_calls: Annotated[int, Field(ge=1, le=100)] = Field(
        default=8,
        description="At most this many tool calls of one message run in parallel, if the tools "
        "allow it.",
    )
    gate: GateSettings = Field(default_factory=GateSettings)

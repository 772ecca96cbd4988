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
        description="Words and beginnings of words that tell it, in any language; they replace "
        "those of the built-in intent of the same name.",
    )
    patterns: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions that tell it; searched in small letters without accents.",
    )
    attached: bool = Field(
        default=False, description="Whether any picture, sound or file tells it, too."
    )
    tools: tuple[Word, ...] = Field(
        default=(),
        description="Tools that are for it beside those that name it themselves; * stands for "
        "any letters.",
    )


class GateSettings(Section):
    """Sending only the tools that a message can need."""

    mode: Literal["auto", "always", "off"] = Field(
        default="auto",
        description="auto sends the same tools throughout a session, so that the service's prompt "
        "cache holds, and none while there was only small talk; always sends each message only "
        "the tools that it can need; off sends all with every message.",
    )
    trivial: tuple[Word, ...] = Field(
        default=(), description="More greetings, thanks and the like, which need no tools."
    )
    follow_ups: tuple[Word, ...] = Field(
        default=(),
        description="More words that begin a message which goes on with the one before.",
    )
    intents: Named[IntentSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="What people want, by name; an intent of your own, or more about a built-in one.",
    )


class ToolSettings(Section):
    """Tools: Python functions of your own, and how all tools are run."""

    modules: tuple[Word, ...] = Field(
        default=(),
        description="Where functions with @tool are, each a module name or the path of a .py file; "
        "a relative path starts at the home folder.",
    )
    web_fetch: bool = Field(
        default=False,
        description="Whether agents get the tool web_fetch, which reads public web pages.",
    )
    memory: bool = Field(
        default=True,
        description="Whether agents get the tool memory, which keeps facts of the person who writes.",
    )
    send_message: bool = Field(
        default=True,
        description="Whether agents get the tool send_message; what goes to other chats than the "
        "person's own is asked for first.",
    )
    session_search: bool = Field(
        default=True,
        description="Whether agents get the tool session_search, which finds what the person who "
        "writes said before, and what they were answered; search.enabled must be on, too.",
    )
    schedule: bool = Field(
        default=True,
        description="Whether agents get the tool schedule, which makes jobs for the person who "
        "writes.",
    )
    delegate: bool = Field(
        default=True,
        description="Whether agents get the tool delegate, which gives a task to a subagent.",
    )
    delegate_to: tuple[Word, ...] = Field(
        default=(),
        description="The agents that a task may be given to beside the one that has it; "
        '"*" is all of them.',
    )
    max_result_chars: Annotated[int, Field(ge=1_000, le=4_000_000)] = Field(
        default=30_000,
        description="A longer result of a tool is cut in the middle for the model, and kept whole.",
    )
    parallel_calls: Annotated[int, Field(ge=1, le=100)] = Field(
        default=8,
        description="At most this many tool calls of one message run at the same time, where the "
        "tools say that they may.",
    )
    gate: GateSettings = Field(default_factory=GateSettings)

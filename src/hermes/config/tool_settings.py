"""The settings of what an agent can do: tools, MCP servers, pictures and memory.

Part of config; docs/settings.md is made of the docstrings below the fields. The words of a built-in
intent are data beside the gate and the classifier; here an operator changes them. Learning by
itself costs model calls that nobody asked for, so it is off until an operator says otherwise.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from hermes.config.entries import FACTS
from hermes.config.section import (
    Count,
    Days,
    Delay,
    Headers,
    Means,
    ModelName,
    Name,
    Named,
    OfChannels,
    Seconds,
    Section,
    Table,
    Url,
    Word,
    no_entries,
)


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError from error
    return pattern


Pattern = Annotated[
    str, Field(min_length=1), AfterValidator(_compiles), Means("a regular expression")
]


def _from_own_folder(word: str) -> str:
    """Replace a leading `~` by the user's own folder, as a shell would have done."""
    return str(Path(word).expanduser()) if word == "~" or word.startswith("~/") else word


ProgramWord = Annotated[str, AfterValidator(_from_own_folder)]


class IntentSettings(Section):
    """One thing that people want, how they say it, and the tools for it."""

    words: tuple[Word, ...] = ()
    """Words and word beginnings that indicate the intent, in any language; they replace those of
    the built-in intent of the same name."""
    patterns: tuple[Pattern, ...] = ()
    """Regular expressions that indicate the intent; they are matched against lower case without
    accents."""
    attached: bool = False
    """Whether any picture, sound or file also indicates the intent."""
    tools: tuple[Word, ...] = ()
    """Tools for this intent, in addition to those that name it themselves; * matches any
    letters."""


class GateSettings(Section):
    """Sending only the tools that a message can need."""

    mode: Literal["auto", "always", "off"] = "auto"
    """auto sends the same tools throughout a session, so that the service's prompt cache stays
    valid, and none while there was only small talk. always sends only the tools that each message
    may need. off sends all tools with every message."""
    trivial: tuple[Word, ...] = ()
    """Additional greetings, thanks and the like, which need no tools."""
    follow_ups: tuple[Word, ...] = ()
    """Additional words that begin a message which continues the one before."""
    intents: Named[IntentSettings] = Field(default_factory=no_entries)
    """What people want, by name: your own intents, or changes to built-in ones."""


class ToolSettings(Section):
    """Tools: Python functions of your own, and how all tools are run."""

    modules: tuple[Word, ...] = ()
    """Modules with @tool functions, each a module name or the path of a .py file; a relative path
    starts at the home folder."""
    web_fetch: bool = False
    """Whether agents get the tool web_fetch, which reads public web pages."""
    memory: bool = True
    """Whether agents get the tool memory, which stores facts about the sender."""
    send_message: bool = True
    """Whether agents get the tool send_message; a message to another chat than the sender's own
    needs an approval."""
    session_search: bool = True
    """Whether agents get the tool session_search, which finds what the sender said before, and the
    answers; search.enabled must be on too."""
    schedule: bool = True
    """Whether agents get the tool schedule, which creates jobs for the sender."""
    delegate: bool = True
    """Whether agents get the tool delegate, which gives a task to a subagent, and those that have a
    team the tools for it."""
    delegate_to: tuple[Word, ...] = ()
    """The agents to which an agent may delegate besides itself; "*" means all."""
    delegate_depth: Annotated[int, Field(ge=0, le=10)] = 3
    """How deep subagents and delegated tasks may be nested; 0: an agent has none."""
    delegate_width: Annotated[int, Field(ge=1, le=100)] = 8
    """At most this many agents get a task by one call of delegate_task."""
    delegate_open: Annotated[int, Field(ge=1, le=1_000)] = 32
    """At most this many subagents and delegated tasks of one conversation run or wait at a time."""
    delegate_limit_s: Seconds = 1_800
    """The time limit of a delegated task, counted from when it was given."""
    max_result_chars: Annotated[int, Field(ge=1_000, le=4_000_000)] = 30_000
    """A longer tool result is cut in the middle for the model, and stored whole."""
    parallel_calls: Annotated[int, Field(ge=1, le=100)] = 8
    """At most this many tool calls of one message run in parallel, if the tools allow it."""
    gate: GateSettings = Field(default_factory=GateSettings)


# In the list of a platform: none of the servers.
NO_MCP = "no_mcp"


class McpOAuthSettings(Section):
    """Tokens for an MCP server, from an authorization server."""

    issuer: Url | None = None
    """The authorization server, as it names itself; without it no tokens are got. Tokens of no other
    are used."""
    grant: Literal["code", "client_credentials"] = "code"
    """How tokens are got: `hermes mcp login` (code), or with an id and a secret."""
    client_id: Word | None = None
    """The id of Hermes at the authorization server; without one `hermes mcp login` registers. `${NAME}` is
    a stored secret, or a variable."""
    client_secret: SecretStr | None = None
    """The secret of that id; `${NAME}` is a stored secret, or a variable."""
    scope: str = ""
    """The scopes to ask for, with spaces between them; default: what the server asks for."""
    endpoints: tuple[Url, ...] = ()
    """Other addresses that the authorization server uses, such as that of its tokens. Requests
    about tokens go nowhere else."""
    redirect_port: Annotated[int, Field(ge=1, le=65_535)] = 8_976
    """The port of this machine to which the browser comes back from `hermes mcp login`."""


class McpServerSettings(Section):
    """One MCP server: a command that is started here, or an address that is called."""

    enabled: bool = True
    """Whether the server is used."""
    command: Annotated[ProgramWord, Field(min_length=1)] | None = None
    """The program to start; Hermes talks to it over stdin and stdout. `~/` is your own folder."""
    args: tuple[ProgramWord, ...] = ()
    """The arguments of the program. `~/` at the beginning of one is your own folder."""
    env: Headers = Field(default_factory=no_entries)
    """Environment variables of the program, in addition to PATH, HOME and the like. Their values
    are secret; `${NAME}` in a value is replaced by a stored secret, or by a variable of the gateway or
    of `.env`."""
    cwd: Path | None = None
    """The working folder of the program; default: the home folder. A relative path begins there,
    and `~/` is your own folder."""
    url: Url | None = None
    """The HTTP address of the server."""
    transport: Literal["http", "sse"] = "http"
    """The HTTP transport: streamable HTTP, or the older server-sent events."""
    headers: Headers = Field(default_factory=no_entries)
    """Headers of every HTTP request; secret, with `${NAME}` as in env."""
    oauth: McpOAuthSettings = Field(default_factory=McpOAuthSettings)
    """Tokens from an authorization server, instead of one in headers."""
    protocol: Literal["auto", "stateless", "handshake"] = "auto"
    """The MCP generation: stateless (2026-07-28), handshake (before), or what the server
    supports."""
    connect_timeout_s: Seconds = 30
    """The time limit for starting, connecting and listing the tools."""
    timeout_s: Seconds = 60
    """The time limit of one tool call, including the wait for its turn."""
    tool_timeouts_s: Table[Seconds] = Field(default_factory=no_entries)
    """The time limit for one tool, by the server's own name for it."""
    parallel: bool = False
    """Whether its tools may run in parallel; otherwise one after the other."""
    allow: tuple[Word, ...] = ("*",)
    """The tools to use, by the server's own names; `*` matches any text."""
    deny: tuple[Word, ...] = ()
    """The tools to leave out, even if `allow` matches them."""
    approval: Literal["hints", "always", "never"] = "hints"
    """Whether a person approves calls: hints asks unless the server says that a tool only reads, or
    destroys nothing."""
    always_ask: tuple[Word, ...] = ()
    """The tools that always need an approval."""
    never_ask: tuple[Word, ...] = ()
    """The tools that never need an approval."""
    max_tools: Annotated[int, Field(ge=1, le=1000)] = 100
    """At most this many tools are used; `hermes mcp list` shows if some are left out."""
    prompts: tuple[Word, ...] = ()
    """The prompts that people may use as commands, by the server's own names; `*` matches any text."""
    resources: tuple[Word, ...] = ()
    """The resources that people may attach, by their addresses, such as `docs://*`."""
    sampling: Word | None = None
    """The agent that answers if the server asks for a model in the middle of a call (sampling). It
    answers as a subagent: for the person whose turn it is, within their budgets. Without one the server
    is refused."""
    max_samples: Annotated[int, Field(ge=1, le=50)] = 3
    """At most this many times a server may do so in one call."""
    max_sample_chars: Annotated[int, Field(ge=100, le=1_000_000)] = 20_000
    """A longer request for a model is refused, and a longer answer is cut."""
    max_message_bytes: Count = 4_194_304
    """A larger message of the server ends the connection, or the call."""

    def folder_in(self, home: Path) -> Path:
        """Return the folder in which the program runs."""
        return home / (self.cwd or Path()).expanduser()


class McpSettings(Section):
    """Tools from MCP servers."""

    servers: Named[McpServerSettings] = Field(default_factory=no_entries)
    """The servers, by name."""
    platforms: OfChannels[tuple[Word, ...]] = Field(default_factory=no_entries)
    """The servers whose tools may be used on a platform, by its name; no_mcp means none. A platform
    that is not listed may use all."""
    start_wait_s: Delay = 5
    """A start or reload waits this long for servers to connect."""
    check_s: Seconds = 300
    """How often a silent server is asked for its list of tools again."""
    ask_timeout_s: Seconds = 300
    """How long a server's question to a person stays open."""


Seer = Annotated[
    str,
    Field(pattern=r"^(auto|off|[a-z0-9][a-z0-9_-]*:\S+)$"),
    Means('"auto", "off", or "provider:model" such as "openai:gpt-4o-mini"'),
]


class ImageIntentSettings(Section):
    """A purpose for which people send a picture, and how they say it."""

    words: tuple[Word, ...] = ()
    """Words and word beginnings that indicate the intent, in any language; they replace those of
    the built-in intent of the same name."""
    patterns: tuple[Pattern, ...] = ()
    """Regular expressions that indicate the intent; they are matched against lower case without
    accents."""


class VisionSettings(Section):
    """Pictures: which model sees them, and which go to their own pipeline."""

    model: Seer = "auto"
    """The model that describes pictures for a model that cannot see them, as provider:model; auto
    uses any that can, off none."""
    max_pictures: Annotated[int, Field(ge=1, le=50)] = 8
    """At most this many pictures of one message are described."""
    ask_model: bool = False
    """Whether a model decides what a picture was sent for if its caption does not say; only if a
    plugin handles some intent."""
    timeout_s: Seconds = 60.0
    """A plugin's vision pipeline is stopped after this long without a result; the models that it
    calls have their own limits."""
    intents: Named[ImageIntentSettings] = Field(default_factory=no_entries)
    """What pictures are sent for, by name: your own intents, or other words for built-in ones."""


PartOfLife = Annotated[
    str,
    Field(pattern=r"^([a-z0-9][a-z0-9 -]{0,49})?$"),
    Means("up to 50 small letters, digits, spaces and '-'"),
]


class FactKeySettings(Section):
    """One thing worth knowing about everyone."""

    meaning: Annotated[str, Field(min_length=1, max_length=200)]
    """What it means, for the model that learns facts."""
    about: PartOfLife = ""
    """The part of a person's life that it belongs to, such as fitness; facts about one part are one
    block of the prompt."""
    also: tuple[Word, ...] = ()
    """Other names for the same key."""
    enabled: bool = True
    """Whether it is learnt and part of every session; false removes a built-in one."""


class MemorySettings(Section):
    """What agents know about the people they talk to."""

    facts: Named[FactKeySettings] = Field(default_factory=lambda: FACTS, validate_default=True)
    """The facts that are part of every session, by their key; built in are name, language,
    home_city, time_zone, diet and interests. All other facts are used when a message is about
    them."""

    earlier_messages: Annotated[int, Field(ge=0, le=50)] = 5
    """How many messages of a person's earlier sessions a new session begins with; 0: none."""
    recall: bool = True
    """Whether facts are recalled by meaning."""
    recall_facts: Annotated[int, Field(ge=1, le=100)] = 10
    """At most this many facts are recalled for one message."""
    soul_cache_s: Seconds = 3_600
    """How long what every prompt says about a person is cached; a changed fact drops it at once."""
    soul_retries_s: tuple[Delay, ...] = (0.5, 1.0)
    """The delays before further tries to drop it; after the last one an alert says how long the old
    text may still be used."""
    value_chars: Annotated[int, Field(ge=20, le=10_000)] = 200
    """What is known of a person, and what they wrote before, enters prompts with at most this many
    characters each."""
    key_chars: Annotated[int, Field(ge=10, le=500)] = 50
    """The name of a fact has at most this many characters."""
    embedder: Name | None = None
    """What makes the vectors of facts and messages: a provider, or `wordllama`, which is built in,
    costs a sixth and finds less; default: the built-in minilm, or another provider on this machine."""
    recall_timeout_s: Seconds = 2
    """The time limit of recall; after it the message is answered without."""
    extract: bool = False
    """Whether facts are learnt from what people say, by model calls after the reply. The platform
    pays for them."""
    extract_model: ModelName | None = None
    """The model that learns; default: models.summaries."""
    extract_pause_s: Seconds = 120
    """Learning starts after this long a silence in a session."""
    extract_after_s: Seconds = 1_800
    """Learning starts after this long even if the conversation continues."""
    dream: bool = False
    """Whether a model reviews what is known of each person and what they wrote from time to time,
    for insights and gaps. The platform pays for it."""
    dream_model: ModelName | None = None
    """The model for dreams; default: models.summaries."""
    dream_days: Days = 7
    """How often a person is reviewed, and only if there is something new."""
    dream_gaps: Annotated[int, Field(ge=0, le=20)] = 3
    """At most this many things that are not known of a person are noted, to ask about."""
    dreams_a_day: Count = 200
    """At most this many people are reviewed per day, evenly spread."""

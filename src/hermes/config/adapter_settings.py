"""The settings of adapters: programs on this machine that answer the messages of agents.

Part of config; docs/settings.md is made of the docstrings below the fields. Nothing is there unless
an operator names it.
"""

from typing import Annotated, Literal

from pydantic import Field

from hermes.config.section import Count, Headers, ModelName, Seconds, Section, Word, no_entries
from hermes.config.terminal_settings import Folder


class AdapterSettings(Section):
    """A program that answers the messages of agents: Claude Code as claude_local, Codex as codex_local,
    or one that a file describes. It runs in the sandbox of the terminal."""

    description: Folder | None = None
    """The TOML file that describes the program; claude_local and codex_local need none."""
    program: Word | None = None
    """The program to start, with its folders if it is not in /usr; default: the one of the
    description."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the program."""
    models: Literal["gateway", "own"] = "gateway"
    """Where its model calls go. gateway: to /v1 of this gateway and nowhere else, booked to the person; the
    sandbox has no other network. own: to its own service with its own credentials, over the network
    of this machine."""
    model: ModelName | None = None
    """The model that it asks for, unless its agent names one; default: auto with gateway, its own choice
    with own."""
    variables: Headers = Field(default_factory=no_entries)
    """Its environment variables, such as a key of its own service. It gets none of the gateway's."""
    readable: tuple[Folder, ...] = ()
    """Further folders that it may read, such as where its packages are."""
    timeout_s: Seconds = 1_800
    """How long it may work on one message, without the time in which it waits for a person."""
    silence_s: Seconds = 600
    """How long it may write nothing, without that time."""
    question_s: Seconds = 3_600
    """How long a person has to allow what it asks for."""
    output_mb: Annotated[int, Field(ge=1, le=1_000)] = 50
    """How much it may write while it works on one message."""
    answer_chars: Count = 200_000
    """The longest answer; a longer one ends the program."""
    memory_mb: Annotated[int, Field(ge=16, le=1_000_000)] = 4_096
    """The memory limit of each of its processes."""
    processes: Annotated[int, Field(ge=8, le=100_000)] = 512
    """At most this many processes and threads run in its sandbox."""

"""The settings of the terminal, the file tools and the search of the web.

Part of config; docs/settings.md is made of the docstrings below the fields. A model runs programs
only if an operator says so: everything here is off.
"""

import shlex
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from hermes.config.section import (
    Count,
    Days,
    Headers,
    Means,
    Seconds,
    Secret,
    Section,
    Url,
    no_entries,
)


def _is_shape(text: str) -> str:
    """Refuse what no simple command could fit."""
    words = shlex.split(text)
    if not words or "*" in words[0]:
        raise ValueError
    return text


def _local_is_sandboxed(value: object) -> object:
    """TERMINAL_ENV says `local` in older homes: the terminal runs on this machine."""
    return "bubblewrap" if value == "local" else value


CommandShape = Annotated[
    str,
    AfterValidator(_is_shape),
    Means('a program and its arguments, such as "git status" or "ls *"'),
]
SandboxName = Annotated[
    Literal["bubblewrap", "unsafe"],
    BeforeValidator(_local_is_sandboxed),
]
Folder = Annotated[Path, AfterValidator(Path.expanduser)]


class TerminalSettings(Section):
    """The terminal: commands that a model runs in a sandbox, and files in its working folder."""

    enabled: bool = False
    """Whether agents get the tools terminal, terminal_output and terminal_stop, which run
    commands."""
    files: bool = False
    """Whether agents get the tools read_file, write_file, list_files and search_files, which work in
    the same folder as the terminal."""
    sandbox: SandboxName = "bubblewrap"
    """bubblewrap runs commands without network, with the system to read and one folder to write;
    without it installed, commands are refused. unsafe runs them with all rights of the gateway's
    user."""
    cwd: Folder | None = None
    """The working folder of all sessions, outside of the home; default: each session has its own
    folder under `workdirs/` there."""
    approval: Literal["always", "once", "allow"] = "always"
    """Which commands need an approval: always each one, once those of a session until one is
    approved, allow those that fit no shape of `allow`."""
    allow: tuple[CommandShape, ...] = ()
    """The shapes of commands that need no approval where `approval` is allow. A `*` at the end means
    any arguments. A command with pipes, variables or redirection fits no shape."""
    timeout_s: Seconds = 180
    """The time limit of a command."""
    background_processes: Annotated[int, Field(ge=0, le=100)] = 4
    """At most this many background processes of one session run at a time; 0: none."""
    background_timeout_s: Seconds = 43_200
    """The time limit of a background process."""
    output_bytes: Annotated[int, Field(ge=1_000, le=4_000_000)] = 200_000
    """How much of an output is kept: of a command the beginning and the end, of a background process
    the end."""
    processes: Annotated[int, Field(ge=8, le=100_000)] = 256
    """At most this many processes and threads run in one sandbox."""
    cpu_s: Annotated[int, Field(ge=1, le=100_000_000)] = 3_600
    """The processor time of each process of a command, in seconds; one that has used it is killed. All
    of them run with a lower priority than the gateway."""
    memory_mb: Annotated[int, Field(ge=16, le=1_000_000)] = 2_048
    """The memory limit of each process of a command."""
    file_mb: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """The largest file that a command can write, and the size of its temporary folder."""
    folder_mb: Annotated[int, Field(ge=1, le=10_000_000)] = 1_024
    """A command or upload that makes the working folder larger than this is ended or refused. Each
    file and folder counts as 4 kB at least."""
    min_free_mb: Annotated[int, Field(ge=0, le=10_000_000)] = 500
    """Commands are ended and uploads refused while less than this is free on the disk of the working
    folder."""
    upload_bytes: Count = 26_214_400
    """The largest file that is uploaded to or downloaded from a working folder over the API."""
    keep_days: Days = 30
    """A working folder is deleted this long after its last use."""
    readable: tuple[Folder, ...] = ()
    """Additional folders that commands can read, such as /opt/tools."""
    variables: Headers = Field(default_factory=no_entries)
    """Environment variables of commands, in addition to PATH, HOME and LANG. Commands get none of
    the gateway's. Every command can read them."""


class WebSearchSettings(Section):
    """The tool web_search: finds public web pages with a search engine."""

    engine: Literal["none", "searxng", "brave", "tavily"] = "none"
    """The search engine: searxng is a server of your own, brave and tavily need a key. none: agents
    get no tool web_search."""
    url: Url | None = None
    """The address of the SearXNG server; for the others, another address of their API."""
    brave_api_key: Secret | None = None
    """The key of Brave Search."""
    tavily_api_key: Secret | None = None
    """The key of Tavily."""
    results: Annotated[int, Field(ge=1, le=20)] = 8
    """At most this many results of one search are shown to the model."""

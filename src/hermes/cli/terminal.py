"""What every command prints with: the options they share, JSON, and times for people."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="The home folder; otherwise HERMES_HOME, otherwise ~/.hermes.",
        show_default=False,
    ),
]
_PIPE_WIDTH = 1000
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def console() -> Console:
    """Return the console for standard output; it writes no colours into a pipe."""
    # A pipe has no width: nothing may be wrapped or cut there.
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def error_console() -> Console:
    """Return the console for progress and notes, which are no part of the output."""
    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def examples(*lines: str) -> str:
    """Return an epilogue for `--help` with one example a line."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))


_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def clean(text: str) -> str:
    """Return text from elsewhere without the control codes that could take over a terminal."""
    return text.translate(_CONTROLS)

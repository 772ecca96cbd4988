"""The `hermes` command: a start, help and completion go past typer and rich, the rest goes to them."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes import __version__
from hermes.cli.environment import environment
from hermes.cli.failure import INTERRUPTED, run_guarded
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.command_help import root_help
    from hermes.cli.commands import run as run_typer
    from hermes.cli.complete import answer as complete
    from hermes.cli.up import main as start_gateway
    from hermes.ops.lean_imports import import_lean
else:
    import_lean = lazy("hermes.ops.lean_imports:import_lean")
    complete = lazy("hermes.cli.complete:answer")
    root_help = lazy("hermes.cli.command_help:root_help")
    run_typer = lazy("hermes.cli.commands:run")
    start_gateway = lazy("hermes.cli.up:main")

_HELP = frozenset({"--help", "-h"})
# What people type who know other programs.
_VERSION = frozenset({"--version", "-V", "version"})
_HELP_COMMAND = "help"
# The variable with which the scripts of `hermes completion` ask.
_COMPLETION = "_HERMES_COMPLETE"
# What a turn makes is freed by reference counts; looking for cycles at Python's default of 700
# new objects costs a twentieth of all CPU and finds next to nothing.
_COLLECT_AFTER = 5_000
_OWNER_WRITES = 0o022


def main() -> int:
    """Run the command that the process was started with; return its exit code."""
    arguments = sys.argv[1:]
    # Whatever Hermes writes, Python's compiled files too, no other user can change.
    os.umask(os.umask(_OWNER_WRITES) | _OWNER_WRITES)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that says it is ASCII must not make a reply fail.
        getattr(stream, "reconfigure", _leave)(encoding="utf-8", errors="backslashreplace")
    try:
        return run_guarded(lambda: _command(arguments)(arguments[1:]), environment())
    except KeyboardInterrupt:
        # While the settings were imported.
        return INTERRUPTED


def _command(arguments: Sequence[str]) -> Callable[[Sequence[str]], int]:
    if _COMPLETION in environment():
        return lambda _rest: complete(environment())
    if not arguments or arguments[0] in _HELP:
        return lambda _rest: _print(root_help(environment()))
    if arguments[0] in _VERSION:
        return lambda _rest: _print(f"hermes {__version__}")
    if arguments[0] == _HELP_COMMAND:
        return lambda rest: run_typer([*rest, "--help"])
    if arguments[:1] == ["up"] and not _HELP & set(arguments):
        gc.set_threshold(_COLLECT_AFTER)
        import_lean()
        return start_gateway
    return lambda _rest: run_typer(arguments)


def _print(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def _leave(**_options: str) -> None:
    """A replaced stream, as tests use it, stays as it is."""


if __name__ == "__main__":
    sys.exit(main())

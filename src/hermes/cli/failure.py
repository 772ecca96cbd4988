"""Turns an error of any command into one clear message and an exit code."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from hermes.errors import HermesError

DEBUG = "HERMES_DEBUG"
FAILED = 1
INTERRUPTED = 130
TERMINATED = 143
NOT_RUNNING = 3


def run_guarded(command: Callable[[], int], environ: Mapping[str, str]) -> int:
    """Run a command; print errors that Hermes knows without traceback, unless HERMES_DEBUG=1."""
    try:
        return command()
    except HermesError as error:
        if environ.get(DEBUG, "0") not in {"", "0"}:
            traceback.print_exc()
        else:
            print(f"hermes: {error}", file=sys.stderr)
        _give_up_full_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left, as `| head` does.
        _drop_output()
        return FAILED


def _give_up_full_output() -> None:
    """Let the error be the last word if the output takes no more, too."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Keep the interpreter from flushing into an output that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does: unfinished files are removed."""

    def end(_number: int, _frame: object) -> NoReturn:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

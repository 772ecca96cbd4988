"""Turns an error of any command into one clear message and an exit code."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping

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
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left, as `| head` does; the interpreter must not flush into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED

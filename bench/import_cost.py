"""What `import hermes.graph` costs in a fresh process, as in a notebook; part of the group `first`."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from tempfile import TemporaryDirectory

from bench.calm import Rounds, cpu_numbers
from bench.registry import Say, Target

_ROUNDS = 11
_PROGRAM = (
    "from time import process_time; before = process_time(); import hermes.graph; "
    "print((process_time() - before) * 1000)"
)
TARGETS = {"graph_import_cpu_ms": Target(at_most=60)}


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Import the library again and again, each time in its own process."""
    say("importing the graph library")
    rounds: Rounds[float] = Rounds()
    with TemporaryDirectory(prefix="hermes-bench-") as compiled:
        # As `pip install` leaves it, whatever the environment says of compiled files.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        one = partial(_import_ms, environment)
        one()
        for _ in range(_ROUNDS):
            rounds.run(one)
    yield cpu_numbers("graph_import_cpu_ms", rounds)


def _import_ms(environment: Mapping[str, str]) -> float:
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)

"""What one command at a terminal costs: `hermes --version`, `--help`, and a Tab that completes an id."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from itertools import repeat

from bench.gateway import environment, gateway, hermes_command, upstream
from bench.registry import Say, Settings, Target

_TIMES = 15
TARGETS = {
    "cli_version_cpu_s": Target(at_most=0.25),
    "cli_help_cpu_s": Target(at_most=0.25),
    "completion_cpu_s": Target(at_most=0.15),
}


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run each command some times; a completion asks a running gateway for its ids."""
    say("the command line: --version, --help, completion")
    with upstream() as model, gateway(model) as running:
        plain = environment(model, running.home)
        tab = {
            "_HERMES_COMPLETE": "complete_fish",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_ARGS": "hermes users show ",
        }
        yield {
            "cli_version_cpu_s": _median_cpu_s(plain, "--version"),
            "cli_help_cpu_s": _median_cpu_s(plain, "--help"),
            "completion_cpu_s": _median_cpu_s({**plain, **tab}),
        }


def _median_cpu_s(environ: Mapping[str, str], *arguments: str) -> float:
    taken = sorted(_cpu_s(environ, one) for one in repeat(arguments, _TIMES))
    return taken[_TIMES // 2]


def _cpu_s(environ: Mapping[str, str], arguments: tuple[str, ...]) -> float:
    """Return the user and system time of one command, from its start to its end."""
    command = hermes_command(*arguments)
    process = subprocess.Popen(command, env=dict(environ), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"hermes {' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "command line": f"the median of {_TIMES} starts; compiled files exist; a completion asks the "
        "gateway of the home for the people that it knows",
    }

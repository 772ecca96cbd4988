"""Which engine the tests run on: `pytest --store NAME`, kept in the environment for child processes.

It imports nothing of Hermes, so that it also works where no engine is installed.
"""

import os
from typing import Literal, get_args

EngineName = Literal["sqlite"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
# Without the prefix of settings: a gateway would warn of a setting that it does not know.
VARIABLE = "TEST_STORE"
# The mark of tests that are about one engine, and that engine.
ONLY: dict[str, EngineName] = {"sqlite_only": "sqlite"}


def chosen() -> EngineName:
    """Return the engine of this run."""
    return known(os.environ.get(VARIABLE, "sqlite"))  # noqa: TID251  the environment of the test run


def choose(name: str) -> None:
    """Use this engine here and in every process that is started from here."""
    os.environ[VARIABLE] = known(name)  # noqa: TID251  the environment of the test run


def known(name: str) -> EngineName:
    """Return the engine of this name; raises `ValueError` if there is none."""
    for engine in ENGINES:
        if engine == name:
            return engine
    raise ValueError(f"{VARIABLE}: expected one of {', '.join(ENGINES)}, found {name!r}")


def why_skipped(mark: str, engine: str) -> str | None:
    """Return why a test with this mark is not run on an engine, or None if it is."""
    only = ONLY.get(mark)
    return None if only in {None, engine} else f"about {only} itself; this run uses {engine}"

"""What holds for every test: logs are plain lines, since drawing tracebacks takes seconds.

Thousands of tests are many objects that stay to the end: nobody looks through them for garbage.
Generated examples are the same in every run, so that a run says something about the code and not about
chance; `--hypothesis-profile=default` draws new ones.
"""

import gc
from importlib.util import find_spec
from pathlib import Path

import pytest
import structlog

from tests.stores.choice import ENGINES, ONLY, choose, chosen, why_skipped
from tests.yielding import make_reads_yield

TESTS = Path(__file__).parent
LONG = ("torture", "system", "contract")

gc.disable()
make_reads_yield()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run name the engine of its stores."""
    parser.addoption(
        "--store", choices=ENGINES, default=chosen(), help="the engine that tests open stores on"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Hand the engine to everything that is started; a worker of xdist is given the option."""
    choose(config.getoption("store"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the long ones, so that at the end no worker waits for another.

    What is about another engine is skipped.
    """
    items.sort(key=_rank)
    for item in items:
        for mark in ONLY:
            reason = why_skipped(mark, config.getoption("store"))
            if reason is not None and item.get_closest_marker(mark) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def _rank(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    return LONG.index(folder) if folder in LONG else len(LONG)


def pytest_collection_finish() -> None:
    """Look for garbage from here on, but only in what the tests make."""
    gc.freeze()
    gc.enable()


structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)

# The environment of `make test-training` has no hypothesis.
if find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    # How long an example takes says something about the machine: it may be busy with other tests.
    settings.register_profile(
        "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("steady")

"""A start that fails anywhere releases all it took; a stop that fails anywhere stops all the rest.

The tests keep the gateway, so that what it holds is not released by the end of the object.
"""

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import structlog

from hermes.app.gateway import Gateway
from hermes.config import LoadedConfig
from hermes.ops.alert_book import read_alerts
from hermes.ops.instance import PlannedStop, Wanted, find_running
from hermes.ops.logs import LogPlan, set_up
from hermes.ports.clock import SystemClock
from tests.unit.app.faulty_home import children, held, make_home

TAKEN = ("listener", "client", "providers", "store", "provider keys", "search", "v1")
STARTED = (
    "server",
    "mcp",
    "secrets",
    "programs",
    "terminal",
    "lanes",
    "agent checks",
    "upkeep",
    "session watch",
    "pruning",
    "directory",
    "early reactions",
    "cron",
    "memory worker",
    "search fill",
    "alerts",
    "traces",
    "connections",
    "hooks",
    "retention",
    "task pushes",
)
DRAINED = ("hooks", "inbox", "lanes", "senders")
STOPPED = (
    "watch",
    "retention",
    "task pushes",
    "server",
    "connections",
    "secrets",
    "mcp",
    "hooks",
    "alerts",
    "traces",
    "lanes",
    "agent checks",
    "upkeep",
    "session watch",
    "pruning",
    "directory",
    "early reactions",
    "cron",
    "memory worker",
    "terminal",
    "recall",
    "senders",
    "ledger",
    "search fill",
    "programs",
    "v1",
    "search",
    "provider keys",
    "store",
    "providers",
    "client",
    "listener",
)
STARTS = [*(f"take {name}" for name in TAKEN), *(f"start {name}" for name in STARTED)]
ENDS = [
    "note the end",
    *(f"drain {name}" for name in DRAINED),
    *(f"stop {name}" for name in STOPPED),
]


@pytest.fixture(autouse=True, scope="module")
def nothing_older_is_collected() -> None:
    """Each test looks for garbage twice: what thousands of tests before left is not for them."""
    gc.collect()
    gc.freeze()


class Broken(Exception):
    """What a component raises."""


def break_at(*steps: str) -> Callable[[str], None]:
    def checkpoint(step: str) -> None:
        if step in steps:
            raise Broken(step)

    return checkpoint


async def start_and_stop(loaded: LoadedConfig) -> None:
    """Start a gateway, wait until its platform is connected, and stop it."""
    async with Gateway(loaded) as gateway:
        await connected(gateway)


def mark_as_wanted(home: Path) -> None:
    """Write what `hermes stop` writes before it sends the signal."""
    running = find_running(home)
    assert running is not None
    who = running.identity
    stop = PlannedStop(pid=who.pid, start_time=who.start_time, written_at=SystemClock().now())
    (home / "run" / "planned-stop.json").write_bytes(msgspec.json.encode(stop))


async def states(gateway: Gateway) -> list[str]:
    return [one.state for one in (await gateway.reports.status()).channels]


async def connected(gateway: Gateway) -> None:
    async with asyncio.timeout(20):
        while await states(gateway) != ["connected"]:  # noqa: ASYNC110  another task does it
            await asyncio.sleep(0.01)


@pytest.mark.req("W3")
async def test_the_order_of_the_start_and_of_the_stop(tmp_path: Path) -> None:
    steps: list[str] = []
    async with Gateway(make_home(tmp_path / "home"), checkpoint=steps.append) as gateway:
        await connected(gateway)

    assert steps == [*STARTS, *ENDS]


@pytest.mark.req("W3")
@pytest.mark.parametrize("step", STARTS)
async def test_a_start_that_fails_releases_everything(tmp_path: Path, step: str) -> None:
    loaded = make_home(tmp_path / "home")
    gateway = Gateway(loaded, checkpoint=break_at(step))
    before = await held()

    with pytest.raises(Broken, match=f"^{step}$"):
        async with gateway:
            raise AssertionError

    assert await held() == before
    assert find_running(loaded.home) is None
    await start_and_stop(loaded)


@pytest.mark.req("W3", "W7")
@pytest.mark.parametrize("step", ["take store", "start lanes"])
async def test_what_a_failed_start_has_to_tell_an_operator_is_kept(
    tmp_path: Path, step: str
) -> None:
    loaded = make_home(tmp_path / "home")
    logs = set_up(LogPlan(level="info", format="json"), (), clock=SystemClock())

    def complain(name: str) -> None:
        if name == step:
            structlog.get_logger().error("no_model", problem="none has a key")
            raise Broken(name)

    try:
        with pytest.raises(Broken):
            async with Gateway(loaded, checkpoint=complain, logs=logs):
                raise AssertionError
    finally:
        logs.close()
        structlog.reset_defaults()

    told = [one.text for one in read_alerts(loaded.home)]
    assert told.count("No model can answer: none has a key") == 1


@pytest.mark.req("W3")
@pytest.mark.parametrize("step", ENDS)
async def test_a_stop_that_fails_stops_everything_else(tmp_path: Path, step: str) -> None:
    loaded = make_home(tmp_path / "home")
    gateway = Gateway(loaded, checkpoint=break_at(step))
    before = await held()

    with pytest.raises(Broken, match=f"^{step}$"):
        async with gateway:
            await connected(gateway)

    assert await held() == before
    assert find_running(loaded.home) is None


@pytest.mark.req("W3")
async def test_the_first_token_is_shown_by_the_first_start_that_succeeds(tmp_path: Path) -> None:
    loaded = make_home(tmp_path / "home")
    with pytest.raises(Broken):
        async with Gateway(loaded, checkpoint=break_at("start hooks")):
            raise AssertionError

    async with Gateway(loaded) as gateway:
        first = await gateway.welcome()
    async with Gateway(loaded) as gateway:
        second = await gateway.welcome()

    assert (first.api_token is None, second.api_token) == (False, None)


@pytest.mark.req("W3", "W4")
@pytest.mark.parametrize("step", ["take listener", "start mcp"])
async def test_a_stop_that_is_wanted_during_the_start_counts_as_wanted(
    tmp_path: Path, step: str
) -> None:
    loaded = make_home(tmp_path / "home")
    found: list[Wanted | None] = []

    def checkpoint(name: str) -> None:
        if name == step:
            mark_as_wanted(loaded.home)
            found.append(gateway.take_marker())

    gateway = Gateway(loaded, checkpoint=checkpoint)
    assert gateway.take_marker() is None
    async with gateway:
        assert found == ["stop"]


@pytest.mark.req("W3")
async def test_of_several_errors_of_a_stop_the_first_is_raised(tmp_path: Path) -> None:
    loaded = make_home(tmp_path / "home")
    before = await held()

    with pytest.raises(Broken, match=r"^stop server$"):
        async with Gateway(loaded, checkpoint=break_at("stop server", "stop store")):
            pass

    assert await held() == before
    await start_and_stop(loaded)


@pytest.mark.req("W3")
@pytest.mark.parametrize("step", ["start mcp", "start hooks"])
async def test_a_start_that_fails_ends_the_processes_of_mcp_servers(
    tmp_path: Path, step: str
) -> None:
    loaded = make_home(tmp_path / "home", child=True)
    before = await held()
    seen: list[str] = []

    def checkpoint(name: str) -> None:
        if name == step:
            seen.extend(children())
            raise Broken(step)

    with pytest.raises(Broken):
        async with Gateway(loaded, checkpoint=checkpoint):
            raise AssertionError

    assert seen, "the server ran"
    assert await held() == before


@pytest.mark.req("W3")
async def test_a_model_that_breaks_the_start_leaves_nothing_open(tmp_path: Path) -> None:
    loaded = make_home(tmp_path / "home", fault="available")
    gateway = Gateway(loaded)
    before = await held()

    with pytest.raises(RuntimeError, match="the model is broken"):
        async with gateway:
            raise AssertionError

    assert await held() == before


@pytest.mark.req("W3")
async def test_a_model_that_does_not_close_keeps_nothing_else_open(tmp_path: Path) -> None:
    loaded = make_home(tmp_path / "home", fault="close")
    gateway = Gateway(loaded)
    before = await held()

    with pytest.raises(RuntimeError, match="the model does not close"):
        async with gateway:
            pass

    assert await held() == before
    assert find_running(loaded.home) is None

from typing import Any, cast

import msgspec
import pytest

from hermes.control.status import (
    ChannelStatus,
    LiveStatus,
    ProviderStatus,
    StatusReport,
    StoreStatus,
    live_status,
    offline_status,
)
from hermes.errors import StoreError
from hermes.ports.operations import LastTraffic
from hermes.ports.spend import KillSwitch
from hermes.ports.store import Store

LIVE = LiveStatus(
    pid=4711,
    version="0.1.0",
    address="http://127.0.0.1:8080",
    started_at=1000.0,
    running_turns=2,
    providers=(ProviderStatus(name="local", model="smollm2", available=True, demonstration=True),),
    channels=(ChannelStatus(name="rest", state="connected"),),
)
DETAILS = {"messages": {"new": 3}, "bytes": 4096}


class _Waiting:
    def __init__(self, count: int) -> None:
        self._count = count

    def waiting(self) -> int:
        return self._count


class _WaitingReplies:
    async def waiting(self) -> int:
        return 1


class _Spend:
    def __init__(self, switch: KillSwitch, *, broken: bool) -> None:
        self._switch = switch
        self._broken = broken

    async def kill_switch(self) -> KillSwitch:
        if self._broken:
            raise StoreError("the database file is damaged")
        return self._switch


class _Paused:
    def __init__(self, *, broken: bool) -> None:
        self._broken = broken

    async def last_traffic(self, platform: str) -> LastTraffic:
        if self._broken:
            raise StoreError("the database file is damaged")
        return LastTraffic(came=900.0, went=950.0)


OFF = KillSwitch(is_on=False)


class CountingStore:
    """The part of the store that `status` reads."""

    def __init__(
        self, problem: str | None = None, *, broken: bool = False, switch: KillSwitch = OFF
    ) -> None:
        self.spend = _Spend(switch, broken=broken)
        self.paused = _Paused(broken=broken)
        self.inbox = _Waiting(3)
        self.outbox = _WaitingReplies()
        self._problem = problem
        self._broken = broken

    def writable(self) -> str | None:
        return self._problem

    async def status(self) -> dict[str, Any]:
        if self._broken:
            raise StoreError("the database file is damaged")
        return DETAILS


def a_store(problem: str | None = None, *, broken: bool = False, switch: KillSwitch = OFF) -> Store:
    return cast("Store", CountingStore(problem, broken=broken, switch=switch))


@pytest.mark.req("W7")
async def test_a_running_gateway_tells_everything_at_once():
    report = await live_status(a_store(), LIVE, home="/h", now=1060.04)

    assert report == StatusReport(
        running=True,
        state="connected",
        home="/h",
        version="0.1.0",
        pid=4711,
        address="http://127.0.0.1:8080",
        uptime_s=60.0,
        draining=False,
        waiting_messages=3,
        waiting_deliveries=1,
        running_turns=2,
        store=StoreStatus(writable=True, details=DETAILS),
        providers=LIVE.providers,
        channels=(ChannelStatus(name="rest", state="connected", last_in=900.0, last_out=950.0),),
    )


@pytest.mark.req("W7", "W3")
async def test_a_draining_gateway_says_so():
    live = msgspec.structs.replace(LIVE, state="draining")

    assert (await live_status(a_store(), live, home="/h", now=1000.0)).draining


@pytest.mark.req("W7", "J2")
async def test_a_full_disk_is_named_as_the_reason():
    problem = "the disk has 3 MiB left, less than the reserve of 64 MiB"

    report = await live_status(a_store(problem), LIVE, home="/h", now=1000.0)

    assert report.store == StoreStatus(writable=False, problem=problem, details=DETAILS)


@pytest.mark.req("W7")
async def test_the_overview_asks_for_no_counts_of_a_large_store() -> None:
    full = await live_status(a_store("the disk is full"), LIVE, home="/h", now=1000.0)
    brief = await live_status(
        a_store("the disk is full"), LIVE, home="/h", now=1000.0, counts=False
    )

    assert full.store == StoreStatus(writable=False, problem="the disk is full", details=DETAILS)
    assert brief.store == StoreStatus(writable=False, problem="the disk is full")


async def test_a_broken_store_is_a_line_of_the_report_not_an_error():
    report = await live_status(a_store(broken=True), LIVE, home="/h", now=1000.0)

    assert report.store == StoreStatus(writable=False, problem="the database file is damaged")


@pytest.mark.req("W7")
async def test_without_a_gateway_the_files_speak():
    report = await offline_status(a_store(), home="/h", version="0.1.0")

    assert (report.running, report.state, report.waiting_messages) == (False, "stopped", 3)
    assert report.store == StoreStatus(writable=True, details=DETAILS)


@pytest.mark.req("W7")
async def test_a_home_without_files_is_told_as_empty():
    report = await offline_status(None, home="/h", version="0.1.0")

    assert report.store is None
    assert report.waiting_messages == 0


@pytest.mark.req("A22", "W7")
async def test_the_kill_switch_is_shown_only_while_it_is_on():
    switch = KillSwitch(is_on=True, at=5.0, by="olga", reason="the bill")

    live = await live_status(a_store(switch=switch), LIVE, home="/h", now=1000.0)
    offline = await offline_status(a_store(switch=switch), home="/h", version="0.1.0")

    assert (live.kill_switch, offline.kill_switch) == (switch, switch)
    assert (await live_status(a_store(), LIVE, home="/h", now=1000.0)).kill_switch is None


@pytest.mark.req("A22")
async def test_a_kill_switch_that_cannot_be_read_is_told_as_on():
    report = await live_status(a_store(broken=True), LIVE, home="/h", now=1000.0)

    assert report.kill_switch == KillSwitch(
        is_on=True, reason="it cannot be read: the database file is damaged"
    )

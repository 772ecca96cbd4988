"""`hermes status`: the state of the gateway, from the live process or from its files alone.

What only the live process knows is passed in as a value; the store is asked through its port.
"""

from typing import Any, Literal

import msgspec

from hermes.errors import StoreError
from hermes.ports.spend import KillSwitch
from hermes.ports.store import Store

ConnectionState = Literal["starting", "connected", "disconnected", "fatal", "draining", "stopped"]


class ProviderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One model service and whether a call may be tried now."""

    name: str
    model: str
    available: bool
    demonstration: bool = False
    note: str | None = None


class ChannelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One platform and the state of its connection.

    `code` names the failure that `note` tells of, `retryable` says whether it is tried again. A
    `deaf` channel is connected, but a probe found that it does not hear or is not heard. `last_in`
    and `last_out` are when something really came from the platform and was really taken by it.
    `plugin` is the package that brings the platform, where it is no built-in one. While
    `rests_until` is there nothing is sent, after so many `failures` in a row.
    """

    name: str
    state: ConnectionState
    plugin: str | None = None
    note: str | None = None
    code: str | None = None
    retryable: bool | None = None
    deaf: bool = False
    last_in: float | None = None
    last_out: float | None = None
    rests_until: float | None = None
    failures: int = 0


class ProcessStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A background process of the terminal: its id, its session's id, and when it was started."""

    id: str
    session: str
    started_at: float


class MemoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether facts are recalled, learnt and dreamt of, and how many jobs were given up."""

    recall: str
    learning: str
    dreams: str = "off"
    recalled: int = 0
    skipped_trivial: int = 0
    parked_jobs: int = 0


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """The last status that a gateway's process wrote: its state since `at`, and why."""

    state: ConnectionState
    pid: int
    version: str
    at: float
    started_at: float
    channels: tuple[ChannelStatus, ...] = ()
    note: str | None = None
    exit_code: int | None = None


class ModelSwapStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The default model that an operator chose, and when; a `problem` says why it is not used."""

    model: str
    at: float
    problem: str | None = None


class LiveStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What only the running process knows; `note` is what the operator should know of its start."""

    pid: int
    version: str
    address: str
    started_at: float
    state: ConnectionState = "connected"
    running_turns: int = 0
    providers: tuple[ProviderStatus, ...] = ()
    channels: tuple[ChannelStatus, ...] = ()
    memory: MemoryStatus | None = None
    model_swap: ModelSwapStatus | None = None
    note: str | None = None
    hooks_off: tuple[str, ...] = ()
    processes: tuple[ProcessStatus, ...] = ()


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The database: counts and sizes, and why it takes no new messages, if it does not."""

    writable: bool
    problem: str | None = None
    # Any: counts and sizes under the store's own names; they are only ever printed.
    details: dict[str, Any] = {}


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the gateway; `state` is one word for it, `kill_switch` is there while it is on.

    `last` is what the last process said of itself, where none runs; `note` what is wrong with it.
    """

    running: bool
    state: ConnectionState
    home: str
    version: str
    pid: int | None = None
    address: str | None = None
    uptime_s: float | None = None
    draining: bool = False
    waiting_messages: int = 0
    waiting_deliveries: int = 0
    running_turns: int = 0
    kill_switch: KillSwitch | None = None
    store: StoreStatus | None = None
    memory: MemoryStatus | None = None
    model_swap: ModelSwapStatus | None = None
    providers: tuple[ProviderStatus, ...] = ()
    channels: tuple[ChannelStatus, ...] = ()
    note: str | None = None
    hooks_off: tuple[str, ...] = ()
    processes: tuple[ProcessStatus, ...] = ()
    last: Runtime | None = None


async def live_status(
    store: Store, live: LiveStatus, *, home: str, now: float, counts: bool = True
) -> StatusReport:
    """Return the status of a running gateway; without `counts` nothing takes longer in a large store."""
    return StatusReport(
        running=True,
        state=live.state,
        home=home,
        version=live.version,
        pid=live.pid,
        address=live.address,
        uptime_s=round(max(0.0, now - live.started_at), 1),
        draining=live.state == "draining",
        waiting_messages=store.inbox.waiting(),
        waiting_deliveries=await store.outbox.waiting(),
        running_turns=live.running_turns,
        kill_switch=await _kill_switch(store),
        store=await _store_status(store) if counts else _store_problem(store),
        memory=live.memory,
        model_swap=live.model_swap,
        providers=live.providers,
        channels=tuple([await _with_past(store, one) for one in live.channels]),
        note=live.note,
        hooks_off=live.hooks_off,
        processes=live.processes,
    )


async def _with_past(store: Store, one: ChannelStatus) -> ChannelStatus:
    try:
        last_in, last_out = await traffic_of(store, one.name, seen=(one.last_in, one.last_out))
    except StoreError:
        # What is wrong with the store is told beside it.
        return one
    return msgspec.structs.replace(one, last_in=last_in, last_out=last_out)


async def traffic_of(
    store: Store, platform: str, *, seen: tuple[float | None, float | None]
) -> tuple[float | None, float | None]:
    """Return when a platform last brought and took something: as seen, otherwise before the start."""
    last_in, last_out = seen
    if last_in is not None and last_out is not None:
        return seen
    past = await store.paused.last_traffic(platform)
    return past.came if last_in is None else last_in, past.went if last_out is None else last_out


async def offline_status(
    store: Store | None, *, home: str, version: str, last: Runtime | None = None
) -> StatusReport:
    """Return what the files say while no gateway runs; without a store there are none yet."""
    return StatusReport(
        running=False,
        state="fatal" if last is not None and last.state == "fatal" else "stopped",
        note=_last_words(last),
        last=last,
        home=home,
        version=version,
        waiting_messages=store.inbox.waiting() if store else 0,
        waiting_deliveries=await store.outbox.waiting() if store else 0,
        kill_switch=await _kill_switch(store) if store else None,
        store=await _store_status(store) if store else None,
    )


def _last_words(last: Runtime | None) -> str | None:
    if last is None:
        return None
    if last.state not in ("stopped", "fatal"):
        return (
            f"the last process (pid {last.pid}) died unexpectedly while it was {last.state}; its "
            "unfinished work continues with the next start"
        )
    return None if last.exit_code == 0 else last.note


async def _kill_switch(store: Store) -> KillSwitch | None:
    try:
        switch = await store.spend.kill_switch()
    except StoreError as error:
        # Whoever cannot read it must take it for on: so do the budgets.
        return KillSwitch(is_on=True, reason=f"it cannot be read: {error}")
    return switch if switch.is_on else None


def _store_problem(store: Store) -> StoreStatus:
    problem = store.writable()
    return StoreStatus(writable=problem is None, problem=problem)


async def _store_status(store: Store) -> StoreStatus:
    problem = store.writable()
    try:
        details = await store.status()
    except StoreError as error:
        return StoreStatus(writable=False, problem=problem or str(error))
    return StoreStatus(writable=problem is None, problem=problem, details=details)

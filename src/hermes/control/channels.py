"""Platforms that rest: nothing is accepted on them and nothing sent, until the operator says so.

It is kept over restarts. Nothing is lost: platforms are told to try again later, replies wait, and
the time of the rest makes none of them older.
"""

import asyncio

import msgspec
import structlog

from hermes.control.runtime import RuntimeHandles
from hermes.control.status import ChannelStatus, traffic_of
from hermes.control.why_delivery import hold_of
from hermes.errors import NotFound
from hermes.outbox.traffic import Flow
from hermes.ports.channel import Capabilities
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.similar_words import did_you_mean

_log = structlog.get_logger(__name__)


class ChannelOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about a platform."""

    platform: str
    by: str = ""


class ChannelLine(msgspec.Struct, frozen=True, kw_only=True):
    """A platform, the state of its connection, how many replies wait, and since when it is paused.

    `can` is what its manifest says it can do; `last_in` and `last_out` are when something really
    came from it and was really taken by it, before a restart too; whoever asks over HTTP takes the
    answer. `home` is its home channel, as the platform describes it. While `rests_until` is there nothing is sent, after so many `failures` in a row.
    """

    platform: str
    state: str
    waiting: int
    paused_at: float | None = None
    note: str | None = None
    deaf: bool = False
    rests_until: float | None = None
    failures: int = 0
    can: tuple[str, ...] = ()
    last_in: float | None = None
    last_out: float | None = None
    home: str | None = None


class ChannelsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every platform."""

    channels: tuple[ChannelLine, ...] = ()


class ChannelReport(msgspec.Struct, frozen=True, kw_only=True):
    """A platform as it is now; `changed` is false when it stood so before.

    `reconnected` says that its connection was made again, or tried to be, because there was none.
    """

    channel: ChannelLine
    changed: bool
    reconnected: bool = False


class ChannelOperations:
    """Where operators' orders about platforms arrive."""

    def __init__(self, store: Store, handles: RuntimeHandles, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._handles = handles
        # What is paused is read and put into effect in one go, or a later order may come before.
        self._applying = asyncio.Lock()

    async def list(self) -> ChannelsReport:
        """Return every platform."""
        return ChannelsReport(channels=await self._lines())

    async def pause(self, order: ChannelOrder) -> ChannelReport:
        """Accept nothing on a platform and send nothing there."""
        await self._check(order.platform)
        changed = await self._store.paused.pause(order.platform, at=self._clock.now())
        return await self._done("channel_paused", order, changed=changed)

    async def resume(self, order: ChannelOrder) -> ChannelReport:
        """Accept and send on a platform again; one that has stopped is reconnected."""
        await self._check(order.platform)
        changed = await self._store.paused.resume(order.platform, at=self._clock.now())
        reconnect = self._handles.reconnect
        states = {one.name: one.state for one in self._handles.channels()}
        is_down = reconnect is not None and states.get(order.platform) in ("fatal", "disconnected")
        if is_down and reconnect is not None:
            await reconnect(order.platform)
        report = await self._done("channel_resumed", order, changed=changed or is_down)
        return msgspec.structs.replace(report, reconnected=is_down)

    async def hold_of(self, platform: str) -> str | None:
        """Say what keeps the replies of a platform from being sent now, if anything does."""
        status = next((one for one in self._handles.channels() if one.name == platform), None)
        if status is None:
            return None
        paused = (one.at for one in await self._store.paused.all() if one.platform == platform)
        return hold_of(status, paused_at=next(paused, None))

    async def _done(self, event: str, order: ChannelOrder, *, changed: bool) -> ChannelReport:
        async with self._applying:
            paused = await self._store.paused.all()
            self._handles.pause(frozenset(one.platform for one in paused))
        if changed:
            _log.warning(event, platform=order.platform, by=order.by)
        (line,) = (one for one in await self._lines() if one.platform == order.platform)
        return ChannelReport(channel=line, changed=changed)

    async def _check(self, platform: str) -> None:
        known = [line.platform for line in await self._lines()]
        if platform not in known:
            raise NotFound(
                f"There is no platform {platform[:40]!r} here{did_you_mean(platform, known)}: expected "
                f"one of {', '.join(known)}."
            )

    async def _lines(self) -> tuple[ChannelLine, ...]:
        handles = self._handles
        states = {one.name: one for one in handles.channels()}
        since = {one.platform: one.at for one in await self._store.paused.all()}
        usual = "connected" if handles.is_running else "not running"
        lines = [
            _line(
                name,
                states.get(name),
                usual=usual,
                waiting=await self._store.outbox.waiting(name),
                paused_at=since.get(name),
                can=able(handles.abilities.get(name)),
                flow=handles.flow(name),
            )
            for name in sorted({*handles.platforms, *states, *since})
        ]
        homes = await asyncio.gather(*(handles.home(line.platform) for line in lines))
        named = [
            msgspec.structs.replace(line, home=home)
            for line, home in zip(lines, homes, strict=True)
        ]
        return tuple([await self._with_past(line) for line in named])

    async def _with_past(self, line: ChannelLine) -> ChannelLine:
        seen = (line.last_in, line.last_out)
        last_in, last_out = await traffic_of(self._store, line.platform, seen=seen)
        return msgspec.structs.replace(line, last_in=last_in, last_out=last_out)


def _line(
    name: str,
    status: ChannelStatus | None,
    *,
    usual: str,
    waiting: int,
    paused_at: float | None,
    can: tuple[str, ...],
    flow: Flow,
) -> ChannelLine:
    line = ChannelLine(platform=name, state=usual, waiting=waiting, paused_at=paused_at, can=can)
    if status is None:
        return msgspec.structs.replace(line, last_in=flow.last_in, last_out=flow.last_out)
    return msgspec.structs.replace(
        line,
        state="deaf" if status.deaf else status.state,
        note=status.note,
        deaf=status.deaf,
        last_in=status.last_in,
        last_out=status.last_out,
        rests_until=status.rests_until,
        failures=status.failures,
    )


def able(capabilities: Capabilities | None) -> tuple[str, ...]:
    """Return what a platform can do beside sending text, in the manifest's words."""
    if capabilities is None:
        return ()
    flags = ("edit", "draft", "delete", "typing", "threads", "history")
    said = [name for name in flags if getattr(capabilities, name)]
    return (*said, *(["keys"] if capabilities.key_window_s > 0 else []), *capabilities.media)

"""Connections: side by side, made again with growing waits, final errors, and deaf channels."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from structlog.testing import capture_logs

from hermes.app.connect import Connections
from hermes.errors import ConfigurationError, HermesError, NetError, Overloaded, TryLater
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import Accept, Acceptance, Capabilities
from hermes.testing.manual_time import ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel

DEAF = NetError("no update for a minute")
EVENT = MessageEvent(
    account="a",
    route="r",
    external_id="e1",
    source=Source(platform="line", chat_id="c1", user_id="u1"),
    parts=(TextPart("hi"),),
    at=1.0,
)


class Hook(MemoryChannel):
    """A platform without a standing connection, which can be asked whether it hears."""

    def __init__(self, name: str = "line", *, probe_s: float = 30.0) -> None:
        super().__init__(Capabilities(delivery="push", probe_s=probe_s), name=name)
        self.connects = 0
        self.refusals: list[Exception] = []
        self.hangs = False
        self.probes = 0
        self.deaf: HermesError | None = None

    async def connect(self, accept: Accept) -> None:
        self.connects += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.refusals:
            raise self.refusals.pop(0)
        await super().connect(accept)

    async def probe(self) -> None:
        self.probes += 1
        if self.deaf is not None:
            raise self.deaf

    async def hear(self) -> Acceptance:
        assert self._accept is not None
        return await self._accept(EVENT)


class Line(Hook):
    """A platform that holds a connection."""

    def __init__(self, name: str = "line", *, probe_s: float = 0.0) -> None:
        super().__init__(name, probe_s=probe_s)
        self.ends: asyncio.Future[None] | None = None

    async def connect(self, accept: Accept) -> None:
        await super().connect(accept)
        self.ends = asyncio.get_running_loop().create_future()

    async def lost(self) -> None:
        assert self.ends is not None
        await asyncio.shield(self.ends)

    def cut(self, error: Exception | None = None) -> None:
        assert self.ends is not None
        if error is None:
            self.ends.set_result(None)
        else:
            self.ends.set_exception(error)


class Desk:
    """Connections with manual time, and what they told."""

    def __init__(self) -> None:
        self.time = ManualTime()
        self.traffic = Traffic(self.time)
        self.told: list[str] = []
        self.all: Connections | None = None

    async def start(self, *channels: Hook, timeouts: Mapping[str, float] | None = None) -> None:
        self.all = Connections(
            {one.name: one for one in channels},
            accept=self._accept,
            on_connected=lambda channel: self.told.append(f"+{channel.name}"),
            on_lost=lambda name: self.told.append(f"-{name}"),
            on_change=lambda _states: None,
            traffic=self.traffic,
            clock=self.time,
            sleep=self.time.sleep,
            chance=lambda: 0.5,
            connect_timeouts_s=timeouts,
        )
        self.all.start()
        await settle()

    async def _accept(self, event: MessageEvent) -> Acceptance:
        return Acceptance(message_id=event.external_id)

    def stand(self, name: str = "line") -> tuple[str, str | None, bool | None]:
        assert self.all is not None
        (one,) = (one for one in self.all.states() if one.name == name)
        return one.state, one.code, one.retryable


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    yield made
    if made.all is not None:
        await made.all.stop()


@pytest.mark.req("W2")
async def test_one_that_hangs_holds_up_no_other_and_is_given_thirty_seconds(desk: Desk) -> None:
    stuck, good = Line("stuck"), Line("good")
    stuck.hangs = True

    await desk.start(stuck, good)
    assert (desk.stand("stuck")[0], desk.stand("good")[0]) == ("starting", "connected")
    await desk.time.pass_by(30.0)

    assert desk.stand("stuck") == ("disconnected", "timeout", True)
    await desk.time.pass_by(1.0)
    assert stuck.connects == 2


@pytest.mark.req("W2")
async def test_a_platform_has_the_time_that_its_settings_give_it(desk: Desk) -> None:
    short, usual = Line("short"), Line("usual")
    short.hangs = usual.hangs = True

    await desk.start(short, usual, timeouts={"short": 5.0})
    await desk.time.pass_by(5.0)

    assert desk.stand("short") == ("disconnected", "timeout", True)
    assert desk.stand("usual")[0] == "starting"


@pytest.mark.req("W2")
async def test_failed_connects_are_repeated_with_waits_that_double_up_to_two_minutes(
    desk: Desk,
) -> None:
    line = Line()
    line.refusals = [NetError("refused")] * 9
    await desk.start(line)
    seen = []
    for _ in range(9):
        before, began = line.connects, desk.time.monotonic()
        while line.connects == before:
            await desk.time.pass_by(0.5)
        seen.append(desk.time.monotonic() - began)

    assert seen == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0, 120.0]
    assert desk.stand() == ("connected", None, None)


@pytest.mark.req("W2", "J18")
async def test_a_lost_connection_holds_back_sending_until_it_is_made_again(desk: Desk) -> None:
    line = Line()
    await desk.start(line)
    assert desk.told == ["+line"]

    line.refusals = [NetError("still down")]
    line.cut(NetError("reset by peer"))
    await settle()
    assert (desk.told, desk.stand()) == (["+line", "-line"], ("disconnected", "net", True))

    await desk.time.pass_by(1.0)
    assert desk.stand()[0] == "disconnected"
    await desk.time.pass_by(2.0)

    assert (desk.told, desk.stand()) == (["+line", "-line", "+line"], ("connected", None, None))


@pytest.mark.req("W2")
async def test_an_end_without_a_word_is_a_loss_too(desk: Desk) -> None:
    line = Line()
    await desk.start(line)

    line.cut()
    await settle()

    assert desk.stand() == ("disconnected", "connection_ended", True)


@pytest.mark.req("W2")
async def test_a_connection_that_stood_for_long_is_made_again_at_once(desk: Desk) -> None:
    line = Line()
    line.refusals = [NetError("x")] * 4
    await desk.start(line)
    await desk.time.pass_by(15.0)
    assert (desk.stand()[0], line.connects) == ("connected", 5)

    line.cut(NetError("quick"))
    await desk.time.pass_by(15.0)
    assert line.connects == 5
    await desk.time.pass_by(1.0)
    assert line.connects == 6

    await desk.time.pass_by(60.0)
    line.cut(NetError("after a minute"))
    await desk.time.pass_by(1.0)
    assert line.connects == 7


@pytest.mark.req("W2")
@pytest.mark.parametrize("when", ["connect", "lost", "probe"])
async def test_a_configuration_error_is_final_and_an_alert(desk: Desk, when: str) -> None:
    line = Line(probe_s=30.0)
    revoked = ConfigurationError("platforms.line.token: it was revoked; set a new one")
    if when == "connect":
        line.refusals = [revoked]
    with capture_logs() as logs:
        await desk.start(line)
        if when == "lost":
            line.cut(revoked)
        if when == "probe":
            line.deaf = revoked
        await desk.time.pass_by(600.0)

    assert desk.stand() == ("fatal", "configuration", False)
    assert line.connects == 1
    (failed,) = [one for one in logs if one["event"] == "channel_failed"]
    assert (failed["state"], failed["problem"]) == ("fatal", str(revoked))


@pytest.mark.req("W2")
async def test_a_fault_in_the_channels_code_is_tried_again(desk: Desk) -> None:
    line = Line()
    line.refusals = [KeyError("oops")]

    await desk.start(line)
    assert desk.stand() == ("disconnected", "fault", True)
    await desk.time.pass_by(1.0)

    assert desk.stand()[0] == "connected"


@pytest.mark.req("W2")
async def test_a_deaf_channel_is_reported_within_two_minutes(desk: Desk) -> None:
    hook = Hook(probe_s=300.0)
    await desk.start(hook)
    await desk.time.pass_by(39.0)
    await hook.hear()
    hook.deaf = DEAF
    with capture_logs() as logs:
        await desk.time.pass_by(119.0)

    assert desk.all is not None
    (state,) = desk.all.states()
    assert (state.state, state.deaf, state.note) == (
        "connected",
        True,
        "connected, but not receiving: no update for a minute",
    )
    assert [one["event"] for one in logs] == ["channel_deaf"]
    assert [
        line for reader in desk.all.readers() for line in await reader.lines() if line[0] != "#"
    ] == [
        'channel_connected{platform="line"} 1',
        'channel_deaf{platform="line"} 1',
    ]

    hook.deaf = None
    await desk.time.pass_by(60.0)
    (state,) = desk.all.states()
    assert (state.deaf, state.note, hook.connects) == (False, None, 1)


@pytest.mark.req("W2")
async def test_one_failed_probe_is_no_report(desk: Desk) -> None:
    hook = Hook(probe_s=30.0)
    await desk.start(hook)
    hook.deaf = Overloaded("busy")
    await desk.time.pass_by(30.0)
    hook.deaf = None
    with capture_logs() as logs:
        await desk.time.pass_by(300.0)

    assert logs == []


@pytest.mark.req("W2")
async def test_a_deaf_connection_is_made_again(desk: Desk) -> None:
    line = Line(probe_s=30.0)
    await desk.start(line)
    line.deaf = DEAF

    await desk.time.pass_by(30.0 + 10.0 + 30.0)
    assert desk.stand() == ("disconnected", "net", True)
    line.deaf = None
    await desk.time.pass_by(1.0)

    assert (desk.stand()[0], line.connects) == ("connected", 2)


@pytest.mark.req("W2")
async def test_traffic_proves_that_a_channel_hears_and_is_shown(desk: Desk) -> None:
    hook = Hook(probe_s=30.0)
    await desk.start(hook)
    began = desk.time.now()
    for _ in range(4):
        await desk.time.pass_by(20.0)
        await hook.hear()

    assert hook.probes == 0
    assert desk.all is not None
    (state,) = desk.all.states()
    assert (state.last_in, state.last_out) == (began + 80.0, None)
    await desk.time.pass_by(60.0)
    assert hook.probes == 1


@pytest.mark.req("W2")
async def test_stopping_disconnects_what_stands(desk: Desk) -> None:
    line = Line()
    await desk.start(line)
    assert desk.all is not None

    await desk.all.stop()

    with pytest.raises(AssertionError):
        await line.hear()


@pytest.mark.req("W2", "W3")
async def test_stopping_ends_a_replacement_that_waits_for_its_first_try(desk: Desk) -> None:
    stuck = Line()
    stuck.hangs = True
    await desk.start(Line())
    assert desk.all is not None
    replacing = asyncio.create_task(desk.all.replace(stuck, right=None))
    await settle()

    await desk.all.stop()

    assert (await asyncio.wait_for(replacing, 1)).state == "starting"


@pytest.mark.req("W2", "W3")
async def test_nothing_is_connected_after_the_stop(desk: Desk) -> None:
    late = Line()
    await desk.start(Line())
    assert desk.all is not None
    await desk.all.stop()

    with pytest.raises(TryLater, match="stopping"):
        await asyncio.wait_for(desk.all.replace(late, right=None), 1)

    assert late.connects == 0

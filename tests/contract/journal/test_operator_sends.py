"""W27: an operator's message is sent once, with a gateway or without one, and told to its chat."""

from pathlib import Path

import msgspec
import pytest

from hermes.app.make_courier import make_send_operations
from hermes.control.sends import SendOperations, SendOrder
from hermes.errors import BadRequest, NotFound
from hermes.message.ids import make_id
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig, settings_of
from tests.stores.opening import deliveries_of

PLATFORM = {"PLATFORMS__PUSH__ENABLED": "true", "PLATFORMS__PUSH__HOME_CHANNEL": "lobby:7"}
WEEK = 7 * 86_400.0


def desk_of(store: Store, home: Path, clock: ManualClock, rig: Rig | None = None) -> SendOperations:
    """Return a desk: that of a gateway, or of a command while none runs."""
    settings = settings_of(home, PLATFORM)
    if rig is None:
        return make_send_operations(store, settings, home=home, clock=clock, make_id=make_id)
    return make_send_operations(
        store,
        settings,
        home=home,
        clock=clock,
        make_id=make_id,
        wake_lane=rig.core.lanes.wake,
        wake_outbox=rig.core.signals.wake_outbox,
    )


async def said(rig: Rig, lane: str) -> list[str]:
    view = await rig.store.turns.view(lane)
    messages = (await rig.store.transcripts.history(lane, epoch=0, head=view.head)).messages
    return [message.text for message in messages]


@pytest.mark.req("W27")
async def test_w27_without_a_gateway_it_waits_for_the_next_start(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=PLATFORM, clock=clock) as rig:
        await rig.answer("hello", chat="ann", platform="push")
    async with open_rig(
        tmp_path, settings=PLATFORM, clock=clock, start=False, sending=False
    ) as stopped:
        desk = desk_of(stopped.store, tmp_path, clock)

        report = await desk.send(SendOrder(to="push:ann", text="dinner is ready", by="ops"))

        assert (report.state, report.sessions) == ("waiting", (stopped.lane("ann", "push"),))
        assert stopped.push.posts == {}
    async with open_rig(tmp_path, settings=PLATFORM, clock=clock) as rig:
        await rig.until(lambda: rig.push.texts("ann") == ["dinner is ready"])
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        assert await said(rig, rig.lane("ann", "push")) == ["hello", "#1 hello", "dinner is ready"]


@pytest.mark.req("W27")
async def test_w27_a_gateway_sends_it_at_once_to_chats_that_nobody_wrote_in(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        desk = desk_of(rig.store, tmp_path, rig.clock, rig)

        home = await desk.send(SendOrder(to="push", text="to all", by="ops"))
        chat = await desk.send(SendOrder(to="push:c9", text="to one", by="ops"))

        await rig.until(
            lambda: rig.push.texts("lobby") + rig.push.texts("c9") == ["to all", "to one"]
        )
        assert (home.to, chat.to, chat.sessions) == ("push", "push:c9", ())
        # It is sealed for whoever sent it, who is one person however much they send.
        person = await rig.store.people.find("operator", "ops")
        assert person is not None
        await rig.store.people.erase(person.id, at=rig.clock.now())
        (kept,) = await deliveries_of(rig.store, chat.id)
        assert not kept.parts


@pytest.mark.req("W27")
async def test_w27_a_conversation_that_is_pulled_shows_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        await rig.answer("hello")
        desk = desk_of(rig.store, tmp_path, rig.clock, rig)

        report = await desk.send(SendOrder(to="rest:ann", text="news", by="ops"))

        assert report.state == "shown"
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        assert await said(rig, rig.lane()) == ["hello", "#1 hello", "news"]


@pytest.mark.req("W27")
async def test_w27_what_cannot_be_sent_is_refused_with_what_can(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        desk = desk_of(rig.store, tmp_path, rig.clock, rig)
        order = SendOrder(to="push:c1", text="x")

        for to, told in (
            ("origin", "no chat that this comes from"),
            ("rest:nobody", "nobody has written"),
            ("sms:1", r"no platform 'sms'.*hermes channels directory"),
        ):
            with pytest.raises(NotFound, match=told):
                await desk.send(msgspec.structs.replace(order, to=to))
        for text in ("", " \n", "x" * 200_001):
            with pytest.raises(BadRequest):
                await desk.send(msgspec.structs.replace(order, text=text))
        assert await deliveries_of(rig.store, "") == ()


@pytest.mark.req("W27", "J1")
async def test_w27_what_was_sent_is_forgotten_in_time(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        desk = desk_of(rig.store, tmp_path, rig.clock, rig)
        old = await desk.send(SendOrder(to="push:c1", text="old", by="ops"))
        await rig.until(lambda: rig.push.texts("c1") == ["old"])

        async def is_sent() -> bool:
            return (await deliveries_of(rig.store, old.id))[0].state.value == "sent"

        await rig.until(is_sent)
        rig.clock.advance(2 * WEEK)
        new = await desk.send(SendOrder(to="push:c1", text="new", by="ops"))

        assert await rig.store.purge(rig.clock.now() - WEEK, limit=100) == 1

        assert await deliveries_of(rig.store, old.id) == ()
        assert len(await deliveries_of(rig.store, new.id)) == 1


@pytest.mark.req("W27")
async def test_w27_a_thread_that_somebody_wrote_in_is_known(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        message_id = await rig.say(
            "hello", chat="room", user="ann", chat_type="group", thread="7", platform="push"
        )
        await rig.outcome(message_id)
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        desk = desk_of(rig.store, tmp_path, rig.clock, rig)

        report = await desk.send(SendOrder(to="push:room:7", text="dinner", by="ops"))

        assert report.sessions == (record.lane,)


@pytest.mark.req("W27")
async def test_w27_a_bot_is_named_after_its_platform_and_has_a_home_of_its_own(
    tmp_path: Path,
) -> None:
    two = {
        **PLATFORM,
        "PLATFORMS__PUSH__ACCOUNTS__SALES__HOME_CHANNEL": "shop",
        "PLATFORMS__PUSH__ACCOUNTS__OLD__ENABLED": "false",
    }
    async with open_rig(tmp_path, settings=two, start=False, sending=False) as rig:
        desk = make_send_operations(
            rig.store, settings_of(tmp_path, two), home=tmp_path, clock=rig.clock, make_id=make_id
        )

        sent = [
            await desk.send(SendOrder(to=name, text=name, by="ops"))
            for name in ("push", "push/sales", "push/sales:c9")
        ]
        with pytest.raises(NotFound, match="there is no platform 'push/old' here"):
            await desk.send(SendOrder(to="push/old:c9", text="never", by="ops"))

        assert [(one.to, one.state) for one in sent] == [
            ("push", "waiting"),
            ("push/sales", "waiting"),
            ("push/sales:c9", "waiting"),
        ]
        assert [await rig.store.outbox.waiting(name) for name in ("push", "push/sales")] == [1, 2]

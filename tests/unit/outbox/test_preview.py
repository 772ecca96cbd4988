"""Previews: one row and one message from the first words to the final reply."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hermes.errors import DeliveryRejected, FailureClass, NotDelivered
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.previewer import OutboxPreviewer
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.upward import Preview
from hermes.testing.manual_time import settle

HOUR = 3600.0
TARGET = Target(platform="memory", account="a", chat_id="c1")
FLOOD = NotDelivered("slow down", FailureClass.RATE_LIMITED)


class Stage:
    """A running turn that shows its reply."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.lease = bench.store.lease("lane")
        self.opened: list[Preview] = []

    async def open(self) -> Preview:
        previewer = OutboxPreviewer(
            {"memory": self.bench.channel},
            self.bench.store,
            delivery_id=lambda message_id: f"d_{message_id}",
            timing=PreviewTiming(),
            clock=self.bench.time,
            sleep=self.bench.time.sleep,
            rates=self.bench.rates,
            screens=self.bench.screens,
        )
        preview = await previewer.open(self.lease, target=TARGET, message_id="m1", person_id="p1")
        self.opened.append(preview)
        return preview

    async def show(self, preview: Preview, text: str) -> None:
        await preview.update(text)
        await settle()

    def commit(self, text: str) -> None:
        new = NewDelivery(
            id="d_m1", target=TARGET, parts=(TextPart(text),), state=DeliveryState.PENDING
        )
        self.bench.store.commit(new, message_id="m1")

    @property
    def texts(self) -> list[str]:
        return self.bench.channel.texts("c1")

    def count(self, verb: str) -> int:
        return len([call for call in self.bench.channel.calls if call[0] == verb])


@pytest.fixture
async def stage(bench) -> AsyncIterator[Stage]:
    bench.platform(edit=True)
    made = Stage(bench)
    yield made
    for preview in made.opened:
        await preview.close()


@pytest.mark.req("J16", "W19")
async def test_the_row_stands_before_the_first_send_and_the_id_before_the_first_edit(stage) -> None:
    preview = await stage.open()
    row = stage.bench.row("d_m1")
    assert (row.state, row.platform_message_id, stage.texts) == ("preview", None, [])

    await stage.show(preview, "Hel")

    assert stage.texts == ["Hel ▉"]
    assert stage.bench.row("d_m1").platform_message_id == "x1"


@pytest.mark.req("W19")
async def test_edits_come_every_0_8_seconds_or_24_characters(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "a")
    await stage.show(preview, "a" * 24)
    assert stage.texts == ["a ▉"]

    await stage.bench.time.pass_by(0.8)
    assert stage.texts == ["a" * 24 + " ▉"]
    await stage.show(preview, "a" * 48)

    assert stage.texts == ["a" * 48 + " ▉"]


@pytest.mark.req("W19")
async def test_flood_control_doubles_the_interval(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "a")
    stage.bench.channel.fail("edit", FLOOD)
    await stage.show(preview, "a" * 100)
    assert stage.count("edit") == 1

    await stage.bench.time.pass_by(1.5)
    assert stage.count("edit") == 1
    await stage.bench.time.pass_by(0.2)

    assert (stage.count("edit"), stage.texts) == (2, ["a" * 100 + " ▉"])
    await stage.show(preview, "a" * 200)
    await stage.bench.time.pass_by(1.4)
    assert stage.count("edit") == 2


@pytest.mark.req("W19")
async def test_three_strikes_end_the_preview_and_the_reply_still_arrives(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "a")
    stage.bench.channel.fail("edit", FLOOD, FLOOD, FLOOD)
    await stage.show(preview, "a" * 100)
    await stage.bench.time.pass_by(60.0)
    await stage.show(preview, "a" * 200)
    assert stage.count("edit") == 3

    await preview.close()
    stage.commit("whole")
    await stage.bench.start()

    assert (stage.texts, stage.bench.states("d_m1")) == (["whole"], ["sent"])


@pytest.mark.req("J16")
async def test_the_final_reply_is_an_edit_of_the_preview(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "Hel")
    await preview.close()
    stage.commit("Hello.")

    await stage.bench.start()

    assert (stage.texts, stage.count("send")) == (["Hello."], 1)
    assert stage.bench.states("d_m1") == ["sent"]


@pytest.mark.req("J16")
async def test_a_long_final_reply_edits_the_first_chunk_and_sends_the_others(bench) -> None:
    bench.platform(edit=True, max_chars=40)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.show(preview, "aaaa")
    await preview.close()
    stage.commit("aaaa bbbb cccc dddd eeee ffff")

    await bench.start()

    assert stage.texts == ["aaaa bbbb cccc dddd", "eeee ffff"]


@pytest.mark.req("J16")
async def test_a_preview_that_a_person_deleted_is_replaced_by_a_new_message(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "Hel")
    await preview.close()
    stage.bench.channel.posts.clear()
    stage.commit("Hello.")

    await stage.bench.start()

    assert (stage.texts, stage.bench.states("d_m1")) == (["Hello."], ["sent"])


@pytest.mark.req("J16", "J17")
async def test_with_keys_a_preview_that_cannot_be_edited_is_not_mistaken_for_the_reply(
    bench,
) -> None:
    channel = bench.platform(edit=True, key_window_s=HOUR)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.show(preview, "Hel")
    await preview.close()
    channel.fail("edit", DeliveryRejected("too late to edit", FailureClass.REJECTED))
    stage.commit("Hello.")

    await bench.start()

    assert (stage.texts, bench.states("d_m1")) == (["Hel ▉", "Hello."], ["sent"])


@pytest.mark.req("J16")
async def test_closing_waits_for_the_call_on_the_wire(stage) -> None:
    preview = await stage.open()
    stage.bench.channel.hold("c1")
    await stage.show(preview, "Hel")

    closing = asyncio.ensure_future(preview.close())
    await settle()
    assert not closing.done()
    stage.bench.channel.let_go("c1")
    await closing

    assert stage.bench.row("d_m1").platform_message_id == "x1"


@pytest.mark.req("J16")
async def test_on_resume_the_standing_message_is_edited_on(stage) -> None:
    before = await stage.open()
    await stage.show(before, "Hel")
    await before.close()
    stage.bench.store.recover()
    stage.lease = stage.bench.store.lease("lane")

    after = await stage.open()
    await stage.show(after, "Hello again")

    assert (stage.texts, stage.count("send")) == (["Hello again ▉"], 1)


@pytest.mark.req("J16")
async def test_a_preview_without_an_id_after_a_crash_is_unknown(stage) -> None:
    await stage.open()

    stage.bench.store.recover()

    assert stage.bench.states("d_m1") == ["unknown"]


@pytest.mark.req("J16", "J17")
@pytest.mark.parametrize("ability", [{"key_window_s": HOUR}, {"history": True}])
async def test_a_lost_preview_is_found_again_on_resume(bench, ability) -> None:
    channel = bench.platform(edit=True, **ability)
    stage = Stage(bench)
    before = await stage.open()
    channel.lose_answers("send", 1)
    await stage.show(before, "Hel")
    await before.close()
    bench.store.recover()
    stage.lease = bench.store.lease("lane")

    after = await stage.open()
    await stage.show(after, "Hello")
    await bench.time.pass_by(1.0)
    await after.close()
    stage.commit("Hello.")
    await bench.start()

    assert (stage.texts, bench.states("d_m1")) == (["Hello."], ["sent"])


@pytest.mark.req("J16", "J17")
@pytest.mark.parametrize("ability", [{"key_window_s": HOUR}, {"history": True}])
async def test_a_lost_preview_and_its_reply_are_one_message(bench, ability) -> None:
    channel = bench.platform(edit=True, **ability)
    stage = Stage(bench)
    preview = await stage.open()
    channel.lose_answers("send", 1)
    await stage.show(preview, "Hel")
    await preview.close()
    bench.store.recover()
    stage.commit("Hello.")

    await bench.start()
    await bench.time.pass_by(10.0)

    assert (stage.texts, bench.states("d_m1")) == (["Hello."], ["sent"])


@pytest.mark.req("J16", "J17")
async def test_a_lost_preview_that_cannot_be_found_makes_the_reply_a_possible_repeat(stage) -> None:
    preview = await stage.open()
    stage.bench.channel.lose_answers("send", 1)
    await stage.show(preview, "Hel")
    await preview.close()
    stage.bench.store.recover()
    stage.commit("Hello.")

    await stage.bench.start()
    await stage.bench.time.pass_by(2.0)

    assert stage.texts == ["Hel ▉", "(possibly a repeat) Hello."]


@pytest.mark.req("J16", "J17")
@pytest.mark.parametrize(
    ("ability", "standing"),
    [
        ({"key_window_s": HOUR}, ["Hello."]),
        ({"history": True}, ["Hello."]),
        ({}, ["Hel ▉", "(possibly a repeat) Hello."]),
    ],
)
async def test_a_first_send_without_an_answer_is_unknown_without_a_crash_too(
    bench, ability, standing
) -> None:
    channel = bench.platform(edit=True, **ability)
    stage = Stage(bench)
    preview = await stage.open()
    channel.lose_answers("send", 1)
    await stage.show(preview, "Hel")
    await preview.close()
    assert bench.states("d_m1") == ["unknown"]

    stage.commit("Hello.")
    await bench.start()
    await bench.time.pass_by(10.0)

    assert (stage.texts, bench.states("d_m1")) == (standing, ["sent"])


@pytest.mark.req("J16")
async def test_a_first_send_that_was_refused_leaves_no_doubt(stage) -> None:
    preview = await stage.open()
    stage.bench.channel.fail("send", FLOOD, FLOOD, FLOOD)
    await stage.show(preview, "Hel")
    await preview.close()

    assert stage.bench.states("d_m1") == ["preview"]


@pytest.mark.req("J16")
async def test_a_crash_during_the_final_edit_edits_again(stage) -> None:
    preview = await stage.open()
    await stage.show(preview, "Hel")
    await preview.close()
    stage.commit("Hello.")
    await stage.bench.store.sending("d_m1", chunk=0, at=stage.bench.time.now())
    stage.bench.store.recover()

    await stage.bench.start()

    assert (stage.texts, stage.count("send")) == (["Hello."], 1)


@pytest.mark.req("J4", "J16")
async def test_a_turn_that_lost_its_lane_shows_no_more(stage) -> None:
    preview = await stage.open()
    stage.bench.store.lease("lane")

    await stage.show(preview, "Hel")
    await stage.bench.time.pass_by(5.0)
    await stage.show(preview, "Hello")
    await stage.bench.time.pass_by(5.0)

    assert stage.count("edit") == 0
    assert stage.bench.row("d_m1").platform_message_id is None


@pytest.mark.req("W19")
async def test_a_refused_preview_never_fails_the_turn(stage) -> None:
    stage.bench.channel.fail("send", DeliveryRejected("no", FailureClass.REJECTED))
    preview = await stage.open()

    await stage.show(preview, "Hel")
    await stage.show(preview, "Hello")
    await preview.close()

    assert stage.count("send") == 1


@pytest.mark.req("W19")
async def test_update_returns_while_the_platform_hangs(stage) -> None:
    stage.bench.channel.hold("c1")
    preview = await stage.open()

    await stage.show(preview, "Hel")
    await stage.show(preview, "Hello")

    assert stage.texts == []
    stage.bench.channel.let_go("c1")
    await settle()
    assert stage.texts == ["Hel ▉"]


@pytest.mark.req("W19")
async def test_a_platform_without_edits_shows_no_preview(bench) -> None:
    stage = Stage(bench)

    preview = await stage.open()
    await stage.show(preview, "Hel")

    assert (stage.texts, await bench.store.waiting()) == ([], 0)

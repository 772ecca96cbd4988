"""A reply that outgrows a message while it is shown goes on in the next one, killed wherever it may be."""

from typing import Any

import pytest

from hermes.errors import DeliveryUnknown, FailureClass, NotDelivered
from hermes.message.outcome import DeliveryState
from hermes.message.parts import ImagePart, Media, Part, TextPart
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.preview import open_fence
from hermes.outbox.previewer import OutboxPreviewer
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.upward import Preview
from hermes.testing.manual_time import settle

HOUR = 3600.0
TARGET = Target(platform="memory", account="a", chat_id="c1")
# With room for the mark of a possible repeat, 20 characters are left for each message.
NARROW = 40
CHUNKS = ["aaaa bbbb cccc dddd", "eeee ffff gggg hhhh", "iiii jjjj"]
TEXT = " ".join(CHUNKS)
OTHER = ["zzzz yyyy xxxx wwww", "vvvv"]
DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
ABLE = [{"key_window_s": HOUR}, {"history": True}, {}]


class Stage:
    """A running turn that shows its reply, and the sender that ends it."""

    def __init__(self, bench, store: Any = None, channel: Any = None) -> None:
        self.bench = bench
        self.store = store or bench.store
        self.channel = channel or bench.channel
        self.lease = bench.store.lease("lane")

    async def open(self) -> Preview:
        previewer = OutboxPreviewer(
            {"memory": self.channel},
            self.store,
            delivery_id=lambda message_id: f"d_{message_id}",
            timing=PreviewTiming(),
            clock=self.bench.time,
            sleep=self.bench.time.sleep,
            rates=self.bench.rates,
            screens=self.bench.screens,
        )
        return await previewer.open(self.lease, target=TARGET, message_id="m1", person_id="p1")

    async def stream(self, preview: Preview, text: str) -> None:
        """Show a text as it grows, half a message at a time."""
        for end in range(10, len(text) + 10, 10):
            await preview.update(text[:end])
            await self.bench.time.pass_by(1.0)

    def commit(self, *parts: Part) -> None:
        new = NewDelivery(id="d_m1", target=TARGET, parts=parts, state=DeliveryState.PENDING)
        self.bench.store.commit(new, message_id="m1")

    @property
    def texts(self) -> list[str]:
        return self.bench.channel.texts("c1")

    def count(self, verb: str) -> int:
        return len([call for call in self.bench.channel.calls if call[0] == verb])


@pytest.fixture
def stage(bench) -> Stage:
    bench.platform(edit=True, max_chars=NARROW)
    return Stage(bench)


@pytest.mark.req("W19", "J16")
async def test_a_text_that_outgrows_a_message_goes_on_in_the_next_one(stage: Stage) -> None:
    preview = await stage.open()

    await stage.stream(preview, TEXT)

    assert stage.texts == [*CHUNKS[:-1], f"{CHUNKS[-1]} ▉"]
    row = stage.bench.row("d_m1")
    assert (row.platform_message_id, row.more) == ("x1", ("x2", "x3"))
    assert stage.count("send") == 3


@pytest.mark.req("W19")
async def test_the_cursor_of_a_code_block_that_goes_on_in_the_next_message_stands_inside(
    bench,
) -> None:
    bench.platform(edit=True, max_chars=70)
    stage = Stage(bench)
    preview = await stage.open()
    code = "```py\n" + "".join(f"x{number} = {number}\n" for number in range(20))

    seen: set[str] = set()
    for end in range(10, len(code) + 10, 10):
        await preview.update(code[:end])
        await bench.time.pass_by(1.0)
        seen.update(stage.texts)

    assert len(stage.texts) > 2
    for shown in seen:
        assert [line for line in shown.splitlines() if "```" in line and "▉" in line] == []
        assert open_fence(shown) == ""
    *_, before, last = stage.texts[-1].splitlines()
    assert ("▉" in before, last) == (True, "```")


@pytest.mark.req("W19", "J16")
async def test_the_reply_continues_from_what_stands(stage: Stage) -> None:
    preview = await stage.open()
    await stage.stream(preview, TEXT)
    await preview.close()
    edits = stage.count("edit")
    stage.commit(TextPart(TEXT + " kkkk"))

    await stage.bench.start()

    assert stage.texts == [*CHUNKS[:-1], "iiii jjjj kkkk"]
    assert stage.bench.states("d_m1") == ["sent"]
    # What was finished while it streamed is not edited again.
    assert (stage.count("send"), stage.count("edit") - edits) == (3, 1)


@pytest.mark.req("W19", "J16")
async def test_ids_are_on_disk_before_any_edit(bench) -> None:
    channel = bench.platform(edit=True, max_chars=NARROW)
    stage = Stage(bench)
    preview = await stage.open()
    seen = []
    edit = channel.edit

    async def noting(target: Target, message_id: str, *, text: str) -> None:
        row = bench.row("d_m1")
        seen.append(message_id in (row.platform_message_id, *row.more))
        await edit(target, message_id, text=text)

    channel.edit = noting
    await stage.stream(preview, TEXT)

    assert len(seen) > 2
    assert all(seen)


@pytest.mark.req("W19")
@pytest.mark.parametrize(("can_delete", "standing"), [(True, OTHER), (False, [*OTHER, "…"])])
async def test_messages_that_the_reply_does_not_need_are_taken_back(
    bench, can_delete: bool, standing: list[str]
) -> None:
    bench.platform(edit=True, max_chars=NARROW, delete=can_delete)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.stream(preview, TEXT)
    await preview.close()
    stage.commit(TextPart(" ".join(OTHER)))

    await bench.start()

    assert (stage.texts, bench.states("d_m1")) == (standing, ["sent"])


@pytest.mark.req("W19")
async def test_attachments_follow_and_what_they_push_aside_goes(bench) -> None:
    bench.platform(edit=True, max_chars=NARROW, delete=True)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.stream(preview, TEXT)
    await preview.close()
    stage.commit(TextPart("short"), ImagePart(Media("image/png")))

    await bench.start()

    assert (stage.texts, bench.states("d_m1")) == (["short", ""], ["sent"])


@pytest.mark.req("W19", "J16")
async def test_a_next_message_that_was_certainly_not_sent_leaves_no_doubt(stage: Stage) -> None:
    preview = await stage.open()
    await stage.stream(preview, CHUNKS[0][:10])
    stage.bench.channel.fail("send", DOWN, DOWN, DOWN)
    await stage.stream(preview, TEXT[:30])
    await stage.bench.time.pass_by(30.0)
    await preview.close()
    assert (stage.bench.row("d_m1").more, stage.bench.states("d_m1")) == ((), ["preview"])
    stage.commit(TextPart(TEXT))

    await stage.bench.start()

    assert stage.texts == CHUNKS


@pytest.mark.req("W19", "J16", "J17")
@pytest.mark.parametrize(
    ("able", "standing"),
    [
        ({"key_window_s": HOUR}, CHUNKS[:2]),
        ({"history": True}, CHUNKS[:2]),
        ({}, [CHUNKS[0], "eeee ▉", f"(possibly a repeat) {CHUNKS[1]}"]),
    ],
)
async def test_a_next_message_whose_answer_was_lost(bench, able, standing: list[str]) -> None:
    channel = bench.platform(edit=True, max_chars=NARROW, **able)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.stream(preview, CHUNKS[0])
    channel.lose_answers("send", 1)
    await preview.update(f"{CHUNKS[0]} eeee")
    await bench.time.pass_by(1.0)
    await preview.close()
    assert (bench.row("d_m1").more, bench.states("d_m1")) == ((None,), ["unknown"])
    stage.commit(TextPart(" ".join(CHUNKS[:2])))

    await bench.start()
    await bench.time.pass_by(20.0)

    assert (stage.texts, bench.states("d_m1")) == (standing, ["sent"])


@pytest.mark.req("W19", "J17")
async def test_a_next_message_that_is_looked_for_and_not_there_is_sent(bench) -> None:
    channel = bench.platform(edit=True, max_chars=NARROW, history=True)
    stage = Stage(bench)
    preview = await stage.open()
    await stage.stream(preview, CHUNKS[0])
    channel.fail("send", DeliveryUnknown("cut off", FailureClass.NETWORK_TIMEOUT))
    await preview.update(f"{CHUNKS[0]} eeee")
    await bench.time.pass_by(0.5)
    await preview.close()
    stage.commit(TextPart(" ".join(CHUNKS[:2])))

    await bench.start()
    await bench.time.pass_by(20.0)

    assert (stage.texts, bench.states("d_m1")) == (CHUNKS[:2], ["sent"])
    assert stage.count("find") == 1


@pytest.mark.req("W19")
async def test_a_code_block_is_closed_in_the_preview(bench) -> None:
    bench.platform(edit=True)
    stage = Stage(bench)
    preview = await stage.open()

    await preview.update("Look:\n```python\nx = 1")
    await settle()
    assert stage.texts == ["Look:\n```python\nx = 1 ▉\n```"]

    await preview.update("Look:\n```python\nx = 1\n```\nThat is all of it, really.")
    await bench.time.pass_by(1.0)
    assert stage.texts == ["Look:\n```python\nx = 1\n```\nThat is all of it, really. ▉"]


class Killed(BaseException):
    """The process is dead."""


class Life:
    """How many more steps a process lives."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Killed


class Mortal:
    """A store or a channel whose calls may be the last thing that a process does.

    It may die before a call has an effect, and after it, before anybody hears of it.
    """

    def __init__(self, whole: Any, life: Life) -> None:
        self._whole = whole
        self._life = life

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._whole, name)
        if name in {"due", "unsettled", "waiting", "is_shown"} or not callable(value):
            return value

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._life.step()
            answer = await value(*args, **kwargs)
            self._life.step()
            return answer

        return call


async def live(bench, life: Life, text: str) -> bool:
    """Let one process show a reply, commit it and send it; false when it was killed."""
    bench.begin_process()
    bench.store.recover()
    store, channel = Mortal(bench.store, life), Mortal(bench.channel, life)
    whole_store, whole_channel = bench.store, bench.channel
    try:
        if "d_m1" not in bench.store._rows or bench.row("d_m1").parts is None:
            stage = Stage(bench, store, channel)
            preview = await stage.open()
            await stage.stream(preview, text)
            await preview.close()
            life.step()
            stage.commit(TextPart(text))
            life.step()
        bench.store, bench.channel = store, channel
        await bench.start()
        await bench.time.pass_by(12.0)
        await bench.stop()
    except Killed:
        return False
    finally:
        bench.store, bench.channel = whole_store, whole_channel
        await bench.stop()
    return life.left > 0


@pytest.mark.req("W19", "J16", "J17")
@pytest.mark.parametrize("able", ABLE)
@pytest.mark.parametrize("again", [TEXT, " ".join(OTHER)])
async def test_killed_at_any_step_the_reply_stands_whole_in_the_end(
    bench, able: dict[str, Any], again: str
) -> None:
    """The process dies at its nth step, for every n; the next one starts the turn again."""
    step, whole = 0, False
    while not whole:
        step += 1
        bench.platform(edit=True, max_chars=NARROW, delete=True, **able)
        bench.store = type(bench.store)(bench.time)

        whole = await live(bench, Life(step), TEXT)
        final = TEXT if whole else again
        committed = bench.store._rows.get("d_m1")
        if committed is not None and committed.parts is not None:
            final = TEXT
        while not await live(bench, Life(10_000), final):
            pass

        texts = bench.channel.texts("c1")
        expected = CHUNKS if final == TEXT else OTHER
        where = (step, texts)
        assert bench.states("d_m1") == ["sent"], where
        if able:
            assert texts == expected, where
        else:
            # Nobody can know whether what was on the wire arrived: it is said so, and once.
            said = [text.removeprefix("(possibly a repeat) ") for text in texts]
            kept = [text for text in said if text in expected]
            assert list(dict.fromkeys(kept)) == expected, where
            assert len(texts) <= len(expected) + 2, where
    assert step > 30

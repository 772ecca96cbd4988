"""W16, J13: photos that are sent one by one are answered as one message, charged once, and never lost."""

import asyncio
import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.control.why import explain
from hermes.message.parts import ImagePart, Media, TextPart
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig

ROOT = Path(__file__).resolve().parents[3]
# Time ends the waiting; whoever uses it has sent everything before the start.
QUICK = {"BUSY__PHOTO_BURST_S": "0.2"}
# So long that only something else than time can end the waiting.
LONG = {"BUSY__PHOTO_BURST_S": "3600"}
ALONE = {"BUSY__MERGE_FOLLOW_UPS": "false"}


def photo(name: str) -> ImagePart:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40) + name.encode()).decode()
    return ImagePart(Media("image/png", url=f"data:image/png;base64,{data}"))


async def send(rig: Rig, name: str, caption: str = "", *, album: str | None = None, **more) -> str:
    platform = more.pop("platform", "push")
    return await rig.say(caption, platform=platform, attached=(photo(name),), album=album, **more)


def shown(rig: Rig, call: int = -1) -> list[ImagePart]:
    messages = rig.model.calls[call].request.messages
    return [part for one in messages for part in one.parts if isinstance(part, ImagePart)]


async def said(rig: Rig, platform: str = "push") -> list[list[str]]:
    """What stands in the transcript as said by the person: pictures by their name."""
    lane = rig.lane(platform=platform)
    view = await rig.store.turns.view(lane)
    history = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
    return [[_name(part) for part in one.parts] for one in history.messages if one.role == "user"]


def _name(part: object) -> str:
    if isinstance(part, ImagePart):
        return base64.b64decode((part.media.url or "").partition(",")[2])[48:].decode()
    return part.text if isinstance(part, TextPart) else ""


async def ledger(rig: Rig, message_id: str) -> list[tuple[str, int]]:
    return [(line["kind"], line["amount"]) for line in (await rig.timeline(message_id)).ledger]


@pytest.mark.req("W16", "J13")
async def test_photos_in_a_row_are_one_turn_answered_and_charged_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=QUICK, start=False) as rig:
        host = await send(rig, "a", "my trip")
        second = await send(rig, "b")
        third = await send(rig, "c", "and lunch")
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (host, second, third)]

        assert outcomes == ["answered", "merged", "merged"]
        assert len(rig.model.calls) == 1
        assert shown(rig) == [photo("a"), photo("b"), photo("c")]
        assert await said(rig) == [["my trip", "a", "b", "\nand lunch", "c"]]
        await rig.until(lambda: len(rig.push.posts) == 1)
        assert [step.kind for step in (await rig.timeline(host)).steps] == [
            "prepared",
            "burst",
            "burst",
            "model",
        ]
        assert rig.store.inbox.waiting() == 0
        why = await explain(rig.store, second, now=rig.clock.now())
        assert why.answer == f"Merged into {host}, whose reply answers both; not charged."
        assert [await ledger(rig, one) for one in (host, second, third)] == [
            [("capture", -1)],
            [],
            [],
        ]


@pytest.mark.req("W16")
async def test_each_photo_has_a_turn_of_its_own_where_bursts_are_off(tmp_path: Path) -> None:
    off = {**ALONE, "BUSY__PHOTO_BURST_S": "0", "BUSY__PLATFORMS__PUSH": "queue"}
    async with open_rig(tmp_path, settings=off, start=False) as rig:
        sent = [await send(rig, name) for name in "ab"]
        await rig.start()

        assert [await rig.outcome(one) for one in sent] == ["answered", "answered"]


@pytest.mark.req("W16")
async def test_photos_further_apart_or_of_others_or_behind_a_text_are_not_merged(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    queueing = {**ALONE, "BUSY__PLATFORMS__PUSH": "queue", "BUSY__PHOTO_BURST_S": "1"}
    async with open_rig(tmp_path, clock=clock, start=False, settings=queueing) as rig:
        first = await send(rig, "a")
        clock.advance(1.5)
        late = await send(rig, "b")
        near = await send(rig, "c")
        text = await rig.say("nice?", platform="push")
        behind = await send(rig, "d")
        clock.advance(60)
        group = {"chat": "room", "chat_type": "group", "thread": "7"}
        ann = await send(rig, "e", user="ann", **group)
        bob = await send(rig, "f", user="bob", **group)
    clock.advance(60)

    async with open_rig(tmp_path, clock=clock, settings=queueing) as rig:
        sent = (first, late, near, text, behind, ann, bob)
        outcomes = [await rig.outcome(one) for one in sent]

        assert outcomes == [
            "answered", "answered", "merged", "answered", "answered", "answered", "answered",
        ]  # fmt: skip
        assert await said(rig) == [["a"], ["b", "c"], ["nice?"], ["d"]]


@pytest.mark.req("W16")
async def test_what_was_queued_never_merges(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=QUICK) as rig:
        busy = await rig.say("[[hang]]", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)
        queued = [await send(rig, name, f"/queue {name}") for name in "ab"]
        await rig.answer("/stop", platform="push")

        assert await rig.outcome(busy) == "interrupted"
        assert [await rig.outcome(one) for one in queued] == ["answered", "answered"]
        assert (await said(rig))[1:] == [["a", "a"], ["b", "b"]]


@pytest.mark.req("W16", "J13")
async def test_an_album_waits_for_its_photos_on_a_channel_that_waits_for_no_others(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=QUICK, start=False) as rig:
        sent = [await send(rig, name, album="1", platform="rest") for name in "ab"]
        sent += [await send(rig, name, platform="rest") for name in "cd"]
        await rig.start()

        outcomes = [await rig.outcome(one) for one in sent]

        assert outcomes == ["answered", "merged", "answered", "answered"]
        assert await said(rig, "rest") == [["a", "b"], ["c"], ["d"]]


@pytest.mark.req("W16", "W20", "J13")
async def test_a_text_ends_the_waiting_and_is_answered_with_the_photos(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=LONG) as rig:
        photos = [await send(rig, name) for name in "ab"]
        text = await rig.say("what is this?", platform="push")

        outcomes = [await rig.outcome(one) for one in (*photos, text)]

        assert outcomes == ["answered", "merged", "merged"]
        assert await said(rig) == [["a", "b", "what is this?"]]


@pytest.mark.req("W16", "J12", "J13")
async def test_a_text_that_may_not_join_ends_the_waiting_and_finds_every_photo(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings={**LONG, **ALONE}) as rig:
        photos = [await send(rig, name) for name in "ab"]
        text = await rig.say("what is this?", platform="push")

        assert await rig.outcome(text) == "answered"
        assert [await rig.outcome(one) for one in photos] == ["interrupted", "merged"]
        assert shown(rig) == [photo("a"), photo("b")]
        assert await said(rig) == [["a", "b"], ["what is this?"]]


@pytest.mark.req("W16", "J6")
async def test_stop_reaches_photos_that_wait_for_more(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=LONG) as rig:
        photos = [await send(rig, name) for name in "ab"]

        assert await rig.answer("/stop", platform="push") == "Stopped."

        assert [await rig.outcome(one) for one in photos] == ["interrupted", "merged"]
        assert rig.model.calls == []


@pytest.mark.req("J13")
async def test_photos_of_a_host_that_breaks_become_new_again(tmp_path: Path) -> None:
    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text="fine") if number > 1 else ScriptedTurn(fault="status", status=400)

    async with open_rig(tmp_path, script=script, settings=QUICK, start=False) as rig:
        host, second, third = [await send(rig, name) for name in "abc"]
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (host, second, third)]

        assert outcomes == ["failed", "answered", "merged"]
        # The note says that the first one got no answer.
        assert await said(rig) == [["a", ""], ["b", "c"]]
        record = await rig.store.inbox.get(third)
        assert record is not None
        assert record.merged_into == second


@pytest.mark.req("J13", "J7", "J8")
async def test_a_burst_stays_together_over_a_crash(tmp_path: Path) -> None:
    clock = ManualClock()

    def hang(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(fault="hang")

    hanging = open_rig(tmp_path, clock=clock, script=hang, settings=QUICK, start=False)
    async with hanging as rig:
        host, second = [await send(rig, name) for name in "ab"]
        await rig.start()
        await rig.until(lambda: len(rig.model.calls) == 1)
        await rig.crash()

    async with open_rig(tmp_path, clock=clock, settings=QUICK) as rig:
        assert [await rig.outcome(one) for one in (host, second)] == ["answered", "merged"]
        assert shown(rig) == [photo("a"), photo("b")]
        assert await said(rig) == [["a", "b"]]


@pytest.mark.req("J13", "J4")
async def test_a_crash_while_more_is_awaited_leaves_every_photo(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, settings=LONG) as rig:
        host, second = [await send(rig, name) for name in "ab"]
        await asyncio.sleep(0)
        await rig.crash()

    async with open_rig(tmp_path, clock=clock, settings=QUICK) as rig:
        assert [await rig.outcome(one) for one in (host, second)] == ["answered", "merged"]
        assert len(rig.model.calls) == 1


@pytest.mark.req("J13", "J10")
def test_a_burst_survives_a_kill_at_every_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.photo_kills", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20

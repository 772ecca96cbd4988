"""W16, W20, J13: what is said while something waits is answered as one, charged once, and never lost."""

import asyncio
import base64
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hermes.control.why import explain
from hermes.message.parts import ImagePart, Media, TextPart
from hermes.ports.channel import MediaKind
from hermes.ports.media import LocalMedia, MediaOwner
from hermes.ports.steps import Step
from hermes.ports.turns import Begin
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig

ROOT = Path(__file__).resolve().parents[3]
QUEUE = {"BUSY__PLATFORMS__PUSH": "queue"}
# So long that only something else than time can end the waiting.
LONG = {"BUSY__FOLLOW_UP_S": "3600"}
NONE = {"BUSY__FOLLOW_UP_S": "0"}
THREAD: dict[str, Any] = {"chat": "room", "chat_type": "group", "thread": "7"}


async def said(rig: Rig, lane: str = "") -> list[str]:
    """What stands in the transcript as said by people."""
    lane = lane or rig.lane(platform="push")
    view = await rig.store.turns.view(lane)
    history = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
    return [one.text for one in history.messages if one.role == "user"]


def picture() -> ImagePart:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    return ImagePart(Media("image/png", url=f"data:image/png;base64,{data}"))


def hang_on(*texts: str):
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        is_hanging = seen.last_text in texts
        return ScriptedTurn(fault="hang") if is_hanging else ScriptedTurn(text="fine")

    return script


async def waiting(home: Path, *texts: str, settings=QUEUE, **more) -> tuple[list[str], list[str]]:
    """Let messages wait and answer them; returns their outcomes, and what was said."""
    async with open_rig(home, settings=settings, start=False) as rig:
        sent = [await rig.say(text, platform="push", **more) for text in texts]
        await rig.start()
        return [await rig.outcome(one) for one in sent], await said(rig)


@pytest.mark.req("W16", "W20", "J13")
async def test_what_waits_is_one_message_answered_and_charged_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=QUEUE, start=False) as rig:
        host = await rig.say("one", platform="push")
        second = await rig.say("two", platform="push", attached=(picture(),))
        third = await rig.say("three", platform="push")
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (host, second, third)]

        assert outcomes == ["answered", "merged", "merged"]
        (call,) = rig.model.calls
        assert call.request.messages[-1].parts == (
            TextPart("one"),
            TextPart("\ntwo"),
            picture(),
            TextPart("\nthree"),
        )
        assert await said(rig) == ["one\ntwo\nthree"]
        await rig.until(lambda: len(rig.push.posts) == 1)
        kinds = [step.kind for step in (await rig.timeline(host)).steps]
        assert kinds == ["prepared", "burst", "burst", "model"]
        why = await explain(rig.store, third, now=rig.clock.now())
        assert why.answer == f"Merged into {host}, whose reply answers both; not charged."
        paid = [
            [line["kind"] for line in (await rig.timeline(one)).ledger]
            for one in (host, second, third)
        ]
        assert paid == [["capture"], [], []]
        assert rig.store.inbox.waiting() == 0


@pytest.mark.req("W16", "W20", "J12")
async def test_of_a_burst_that_interrupts_one_turn_is_stopped_and_one_answers_all(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=hang_on("one")) as rig:
        first = await rig.say("one", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)
        second = await rig.say("two", platform="push")
        assert await rig.outcome(first) == "interrupted"
        third = await rig.say("three", platform="push")

        outcomes = [await rig.outcome(one) for one in (second, third)]

        assert outcomes == ["answered", "merged"]
        assert await said(rig) == ["one", "two\nthree"]
        assert [one.text for one in rig.model.calls[-1].request.messages] == [
            "one",
            "two\nthree",
        ]
        await rig.until(lambda: len(rig.push.posts) == 2)


@pytest.mark.req("W16")
async def test_what_comes_after_a_reply_has_begun_stops_it_and_waits_for_nobody_where_told(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=hang_on("one", "two"), settings=NONE) as rig:
        sent = []
        for number, text in enumerate(("one", "two", "three"), start=1):
            sent.append(await rig.say(text, platform="push"))
            await rig.until(partial(_has_calls, rig, number))

        outcomes = [await rig.outcome(one) for one in sent]

        assert outcomes == ["interrupted", "interrupted", "answered"]
        assert await said(rig) == ["one", "two", "three"]


def _has_calls(rig: Rig, count: int) -> bool:
    return len(rig.model.calls) == count


class Slow:
    """Attachments that come when told; fits `ports.media.Attachments`."""

    def __init__(self) -> None:
        self.asked = 0
        self.here = asyncio.Event()

    async def bring(self, media: Media, *, platform: str, owner: MediaOwner) -> LocalMedia:
        self.asked += 1
        await self.here.wait()
        return LocalMedia(media)

    async def tidy(self) -> None:
        """Nothing is kept."""

    async def lend(self, place: str, *, owner: MediaOwner) -> Media:
        raise AssertionError(f"nobody attaches {place} here")

    def located(self, picture: ImagePart) -> ImagePart:
        return picture

    def takes(self, platform: str) -> tuple[MediaKind, ...]:
        return ()


@pytest.mark.req("W16", "W20", "J13")
async def test_what_comes_while_a_turn_is_prepared_joins_it(tmp_path: Path) -> None:
    slow = Slow()
    shown = ImagePart(Media("image/png", url="https://pictures.example/a"))
    off = {"BUSY__PHOTO_BURST_S": "0"}
    async with open_rig(tmp_path, settings=off, media=lambda *_: slow) as rig:
        first = await rig.say("look", platform="push", attached=(shown,))
        await rig.until(lambda: slow.asked == 1)
        second = await rig.say("nice?", platform="push")
        slow.here.set()

        assert [await rig.outcome(one) for one in (first, second)] == ["answered", "merged"]
        assert await said(rig) == ["look\nnice?"]
        assert len(rig.model.calls) == 1
        assert (await rig.kinds(first)).count("images") == 1


@pytest.mark.req("W16", "J12")
async def test_what_may_not_join_a_turn_that_is_prepared_stops_it(tmp_path: Path) -> None:
    slow = Slow()
    shown = ImagePart(Media("image/png", url="https://pictures.example/a"))
    off = {"BUSY__PHOTO_BURST_S": "0"}
    async with open_rig(tmp_path, settings=off, media=lambda *_: slow) as rig:
        first = await rig.say("look", platform="push", user="ann", attached=(shown,), **THREAD)
        await rig.until(lambda: slow.asked == 1)
        second = await rig.say("nice?", platform="push", user="bob", **THREAD)
        slow.here.set()

        assert [await rig.outcome(one) for one in (first, second)] == ["interrupted", "answered"]


@pytest.mark.req("W16")
async def test_what_was_queued_and_commands_never_merge_and_nothing_passes_them(
    tmp_path: Path,
) -> None:
    texts = ("one", "/queue two", "/queue three", "four", "/undo", "five", "six")

    outcomes, lines = await waiting(tmp_path, *texts)

    assert outcomes == [*["answered"] * 6, "merged"]
    # `/undo` took the fourth back.
    assert lines == ["one", "two", "three", "five\nsix"]


@pytest.mark.req("W16")
async def test_others_in_a_thread_are_answered_by_themselves(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=QUEUE, start=False) as rig:
        ann = [await rig.say(text, platform="push", user="ann", **THREAD) for text in "ab"]
        bob = [await rig.say(text, platform="push", user="bob", **THREAD) for text in "cd"]
        again = await rig.say("e", platform="push", user="ann", **THREAD)
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (*ann, *bob, again)]

        assert outcomes == ["answered", "merged", "answered", "merged", "answered"]


@pytest.mark.req("W16")
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"BUSY__MAX_MERGED": "2"}, ["one\ntwo", "three"]),
        ({"BUSY__MAX_MERGED_CHARS": "6"}, ["one\ntwo", "three"]),
        ({"BUSY__MAX_MERGED": "1"}, ["one", "two", "three"]),
        ({"BUSY__MERGE_FOLLOW_UPS": "false"}, ["one", "two", "three"]),
        ({"BUSY__MERGE_PLATFORMS__PUSH": "false"}, ["one", "two", "three"]),
        ({"BUSY__PLATFORMS__PUSH": "steer"}, ["one", "two", "three"]),
    ],
)
async def test_no_more_are_merged_than_the_operator_wants(
    tmp_path: Path, limit: dict[str, str], expected: list[str]
) -> None:
    _, lines = await waiting(tmp_path, "one", "two", "three", settings={**QUEUE, **limit})

    assert lines == expected


@pytest.mark.req("W16")
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["answered", "answered"]),
        ({"BUSY__MERGE_PLATFORMS__REST": "true"}, ["answered", "merged"]),
    ],
)
async def test_callers_who_wait_for_their_reply_get_their_own_unless_told_otherwise(
    tmp_path: Path, settings: dict[str, str], expected: list[str]
) -> None:
    async with open_rig(tmp_path, settings=settings, start=False) as rig:
        sent = [await rig.say(text) for text in ("one", "two")]
        await rig.start()

        assert [await rig.outcome(one) for one in sent] == expected


@pytest.mark.req("W16", "J6")
async def test_stop_reaches_a_message_that_waits_for_more(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=hang_on("one"), settings=LONG) as rig:
        first = await rig.say("one", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)
        second = await rig.say("two", platform="push")
        assert await rig.outcome(first) == "interrupted"

        assert await rig.answer("/stop", platform="push") == "Stopped."

        assert await rig.outcome(second) == "interrupted"
        assert len(rig.model.calls) == 1


@pytest.mark.req("J13")
async def test_those_of_a_host_that_breaks_become_new_again(tmp_path: Path) -> None:
    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text="fine") if number > 1 else ScriptedTurn(fault="status", status=400)

    async with open_rig(tmp_path, script=script, settings=QUEUE, start=False) as rig:
        sent = [await rig.say(text, platform="push") for text in ("one", "two", "three")]
        await rig.start()

        assert [await rig.outcome(one) for one in sent] == ["failed", "answered", "merged"]
        assert await said(rig) == ["one", "two\nthree"]


@pytest.mark.req("J13", "J7", "J8")
async def test_they_stay_together_over_a_crash_and_what_came_since_stops_them(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, script=hang_on("one\ntwo"), start=False) as rig:
        host, second = [await rig.say(text, platform="push") for text in ("one", "two")]
        await rig.start()
        await rig.until(lambda: len(rig.model.calls) == 1)
        await rig.crash()

    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        third = await rig.say("three", platform="push")
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (host, second, third)]

        assert outcomes == ["interrupted", "merged", "answered"]
        assert await said(rig) == ["one\ntwo", "three"]


@pytest.mark.req("J13", "J7", "J8")
async def test_they_stand_in_the_conversation_though_stopped_before_they_were_prepared(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        host, second = [await rig.say(text, platform="push") for text in ("look", "nice?")]
        view = await rig.store.turns.view(rig.lane(platform="push"))
        assert view.message is not None
        # Killed between the claim of the second and the end of a turn that was stopped in its wait.
        await rig.store.turns.begin(
            Begin(
                lane=view.lane,
                owner=rig.store.fleet.node,
                fence=view.fence,
                head=view.head,
                message_id=host,
                person_id=view.message.person_id,
                at=clock.now(),
                steps=(Step(ordinal=1, kind="burst", state="done", name=second, at=clock.now()),),
                claims=(second,),
            )
        )

    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        third = await rig.say("three", platform="push")
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (host, second, third)]

        assert outcomes == ["interrupted", "merged", "answered"]
        assert await said(rig) == ["look\nnice?", "three"]


@pytest.mark.req("J13", "J10")
@pytest.mark.parametrize("case", ["waiting", "stopping", "close"])
def test_they_survive_a_kill_at_every_step(tmp_path: Path, case: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.follow_up_kills", str(tmp_path), case],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20


@pytest.mark.req("W16")
async def test_a_stop_right_behind_a_message_stops_it_before_it_has_begun(tmp_path: Path) -> None:
    slow = Slow()
    shown = ImagePart(Media("image/png", url="https://pictures.example/a"))
    async with open_rig(tmp_path, media=lambda *_: slow) as rig:
        first = await rig.say("look", attached=(shown,))
        await rig.until(lambda: slow.asked == 1)

        assert await rig.answer("/stop") == "Stopped."
        slow.here.set()
        assert await rig.outcome(first) == "interrupted"
        assert rig.model.calls == []


@pytest.mark.req("W16")
async def test_a_stop_stops_a_message_whose_lane_is_only_being_looked_at(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        first = await rig.say("look")
        stop = await rig.say("/stop")
        await rig.start()

        outcomes = [await rig.outcome(one) for one in (first, stop)]
        assert outcomes in (["interrupted", "answered"], ["answered", "answered"])

"""W16, A21: `busy.default` counts, and people are told that their message waits, once."""

from pathlib import Path

import msgspec
import pytest

from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.message.parts import TextPart
from hermes.pipeline.targets import target_of
from hermes.pipeline.wait_notices import BEHIND, NO_PLACE
from hermes.ports.sends import NewSend
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, has, open_rig
from tests.contract.journal.test_places import hold_the_place

_NEXT = BEHIND[BusyPolicy.QUEUE]
_CROWDED = {"TURNS__MAX_CONCURRENT_CALLS": "1"}
_TOLD = {"BUSY__NOTICE": "true", "BUSY__PLATFORMS__PUSH": "queue"}


def hang_first(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(fault="hang") if "first" in seen.last_text else ScriptedTurn(text="fine")


async def begin(rig: Rig, platform: str = "push") -> str:
    """Start a turn that goes on until it is stopped."""
    message_id = await rig.say("first", platform=platform)
    await rig.until(lambda: bool(rig.model.calls))
    return message_id


def texts(rig: Rig) -> list[str]:
    """Return everything that reached the chat."""
    return rig.push.texts("ann")


@pytest.mark.req("W16")
@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({}, "interrupted"),
        ({"BUSY__DEFAULT": "queue"}, "answered"),
        ({"BUSY__DEFAULT": "queue", "BUSY__PLATFORMS__PUSH": "interrupt"}, "interrupted"),
        ({"BUSY__DEFAULT": "interrupt", "BUSY__PLATFORMS__PUSH": "queue"}, "answered"),
    ],
    ids=["manifest", "default", "platform stops", "platform waits"],
)
async def test_the_platform_then_the_default_then_the_manifest_decides(
    settings: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    async with open_rig(tmp_path, settings=settings) as rig:
        first = await rig.say("[[slow:0.2]] one", platform="push")
        await rig.until(lambda: bool(rig.model.calls))
        second = await rig.say("two", platform="push")

        assert await rig.outcome(first) == outcome
        assert await rig.outcome(second) == "answered"


@pytest.mark.req("W16")
async def test_the_rest_api_is_listed_so_the_default_does_not_count_there(
    tmp_path: Path,
) -> None:
    async with open_rig(
        tmp_path, script=hang_first, settings={"BUSY__DEFAULT": "interrupt"}
    ) as rig:
        first = await begin(rig, platform="rest")
        second = await rig.say("two")
        record = await rig.store.inbox.get(second)
        await rig.say("/stop")

        assert record is not None
        assert record.busy is BusyPolicy.QUEUE
        assert await rig.outcome(first) == "interrupted"


@pytest.mark.req("W16")
async def test_a_person_whose_messages_wait_is_told_once_per_answer(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=hang_first, settings=_TOLD) as rig:
        first = await begin(rig)
        waiting = [await rig.say(text, platform="push") for text in ("two", "three")]
        await rig.until(lambda: _NEXT in texts(rig))
        await rig.say("/stop", platform="push")
        await rig.outcome(first)
        ends = [await rig.outcome(one) for one in waiting]
        await rig.until(lambda: "fine" in texts(rig))

        assert ends == ["answered", "merged"]
        assert texts(rig).count(_NEXT) == 1


@pytest.mark.req("W16")
async def test_no_notice_is_written_once_the_answer_that_it_speaks_of_is_there(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=hang_first) as rig:
        first = await begin(rig)
        record = await rig.store.inbox.get(first)
        assert record is not None
        assert record.event is not None
        notice = NewSend(
            id="o_1",
            message_id=first,
            person_id=record.person_id,
            target=target_of(record.event),
            parts=(TextPart(_NEXT),),
            state=DeliveryState.PENDING,
            at=rig.clock.now(),
            unless_ended=first,
        )
        before = await rig.store.sends.put(notice, kept=lambda _: None)
        await rig.say("/stop", platform="push")
        await rig.outcome(first)
        late = msgspec.structs.replace(notice, id="o_2")
        after = await rig.store.sends.put(late, kept=lambda _: None)

        assert (before, after) == (True, False)


@pytest.mark.req("W16")
async def test_nobody_is_told_unless_the_operator_wants_it(tmp_path: Path) -> None:
    quiet = {**_TOLD, "BUSY__NOTICE_PLATFORMS__PUSH": "false"}
    async with open_rig(tmp_path, script=hang_first, settings=quiet) as rig:
        first = await begin(rig)
        second = await rig.say("two", platform="push")
        await rig.say("/stop", platform="push")
        await rig.outcome(first)
        await rig.outcome(second)
        await rig.until(lambda: "fine" in texts(rig))

        assert _NEXT not in texts(rig)


@pytest.mark.req("W16")
async def test_a_message_that_stops_the_answer_is_told_nothing(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=hang_first, settings={"BUSY__NOTICE": "true"}) as rig:
        await begin(rig)
        await rig.outcome(await rig.say("two", platform="push"))
        await rig.until(lambda: "fine" in texts(rig))

        assert not set(BEHIND.values()) & set(texts(rig))


@pytest.mark.req("A21")
async def test_a_person_without_a_free_model_call_is_told_once_that_they_wait(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=_CROWDED) as rig:
        await hold_the_place(rig)
        waiting = await rig.say("hello", platform="push")
        await rig.until(has(lambda: rig.kinds(waiting), "waits_for_place"))
        for _ in range(2):
            await rig.core.lanes.tell_waiting()
        await rig.until(lambda: NO_PLACE in texts(rig))
        await rig.say("/stop", chat="holder")
        assert await rig.outcome(waiting) == "answered"
        await rig.until(lambda: len(texts(rig)) == 2)

        assert texts(rig).count(NO_PLACE) == 1


@pytest.mark.req("A21")
async def test_nobody_is_told_of_a_wait_if_the_operator_does_not_want_it(tmp_path: Path) -> None:
    quiet = {**_CROWDED, "TURNS__TELL_WAIT": "false"}
    async with open_rig(tmp_path, settings=quiet) as rig:
        await hold_the_place(rig)
        waiting = await rig.say("hello", platform="push")
        await rig.until(has(lambda: rig.kinds(waiting), "waits_for_place"))
        await rig.core.lanes.tell_waiting()
        await rig.say("/stop", chat="holder")
        assert await rig.outcome(waiting) == "answered"

        await rig.until(lambda: bool(texts(rig)))
        assert NO_PLACE not in texts(rig)

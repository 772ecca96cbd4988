"""Accepted messages and the places for model calls: they wait for one, in turn, until they expire."""

from pathlib import Path

import pytest

from hermes.calls.budgets import Payer
from hermes.calls.days import Calendar
from hermes.control.operations import Operations
from hermes.control.runtime import RuntimeHandles
from hermes.control.users import UserOrder
from hermes.control.why_answer import waiting_for
from hermes.errors import Overloaded
from hermes.message.ids import make_id
from hermes.message.outcome import MessageState
from hermes.ports.spend import Account, Meter
from hermes.ports.tool import ToolContext
from tests.contract.calls.rig import CallRig
from tests.contract.journal.rig import Rig, RunTool, has, open_rig
from tests.contract.journal.test_wallet import wallet, wallet_of

_HANG = "[[hang]] hello"
# A call that is not of a message gives up at once.
_ONE_PLACE = {"TURNS__MAX_CONCURRENT_CALLS": "1", "TURNS__CALL_WAIT_S": "0.01"}


async def hold_the_place(rig: Rig, text: str = _HANG) -> str:
    """Let somebody take the only place; returns their message."""
    calls = len(rig.model.calls)
    message_id = await rig.say(text, chat="holder")
    await rig.until(lambda: len(rig.model.calls) > calls)
    return message_id


async def wait_in_line(rig: Rig, text: str = "hello") -> str:
    """Let Ann wait for a place; returns her message."""
    message_id = await rig.say(text)
    await rig.until(has(lambda: rig.kinds(message_id), "waits_for_place"))
    return message_id


def desk_of(rig: Rig) -> Operations:
    """Return where the operator's orders arrive."""
    return Operations(
        rig.store,
        calendar=Calendar(None),
        clock=rig.clock,
        make_id=make_id,
        address="",
        handles=RuntimeHandles(person_erased=rig.core.lanes.erased),
    )


def ways(rig: Rig) -> list[str]:
    """Return the ways that the messages came of three chats."""
    return [rig.store.inbox.came_by(rig.lane(chat)) for chat in ("one", "two", "three")]


@pytest.mark.req("A21", "J7")
async def test_a_waiting_message_counts_for_its_token_or_key_after_a_restart(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        await rig.say("hello", chat="one", token="t_1")
        await rig.say("hello", chat="two", key="k_1")
        await rig.say("hello", chat="three")
        before = ways(rig)

    async with open_rig(tmp_path, start=False) as rig:
        after = ways(rig)

    assert after == before
    assert len(set(after)) == 3


@pytest.mark.req("J24", "A21")
async def test_a_message_that_waits_ends_when_its_person_is_erased(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        await hold_the_place(rig)
        waiting = await wait_in_line(rig)

        await desk_of(rig).users.erase(UserOrder(user="rest:ann"))

        assert await rig.outcome(waiting) == "refused"
        assert len(rig.model.calls) == 1


@pytest.mark.req("J24", "A21")
async def test_a_turn_that_waits_in_its_middle_ends_when_its_person_is_erased(
    tmp_path: Path,
) -> None:
    tool = RunTool("act", lambda _: hold_the_place(rig))
    async with open_rig(tmp_path, tools=(tool,), settings=_ONE_PLACE) as rig:
        waiting = await wait_in_line(rig, "[[tool:act]] please")

        await desk_of(rig).users.erase(UserOrder(user="rest:ann"))

        assert await rig.outcome(waiting) == "refused"
        assert len(rig.model.calls) == 2


@pytest.mark.req("J3", "A21")
async def test_a_crowd_that_was_accepted_is_answered(tmp_path: Path) -> None:
    impatient = {"TURNS__CALL_WAIT_S": "0.01"}
    async with open_rig(tmp_path, start=False, settings=impatient) as rig:
        crowd = [await rig.say("[[slow:0.3]] hello", chat=f"chat {one}") for one in range(100)]
        await rig.start()

        ends = [await rig.outcome(message_id) for message_id in crowd]

    assert ends == ["answered"] * 100
    assert len(rig.model.calls) == 100


@pytest.mark.req("A21")
async def test_one_person_with_many_open_calls_leaves_places_for_others(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"TURNS__CALL_WAIT_S": "0.01"}) as rig:
        for number in range(30):
            await rig.say(_HANG, chat=f"chat {number}", user="mallory")
        await rig.until(lambda: len(rig.model.calls) == 10)

        assert await rig.answer("hello") == "#1 hello"
        assert len(rig.model.calls) == 11


@pytest.mark.req("A21")
async def test_a_token_whose_calls_all_hang_leaves_places_for_several_others(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        for number in range(40):
            await rig.say(_HANG, chat=f"chat {number}", token="t_1")
        await rig.until(lambda: len(rig.model.calls) == 27)
        await rig.say(_HANG, chat="long call", token="t_2")
        await rig.until(lambda: len(rig.model.calls) == 28)

        other = await rig.say("hello", chat="ann", token="t_3")

        assert await rig.outcome(other) == "answered"
        assert len(rig.model.calls) == 29


@pytest.mark.req("A21")
async def test_a_key_has_one_share_for_its_turns_and_its_calls(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"TURNS__CALL_WAIT_S": "0.01"}) as rig:
        for number in range(12):
            await rig.say(_HANG, chat=f"chat {number}", key="k_1")
        await rig.until(lambda: len(rig.model.calls) == 10)
        calls = CallRig(rig.core.models, rig.store, clock=rig.clock)

        own = Payer(account=Account(person_id="p_1", channel="v1", key="k_1"))
        with pytest.raises(Overloaded, match="max_calls_each"):
            await calls.call("hello", "scripted", payer=own)
        other = Payer(account=Account(person_id="p_2", channel="v1", key="k_2"))
        answered = await calls.call("hello", "scripted", payer=other)

        assert answered.kinds[-1] == "FullAnswer"
        assert len(rig.model.calls) == 11


@pytest.mark.req("A21")
async def test_sessions_of_one_token_wait_in_turn_with_those_of_another(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"LANES__MAX_RUNNING": "1"}) as rig:
        holder = await hold_the_place(rig)
        crowd = [await rig.say(f"{one}", chat=f"chat {one}", token="t_1") for one in range(5)]
        other = await rig.say("other", chat="ann", token="t_2")
        rig.core.lanes.interrupt(rig.lane("holder"), "test", message_id=holder)

        assert [await rig.outcome(one) for one in (*crowd, other)] == ["answered"] * 6
        asked = [call.request.messages[0].text for call in rig.model.calls]

    assert asked == [_HANG, "0", "other", "1", "2", "3", "4"]


@pytest.mark.req("A21", "J7")
async def test_sessions_wait_in_turn_after_a_restart(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        for one in range(5):
            await rig.say(f"{one}", chat=f"chat {one}")
        await rig.say("other", platform="push")

    async with open_rig(tmp_path, settings={"LANES__MAX_RUNNING": "1"}) as rig:
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        asked = [call.request.messages[0].text for call in rig.model.calls]
        assert rig.store.inbox.came_by(rig.lane("chat 0")) == ""

    assert asked == ["0", "1", "other", "2", "3", "4"]


@pytest.mark.req("J3")
async def test_j3_a_message_that_waits_for_a_place_expires_with_a_notice(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={**_ONE_PLACE, "INBOX__EXPIRE_AFTER_S": "0.3"}) as rig:
        await hold_the_place(rig)
        message_id = await rig.say("hello")

        assert await rig.outcome(message_id) == "expired"
        result = await rig.store.inbox.result(message_id)

    assert result is not None
    assert "Please send it again" in result.text
    assert len(rig.model.calls) == 1


@pytest.mark.req("J6", "J12")
async def test_stop_ends_a_message_that_waits_for_a_place(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        await hold_the_place(rig)
        message_id = await wait_in_line(rig)

        assert "waits for a free place" in await rig.answer("/status")
        assert await rig.answer("/stop") == "Stopped."
        assert await rig.outcome(message_id) == "interrupted"
        assert len(rig.model.calls) == 1


@pytest.mark.req("J4", "J7")
async def test_a_message_that_waits_for_a_place_starts_after_a_restart(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        await hold_the_place(rig)
        message_id = await wait_in_line(rig)

    async with open_rig(tmp_path, settings={}) as rig:
        assert await rig.outcome(message_id) == "answered"
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        assert record.attempts == 1


@pytest.mark.req("J4")
async def test_j4_the_lease_of_a_turn_that_waits_between_two_calls_is_renewed(
    tmp_path: Path,
) -> None:
    rigs: list[Rig] = []

    async def give_the_place_away(_: ToolContext) -> str:
        return await hold_the_place(rigs[0])

    tool = RunTool("give", give_the_place_away)
    async with open_rig(tmp_path, tools=(tool,), settings=_ONE_PLACE) as rig:
        rigs.append(rig)
        message_id = await wait_in_line(rig, "[[tool:give {}]] hello")

        waiting = await rig.store.inbox.get(message_id)
        assert waiting is not None
        assert waiting.state == "running"
        holder = (await rig.store.turns.view(rig.lane("holder"))).message
        assert holder is not None
        rig.core.lanes.interrupt(rig.lane("holder"), "test", message_id=holder.id)
        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("J8", "A21")
async def test_j8_what_a_tool_brought_is_on_disk_while_its_turn_waits_for_a_place(
    tmp_path: Path,
) -> None:
    rigs: list[Rig] = []

    async def give_the_place_away(_: ToolContext) -> str:
        return await hold_the_place(rigs[0])

    tool = RunTool("give", give_the_place_away)
    async with open_rig(tmp_path, tools=(tool,), settings=_ONE_PLACE) as rig:
        rigs.append(rig)
        message_id = await wait_in_line(rig, "[[tool:give {}]] hello")
        timeline = await rig.timeline(message_id)
        told = await waiting_for(rig.store, timeline, now=rig.clock.now())

    states = [(step.kind, step.state) for step in timeline.steps if step.kind == "tool"]
    assert (states, told) == ([("tool", "done")], "a free place for its model call")


@pytest.mark.req("A21")
async def test_why_says_that_a_message_waits_for_a_place(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        holder = await hold_the_place(rig)
        message_id = await wait_in_line(rig)

        told = await waiting_for(rig.store, await rig.timeline(message_id), now=rig.clock.now())
        rig.core.lanes.interrupt(rig.lane("holder"), "test", message_id=holder)
        await rig.outcome(message_id)

    assert told == "a free place for its model call"


@pytest.mark.req("A21")
async def test_a_turn_that_waits_for_a_place_is_not_stuck(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        holder = await hold_the_place(rig)
        message_id = await wait_in_line(rig)
        rig.core.lanes.end_stuck(0.0)
        rig.core.lanes.end_stuck(1_000_000.0)

        assert await rig.outcome(holder) == "failed"
        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("A21")
async def test_a_stop_of_the_gateway_does_not_wait_for_messages_without_a_place(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=_ONE_PLACE) as rig:
        holder = await hold_the_place(rig, "[[slow:0.3]] hello")
        message_id = await wait_in_line(rig)

        assert await rig.core.lanes.drain(20) == 0

        assert await rig.outcome(holder) == "answered"
        assert await rig.store.inbox.state(message_id) is MessageState.NEW


@pytest.mark.req("J11", "A22")
async def test_j11_a_stop_before_the_first_word_costs_no_credit_and_counts_as_spent(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=wallet_of(5)) as rig:
        message_id = await rig.say(_HANG)
        await rig.until(lambda: bool(rig.model.calls))
        await rig.say("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        person = await rig.store.inbox.get(message_id)
        assert person is not None
        spent = await rig.store.spend.total(Meter("person", person.person_id, "tokens", "2023-11"))
        assert ((await wallet(rig)).balance, (await wallet(rig)).held) == (5, 0)

    # What was sent, and no answer: the model had written none.
    assert 0 < spent < 1024

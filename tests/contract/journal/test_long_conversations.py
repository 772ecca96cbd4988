"""G5, P6, W21: a conversation of any length is answered, and nothing of it is lost."""

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from hermes.graph import MessageGraph
from hermes.message.session_key import graph_name
from hermes.ports.provider import ModelRequest
from hermes.store.sql.session_history import COMPACTED
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider, chars_of_request
from tests.contract.journal.rig import Rig, open_rig

CONTEXT = 16_000
FOUR_KB = "All work and no play makes a long day. " * 105


def strict(*, believed: int = CONTEXT) -> ScriptedProvider:
    """Return a model that refuses what it cannot hold, and is believed to hold so much."""
    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=believed)
    return ScriptedProvider(info=info, holds=CONTEXT)


def graph_of(rig: Rig, branch: str = "main") -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0), branch=branch)


def assert_whole(rig: Rig) -> None:
    for branch in ("main", COMPACTED):
        assert graph_of(rig, branch).verify().problems == ()
    assert list(rig.store.graphs.check(graph_name(rig.lane(), 0))) == []


def requests(model: ScriptedProvider) -> list[ModelRequest]:
    return [call.request for call in model.calls]


@pytest.mark.req("G5", "P6")
async def test_every_message_is_answered_when_the_context_is_full(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model) as rig:
        outcomes = [
            await rig.outcome(await rig.say(f"{number}: {FOUR_KB}")) for number in range(40)
        ]
        assert_whole(rig)
        said = [message["parts"][0]["text"][:4] for message in graph_of(rig)]

    assert outcomes == ["answered"] * 40
    assert len(said) == 80
    assert len(model.calls) == 40
    assert max(map(chars_of_request, requests(model))) < 4 * CONTEXT


@pytest.mark.req("G5", "W21")
async def test_what_is_sent_begins_alike_until_messages_are_left_out(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model) as rig:
        for number in range(24):
            await rig.answer(f"{number}: {FOUR_KB}")

    changes = [
        after.messages[: len(before.messages)] != before.messages
        for before, after in pairwise(requests(model))
    ]
    # Half of the room is left each time, which is for more than one message.
    assert 0 < sum(changes) <= 24 // 2


@pytest.mark.req("G5")
async def test_what_is_left_out_is_a_version_that_expands_to_the_messages(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model) as rig:
        for number in range(12):
            await rig.answer(f"{number}: {FOUR_KB}")
        last = await rig.say("and now?")
        await rig.outcome(last)
        compacted = graph_of(rig, COMPACTED)
        told = compacted[-1]["parts"][0]["text"]
        whole = [message["parts"][0]["text"] for message in graph_of(rig)]
        (place, summary) = next(iter(compacted.summaries().items()))
        compacted.expand(place)
        expanded = [message["parts"][0]["text"] for message in compacted]

    assert told.startswith("[The ")
    assert told.endswith("left out: there is no room.]")
    assert expanded == whole[: summary.stop]
    assert requests(model)[-1].messages[0].text == told


@pytest.mark.req("G5")
async def test_a_restart_in_a_long_conversation_changes_nothing(tmp_path: Path) -> None:
    first, second = strict(), strict()
    async with open_rig(tmp_path, model=first) as rig:
        for number in range(9):
            await rig.answer(f"{number}: {FOUR_KB}")
    async with open_rig(tmp_path, model=second) as rig:
        await rig.answer("hi")

    before, after = requests(first)[-1], requests(second)[0]
    assert before.messages[0].text.endswith("left out: there is no room.]")
    assert after.messages[: len(before.messages)] == before.messages


@pytest.mark.req("G5")
async def test_a_service_that_finds_the_prompt_too_long_is_asked_once_more_with_less(
    tmp_path: Path,
) -> None:
    model = strict(believed=128_000)
    async with open_rig(tmp_path, model=model) as rig:
        outcomes = [
            await rig.outcome(await rig.say(f"{number}: {FOUR_KB}")) for number in range(30)
        ]

    assert outcomes == ["answered"] * 30
    assert len(model.calls) == 31


@pytest.mark.req("G5", "A6")
async def test_a_message_that_no_model_holds_is_refused_in_words_and_does_not_come_back(
    tmp_path: Path,
) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model) as rig:
        refused = await rig.answer("x" * 90_000)
        answered = await rig.answer("hi")

    assert refused.startswith("That is too long for my model: it takes about ")
    assert answered == "#1 hi"
    assert len(model.calls) == 1


@pytest.mark.req("G5")
async def test_failed_turns_do_not_make_the_next_prompt_longer(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model) as rig:
        await rig.answer("hello")
        for _ in range(4):
            await rig.answer(f"[[fail:500]] {FOUR_KB}")
        await rig.answer("[[fail:500]] short")
        await rig.answer("again")
        told = [message.text for message in requests(model)[-1].messages]
        assert_no_problem(rig)
        page = await rig.store.transcripts.conversation(rig.lane(), limit=20)

    assert told == [
        "hello",
        "#1 hello",
        "[[fail:500]] short\n\n[This message got no answer.]",
        "again",
    ]
    assert len(page.messages) == 7


def assert_no_problem(rig: Rig) -> None:
    assert graph_of(rig).verify().problems == ()

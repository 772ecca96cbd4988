"""Answers given again: to the same person, for exactly the same call, and to nobody else."""

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from hermes.calls.budgets import Payer
from hermes.calls.events import FullAnswer
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, TextPart, text_of
from hermes.message.reply import Usage
from hermes.ports.keys import CallerKey
from hermes.ports.provider import CallEnd, ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.ports.spend import Account
from hermes.routing.plan import Candidate
from hermes.testing.model_script import ScriptedTurn
from tests.contract.calls.rig import CallRig, ask, model, open_calls, payer_for

NAMES = ("one", "two")
PEOPLE, AT_ONCE = 10_000, 500


async def person(rig: CallRig, name: str) -> str:
    """Return a person of this name, made by the store."""
    key = CallerKey(
        id=f"k_{name}", label="", user=name, person_id="", hint="", created_at=rig.clock.now()
    )
    return (await rig.store.keys.add(key, digest=name.encode(), user=name)).person_id


@pytest.mark.req("A24", "J22")
async def test_the_same_question_gets_the_same_answer_and_is_not_paid_again(
    tmp_path: Path,
) -> None:
    one = model("one")
    async with open_calls(tmp_path, one) as rig:
        ann = payer_for(await person(rig, "ann"))
        first = await rig.call("hello", "one", payer=ann, remembers=True)
        again = await rig.call("hello", "one", payer=ann, remembers=True)

        assert len(one.calls) == 1
        assert text_of(again.answer.end.parts) == text_of(first.answer.end.parts)
        assert again.answer.cached_from is not None
        assert again.kinds == ["CallStart", "FullAnswer"]
        assert [(one.is_cached, one.usage.tokens_in) for one in again.spent] == [(True, 0)]
        assert rig.layer.memory.hits == 1

        rig.clock.advance(3601)
        late = await rig.call("hello", "one", payer=ann, remembers=True)
        assert late.answer.cached_from is None


@pytest.mark.req("A24", "J22")
async def test_a_call_that_wants_its_own_answer_gets_one(tmp_path: Path) -> None:
    one = model("one")
    async with open_calls(tmp_path, one) as rig:
        ann = payer_for(await person(rig, "ann"))
        await rig.call("hello", "one", payer=ann, remembers=True)
        own = await rig.call("hello", "one", payer=ann)

    assert own.answer.cached_from is None
    assert len(one.calls) == 2


@pytest.mark.req("A24", "J22")
@pytest.mark.parametrize("stops", ["length", "refusal"])
async def test_an_answer_that_was_cut_is_not_remembered(
    tmp_path: Path, stops: Literal["length", "refusal"]
) -> None:
    one = model("one", [ScriptedTurn(text="Half of", stops=stops), ScriptedTurn(text="All of it.")])
    async with open_calls(tmp_path, one) as rig:
        ann = payer_for(await person(rig, "ann"))
        await rig.call("hello", "one", payer=ann, remembers=True)
        again = await rig.call("hello", "one", payer=ann, remembers=True)
        last = await rig.call("hello", "one", payer=ann, remembers=True)

        assert (again.answer.cached_from, text_of(again.answer.end.parts)) == (None, "All of it.")
        assert (len(one.calls), rig.layer.memory.hits) == (2, 1)
        assert last.answer.cached_from is not None


@pytest.mark.req("A24", "J22")
async def test_ten_thousand_people_with_a_canary_each_never_see_anothers(tmp_path: Path) -> None:
    one = model("one", lambda seen, number: _canary(number))
    settings = {"CACHE__MAX_ANSWERS": "20000"}
    told: dict[str, str] = {}
    async with open_calls(tmp_path, one, settings=settings) as rig:

        async def meet(number: int) -> None:
            who = await person(rig, f"user{number}")
            story = await rig.call("my canary?", "one", payer=payer_for(who), remembers=True)
            told[who] = text_of(story.answer.end.parts)

        for first in range(0, PEOPLE, AT_ONCE):
            await asyncio.gather(*(meet(number) for number in range(first, first + AT_ONCE)))
        assert len(told) == len(set(told.values())) == PEOPLE

        for who, canary in told.items():
            again = await rig.call("my canary?", "one", payer=payer_for(who), remembers=True)
            assert again.answer.cached_from is not None
            assert text_of(again.answer.end.parts) == canary
        assert len(one.calls) == PEOPLE
        stranger = payer_for(await person(rig, "stranger"))
        fresh = await rig.call("my canary?", "one", payer=stranger, remembers=True)
        other = await rig.call("my canary?", "one", payer=_payer(who, "other"), remembers=True)

    assert fresh.answer.cached_from is None
    assert other.answer.cached_from is None


@pytest.mark.req("A24")
async def test_whatever_went_to_the_model_is_part_of_the_key(tmp_path: Path) -> None:
    base = ask("hello")
    schema = OutputSchema(name="s", schema=msgspec.Raw(b'{"type":"string"}'))
    others = [
        ask("hello "),
        ask("hello", system=("be kind",)),
        ask("hello", system=("be", "kind")),
        ask("hello", temperature=0.0),
        ask("hello", temperature=0.1),
        ask("hello", top_p=0.1),
        ask("hello", stop=("x",)),
        ask("hello", max_output_tokens=1),
        ask("hello", reasoning="low"),
        ask("hello", reasoning=1024),
        ask("hello", schema=schema),
        ask("hello", tool_choice=ToolChoice("none")),
        ModelRequest(model="", messages=(user_text("hel"), user_text("lo"))),
        ModelRequest(model="", messages=(ChatMessage("assistant", (TextPart("hello"),)),)),
        ModelRequest(model="", messages=(ChatMessage("user", (TextPart("hel"), TextPart("lo"))),)),
    ]
    async with open_calls(tmp_path, model("one")) as rig:
        account = Account(person_id=await person(rig, "ann"), agent="main")
        memory = rig.layer.memory
        digests = {
            memory.digest(account, Candidate(name, f"{name}-1", "test"), request)
            for request in (base, *others)
            for name in NAMES
        }

        assert len(digests) == 2 * (len(others) + 1)


@pytest.mark.req("A24")
async def test_calls_with_tools_or_pictures_are_not_remembered(tmp_path: Path) -> None:
    tool = ToolSpec("look", "looks", msgspec.Raw(b'{"type":"object"}'))
    picture = ImagePart(Media(mime="image/png", url="https://pictures.example.com/1.png"))
    one = model("one")
    async with open_calls(tmp_path, one) as rig:
        ann = payer_for(await person(rig, "ann"))
        for request in (
            ask("hello", tools=(tool,)),
            ModelRequest(model="", messages=(ChatMessage("user", (TextPart("see"), picture)),)),
        ):
            for _ in range(2):
                story = await rig.call(request, "one", payer=ann, remembers=True)
                assert story.answer.cached_from is None

    assert len(one.calls) == 4


def _canary(number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"canary {number}")


def _payer(person_id: str, agent: str) -> Payer:
    return Payer(account=Account(person_id=person_id, agent=agent, channel="rest"))


@pytest.mark.req("A24")
async def test_the_stop_sequence_of_an_answer_is_remembered_with_it(tmp_path: Path) -> None:
    async with open_calls(tmp_path, model("one")) as rig:
        account = Account(person_id=await person(rig, "ann"), agent="main", channel="rest")
        candidate, request = Candidate("one", "one-1", "named"), ask("hello", stop=("END",))
        end = CallEnd((TextPart("Good day"),), "end", Usage(), "one-1", stop_sequence="END")
        answer = FullAnswer(candidate=candidate, end=end)

        await rig.layer.memory.keep(account, request, answer, call_id="v_1")
        found = await rig.layer.memory.find(account, candidate, request)

        assert found is not None
        assert (found.end, found.cached_from) == (end, "v_1")

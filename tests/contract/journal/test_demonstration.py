"""A turn that the demonstration model answers: no tools that are merely on by default, little to read."""

from pathlib import Path

import msgspec
import pytest

from hermes.ports.provider import ModelRequest, ProviderInfo
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import RunTool, open_rig

ASKED = "Research these three companies in parallel"
OWN = {"delegate", "memory", "schedule", "send_message", "session_search"}
BRIEF = (
    "Hermes is a computer program. Be brief and factual: answer in two or three short sentences."
)
NAMED = {"AGENTS__MAIN__TOOLS": '["memory", "look"]'}
DEMO = msgspec.structs.replace(SCRIPTED_INFO, name="demo", demonstration=True, local=True)
WORDS_ONLY = msgspec.structs.replace(SCRIPTED_INFO, name="house", tools=False)


def model(info: ProviderInfo = DEMO) -> ScriptedProvider:
    return ScriptedProvider(info=info)


def asked_last(one: ScriptedProvider) -> ModelRequest:
    return one.calls[-1].request


def tools_sent(one: ScriptedProvider) -> set[str]:
    return {tool.name for tool in asked_last(one).tools}


@pytest.mark.req("M7", "A17")
async def test_it_gets_no_tools_while_a_provider_without_a_key_is_there(tmp_path: Path) -> None:
    demo = model()
    async with open_rig(tmp_path, own_tools=True, beside={"demo": demo}) as rig:
        rig.model.is_available = False  # as the built-in providers whose key is not set

        await rig.answer(ASKED)

        assert (tools_sent(demo), rig.model.calls) == (set(), [])
        assert asked_last(demo).system[-1] == BRIEF


@pytest.mark.req("M7", "A17")
@pytest.mark.parametrize(
    ("settings", "sent"), [({}, {"look"}), (NAMED, {"look", "memory"})], ids=["*", "named"]
)
async def test_it_gets_the_tools_that_somebody_gave_it(
    tmp_path: Path, settings: dict[str, str], sent: set[str]
) -> None:
    demo, look = model(), RunTool("look")
    opened = open_rig(
        tmp_path, own_tools=True, tools=(look,), beside={"demo": demo}, settings=settings
    )
    async with opened as rig:
        rig.model.is_available = False

        await rig.answer(ASKED)

        assert tools_sent(demo) == sent


@pytest.mark.req("M7", "A17")
async def test_a_model_that_comes_and_goes_gets_the_same_tools_each_time(tmp_path: Path) -> None:
    demo = model()
    async with open_rig(tmp_path, own_tools=True, search=True, beside={"demo": demo}) as rig:
        rig.model.is_available = False
        await rig.answer(ASKED)
        rig.model.is_available = True
        await rig.answer("and a fourth")
        before = asked_last(rig.model)
        rig.model.is_available = False
        await rig.answer("are you still there?")
        rig.model.is_available = True
        await rig.answer("and a fifth")
        after = asked_last(rig.model)

    assert {tool.name for tool in before.tools} == OWN
    assert (after.tools, after.system) == (before.tools, before.system)
    assert (tools_sent(demo), BRIEF in after.system) == (set(), False)


@pytest.mark.req("M2", "A17")
async def test_a_model_without_tools_comes_before_it_also_where_tools_are_on(
    tmp_path: Path,
) -> None:
    demo, house = model(), model(WORDS_ONLY)
    async with open_rig(tmp_path, own_tools=True, beside={"demo": demo, "house": house}) as rig:
        rig.model.is_available = False

        await rig.answer(ASKED)

        assert (demo.calls, tools_sent(house)) == ([], set())
        assert BRIEF not in asked_last(house).system


@pytest.mark.req("M7", "A11")
async def test_it_is_not_told_what_was_said_in_other_conversations(tmp_path: Path) -> None:
    demo = model()
    async with open_rig(tmp_path, beside={"demo": demo}) as rig:
        await rig.answer("I moved to Oslo last week")
        await rig.answer("/new")
        await rig.answer("What is a gateway?")
        told = "\n".join(asked_last(rig.model).system)
        await rig.answer("/new")
        rig.model.is_available = False
        await rig.answer("What is a gateway?")

    assert "I moved to Oslo" in told
    assert "I moved to Oslo" not in "\n".join(asked_last(demo).system)

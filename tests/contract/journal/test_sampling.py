"""Sampling by agent, provider and session: the nearest value reaches the model and stays with the call."""

from pathlib import Path

import pytest

from hermes.message.session_key import graph_name
from hermes.ports.keys import CallerKey
from hermes.testing.model_script import ScriptedTurn
from tests.contract.journal.rig import Rig, open_rig

PROVIDER = {
    "PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1",
    "PROVIDERS__SCRIPTED__TEMPERATURE": "0.9",
    "PROVIDERS__SCRIPTED__TOP_P": "0.8",
    "PROVIDERS__SCRIPTED__SEED": "11",
    "PROVIDERS__SCRIPTED__REASONING": "low",
    "PROVIDERS__SCRIPTED__MAX_OUTPUT_TOKENS": "500",
}
AGENT = {
    "AGENTS__MAIN__TEMPERATURE": "0.2",
    "AGENTS__MAIN__STOP": "END",
    "AGENTS__MAIN__REASONING": "medium",
    "AGENTS__MAIN__MAX_OUTPUT_TOKENS": "300",
}


def kept(rig: Rig, at: int = -1) -> dict[str, object]:
    """Return what the graph has of the sampling of a call."""
    call = rig.store.graphs.open(graph_name(rig.lane(), 0)).calls()[at]
    return dict(call.sampling)


@pytest.mark.req("G4", "A20")
async def test_the_agent_goes_before_the_provider_and_the_session_before_both(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings={**PROVIDER, **AGENT}) as rig:
        await rig.answer("hello")
        sent = rig.model.calls[0].request
        assert kept(rig) == {
            "max_output_tokens": 300,
            "temperature": 0.2,
            "top_p": 0.8,
            "stop": ["END"],
            "seed": 11,
            "reasoning": "medium",
        }
        assert (sent.temperature, sent.stop, sent.seed) == (0.2, ("END",), 11)

        await rig.answer("/reasoning high")
        await rig.answer("and now?")
        assert kept(rig)["reasoning"] == "high"


@pytest.mark.req("G4")
async def test_what_nobody_sets_is_left_to_the_model(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("hello")
        assert kept(rig) == {}


@pytest.mark.req("A20")
async def test_a_callers_lower_limit_holds_and_is_not_continued(tmp_path: Path) -> None:
    async with open_rig(
        tmp_path,
        script=lambda _seen, _n: ScriptedTurn(text="Half of", stops="length"),
        settings=AGENT,
    ) as rig:
        key = CallerKey(
            id="k_1",
            label="",
            user="ann",
            person_id="",
            hint="",
            created_at=rig.clock.now(),
            max_output_tokens=20,
        )
        await rig.store.keys.add(key, digest=b"x", user="ann")
        message_id = await rig.say("hello", key="k_1")
        await rig.outcome(message_id)

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.stop_reason == "length"
        assert [call.request.max_output_tokens for call in rig.model.calls] == [20]


ROUTE = {
    "PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1",
    "ROUTING__TASK_ROUTES__LARGE_REASONING__PRIMARY": "scripted:large-1",
}


@pytest.mark.req("P3", "W18")
async def test_p3_reasoning_large_uses_the_model_for_large_tasks_until_it_is_off(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=ROUTE) as rig:
        await rig.answer("hello")
        assert "model for large tasks" in await rig.answer("/reasoning large")
        assert "with the model for large tasks" in await rig.answer("/reasoning")
        await rig.answer("prove it")
        await rig.answer("/reasoning off")
        await rig.answer("and now?")

        asked = [call.request.model for call in rig.model.calls]
        assert asked == ["scripted-1", "large-1", "scripted-1"]


@pytest.mark.req("P3", "W18")
async def test_p3_without_a_route_reasoning_large_says_which_setting_is_missing(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        told = await rig.answer("/reasoning large")

    assert told == "No model is set for large tasks (routing.task_routes.large_reasoning)."


@pytest.mark.req("P3")
async def test_p3_an_agent_can_ask_for_a_task_type(tmp_path: Path) -> None:
    agent = {**ROUTE, "AGENTS__MAIN__MODEL": "auto:large_reasoning"}
    async with open_rig(tmp_path, settings=agent) as rig:
        await rig.answer("hello")

        assert rig.model.calls[0].request.model == "large-1"

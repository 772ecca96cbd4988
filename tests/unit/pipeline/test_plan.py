"""The order of the steps (A4), and who may see all of the services."""

import ast
from pathlib import Path

import msgspec
import pytest

from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart, ToolCallPart, ToolResultPart
from hermes.pipeline import plan, stages
from hermes.pipeline.plan import END, PREPARE, Stage, next_stage
from hermes.pipeline.stages.call_adapter import call_adapter
from hermes.pipeline.stages.call_model import call_model
from hermes.pipeline.stages.run_tools import run_tools
from hermes.pipeline.stages.save import save
from hermes.pipeline.stages.see_images import see_images
from hermes.pipeline.turn import PendingImages
from tests.unit.pipeline.stage_parts import asking, make_turn

CALL = ToolCallPart("c1", "look", "{}")
FOLDER = Path(stages.__file__).parent


def names(listed: tuple[Stage, ...]) -> list[str]:
    return [stage.__name__ for stage in listed]


@pytest.mark.req("A4")
def test_a4_a_turn_is_prepared_in_this_order() -> None:
    assert names(PREPARE) == [
        "join_follow_ups",
        "resolve_user",
        "answer_command",
        "check_credits",
        "run_task_commands",
        "fetch_media",
        "load_history",
        "load_soul",
        "use_skill",
        "route_images",
        "build_messages",
        "gate_tools",
    ]


@pytest.mark.req("A4")
def test_a4_pictures_come_first_then_the_model_then_its_tools_then_the_model_again() -> None:
    turn = make_turn()
    pictured = msgspec.structs.replace(turn, pending_images=PendingImages(intent="general", own=1))
    asked = asking(turn, CALL)
    result = ChatMessage("tool", (ToolResultPart(CALL.id, CALL.name, "seen"),))
    answered = asked.plus(result, ordinal=2)
    spoken = answered.plus(ChatMessage("assistant", (TextPart("done"),)), ordinal=3)

    walk = [next_stage(one) for one in (pictured, turn, asked, answered, spoken)]

    assert walk == [see_images, call_model, run_tools, call_model, None]
    assert END is save


@pytest.mark.req("A4", "A25")
def test_a4_an_agent_with_another_runtime_has_its_adapter_called() -> None:
    made = make_turn()
    settings = made.agent.settings.model_copy(update={"runtime": "claude_local"})
    agent = msgspec.structs.replace(made.agent, settings=settings)
    turn = msgspec.structs.replace(
        made, agent=agent, pending_images=PendingImages(intent="general", own=1)
    )
    spoken = turn.plus(ChatMessage("assistant", (TextPart("done"),)), ordinal=1)

    assert [next_stage(one) for one in (turn, spoken)] == [call_adapter, None]


@pytest.mark.req("A4")
def test_a4_a_steered_in_message_is_answered_before_the_turn_ends() -> None:
    spoken = make_turn().plus(ChatMessage("assistant", (TextPart("done"),)), ordinal=1)
    steered = spoken.plus(ChatMessage("user", (TextPart("and now?"),)), ordinal=2)

    assert next_stage(steered) is call_model


@pytest.mark.req("A4")
def test_a4_every_module_of_stages_is_in_the_plan() -> None:
    imported = {
        node.module.rpartition(".")[2]
        for node in ast.walk(ast.parse(Path(plan.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and ".stages." in node.module
    }

    assert imported == {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}


@pytest.mark.req("A4")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a4_no_stage_sees_all_of_the_services(path: Path) -> None:
    modules = {
        node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }

    assert "hermes.pipeline.services" not in modules
    assert "hermes.ports.store" not in modules

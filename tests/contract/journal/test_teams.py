"""Tasks that agents give each other, on a real store; M11, J8, J14, G4."""

import json
from pathlib import Path

import pytest

from hermes.message.parts import ToolResultPart
from hermes.message.session_key import graph_name
from tests.contract.journal.rig import Rig, open_rig

TEAM = {
    "AGENTS__MAIN__NAME": "Main",
    "AGENTS__MAIN__DELEGATES": '["digger", "writer"]',
    "AGENTS__DIGGER__DESCRIPTION": "Digs.",
    "AGENTS__WRITER__DESCRIPTION": "Writes.",
    "AGENTS__LONER__DESCRIPTION": "Is in no team.",
}


def delegating(*workspaces: str, task: str = "the task", tool: str = "delegate_task") -> str:
    """Return a message that makes the scripted model delegate."""
    given = json.dumps({"workspaces": list(workspaces), "task": task})
    return f"please [[tool:{tool} {given}]]"


def results(rig: Rig) -> list[dict[str, object]]:
    """Return the tasks in the tool results that the model's last call was shown."""
    parts = [part for one in rig.model.calls[-1].request.messages for part in one.parts]
    texts = [part.text for part in parts if isinstance(part, ToolResultPart)]
    return [task for text in texts for task in json.loads(text)["tasks"]]


@pytest.mark.req("M11", "G4", "J14")
async def test_m11_several_agents_get_a_task_at_once_and_their_chats_are_linked(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=TEAM) as rig:
        message_id = await rig.say(delegating("digger", "writer"))

        assert await rig.outcome(message_id) == "answered"
        digger, writer = [await rig.timeline(f"{message_id}.{one}") for one in ("1", "1.2")]
        assert digger.message is not None
        assert writer.message is not None
        assert results(rig) == [
            {
                "workspace": name,
                "task_id": one.id,
                "state": "done",
                "outcome": "answered",
                "reply": "#1 the task",
            }
            for name, one in (("digger", digger.message), ("writer", writer.message))
        ]
        links = rig.store.graphs.open(graph_name(rig.lane(), 0)).links()
        assert [link.child for link in links] == [
            graph_name(one.lane, 0) for one in (digger.message, writer.message)
        ]
        assert {
            one.message.event.agent for one in (digger, writer) if one.message and one.message.event
        } == {"digger", "writer"}

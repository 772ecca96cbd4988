"""W9: callers are shown what a turn did: the beginnings of the results of its tools."""

from pathlib import Path

import pytest

from hermes.ports.turns import ToolUse
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_script import ToolUse as ScriptedTool
from tests.contract.journal.rig import RunTool, open_rig


def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    if not seen.tool_results:
        return ScriptedTurn(tools=(ScriptedTool("look", '{"at":"sky"}'),))
    return ScriptedTurn(text="Blue.")


@pytest.mark.req("W9")
async def test_a_result_says_what_the_tools_returned(tmp_path: Path) -> None:
    look = RunTool("look")
    async with open_rig(tmp_path, script=script, tools=(look,)) as rig:
        message_id = await rig.say("look up")
        await rig.outcome(message_id)
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        (use,) = result.tool_calls
        assert (use.name, use.arguments, use.result != "") == ("look", '{"at":"sky"}', True)
        assert use == ToolUse("look", '{"at":"sky"}', result=use.result)

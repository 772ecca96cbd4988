"""What a chat sees while a turn runs and after it: no thoughts, and that somebody is typing."""

from pathlib import Path

import pytest

from hermes.ports.channel import Capabilities
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import open_rig

CAN = Capabilities(delivery="push", unknown="allow", edit=True, typing=True)
SAID = "<think>They greet me. Greet back?</think>\n\nHello there."


def thinks_aloud(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text=SAID, deltas=40)


@pytest.mark.req("W19")
async def test_what_is_thought_aloud_reaches_nobody_and_stays_in_the_history(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(CAN, name="push")
    async with open_rig(tmp_path, script=thinks_aloud, push=push) as rig:
        assert await rig.answer("hi") == "Hello there."
        await rig.say("hi", platform="push")
        await rig.as_time_passes(lambda: push.texts("ann") == ["Hello there."])
        await rig.answer("again")

        seen = [message.text for message in rig.model.calls[-1].request.messages]
        assert SAID in seen


@pytest.mark.req("W10", "W19")
async def test_typing_is_shown_where_the_platform_can(tmp_path: Path) -> None:
    push = MemoryChannel(CAN, name="push")
    async with open_rig(tmp_path, push=push) as rig:
        await rig.answer("not here")
        message = await rig.say("hi [[slow:1]]", platform="push")
        await rig.outcome(message)
        await rig.as_time_passes(lambda: len(push.texts("ann")) == 1)

    assert push.calls[0] == ("typing", "ann")
    assert [verb for verb, _ in push.calls].count("typing") == 1

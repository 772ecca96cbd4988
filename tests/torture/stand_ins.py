"""The model and the platforms that outlive every kill: they count what really reached them."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from hermes.testing.model_script import ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.model_server import ModelServer
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.torture.homes import SIGNING_SECRET, TOKEN, Mode
from tests.torture.memory_checks import key_of, told_in
from tests.torture.places import PLACES, PigeonPlace, Place

GAP_S = 0.01
# How what the model that learns is asked begins.
LESSON = "Known so far:"


def learnt(text: str) -> str:
    """Return what a model learns that finds a fact wherever the script wants one."""
    lines = text.partition("\n\nMessages:\n")[2].splitlines()
    heard = [msgspec.json.decode(line) for line in lines]
    facts = [
        {"key": key_of(word), "value": f"said {word}", "message": one["message"]}
        for one in heard
        for word in told_in(one["text"])
    ]
    return msgspec.json.encode({"facts": facts, "forget": []}).decode()


def streamed(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Answer by the directives in the text; what comes in pieces comes piece by piece."""
    if seen.last_text.startswith(LESSON):
        return ScriptedTurn(text=learnt(seen.last_text))
    turn = answer_by_text(seen, number)
    return msgspec.structs.replace(turn, gap_s=GAP_S) if turn.deltas > 1 else turn


class StandIns:
    """One model and two platforms, one of which takes keys."""

    def __init__(self) -> None:
        self.model = ModelServer(streamed)
        settings = SampleSettings(token=TOKEN, signing_secret=SIGNING_SECRET, chats=())
        self.plain = SamplePlatform(settings)
        self.keyed = SamplePlatform(msgspec.structs.replace(settings, keys=True))

    def pigeon(self, mode: Mode) -> SamplePlatform:
        """Return the platform for a mode."""
        return self.keyed if mode.keys else self.plain

    def calls(self, tag: str) -> Counter[str]:
        """Return how often the model was really asked, by the first word of the message."""
        words = (made.text.partition(" ")[0] for made in self.model.invocations)
        return Counter(word for word in words if word.startswith(tag))

    def place(self, mode: Mode) -> Place:
        """Return the platform that a story's people write on."""
        return PLACES[mode.place]() if mode.place else PigeonPlace(self.pigeon(mode), mode)


@asynccontextmanager
async def stand_ins() -> AsyncIterator[StandIns]:
    """Run the stand-ins in this process, which nobody kills."""
    made = StandIns()
    await made.model.start()
    await made.plain.start()
    await made.keyed.start()
    try:
        yield made
    finally:
        await made.model.close()
        await made.plain.stop()
        await made.keyed.stop()

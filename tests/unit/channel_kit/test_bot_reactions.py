"""A message has one reaction of the bot, also on platforms that would keep several."""

from hermes.channel_kit.bot_reactions import BotReactions
from hermes.ports.channel import ReactionName
from hermes.testing.manual_time import ManualClock

NAMES: dict[ReactionName, str] = {"seen": "eyes", "working": "hourglass", "done": "check"}


class Message:
    """A message on the platform, with the reactions that the bot has there."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.calls = 0

    async def put(self, name: str) -> None:
        self.calls += 1
        self.shown.append(name)

    async def remove(self, name: str) -> None:
        self.calls += 1
        self.shown = [one for one in self.shown if one != name]

    async def react(self, reactions: BotReactions, name: ReactionName) -> list[str]:
        await reactions.replace("m1", name, put=self.put, remove=self.remove)
        return list(self.shown)


async def test_each_reaction_takes_the_place_of_the_one_before() -> None:
    message, reactions = Message(), BotReactions(NAMES, clock=ManualClock())
    states: tuple[ReactionName, ...] = ("seen", "working", "done")

    seen = [await message.react(reactions, name) for name in states]

    assert (seen, message.calls) == ([["eyes"], ["hourglass"], ["check"]], 5)


async def test_after_a_restart_every_earlier_state_is_removed() -> None:
    message, clock = Message(), ManualClock()
    await message.react(BotReactions(NAMES, clock=clock), "working")

    assert await message.react(BotReactions(NAMES, clock=clock), "done") == ["check"]

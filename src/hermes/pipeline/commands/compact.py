"""`/compact`: sums up the older part of the conversation now, beside it."""

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.sessions.compaction_rules import rules_of
from hermes.texts.say import say, words

# The last exchange stays word for word; one before it is worth no summary.
_LEAST_EXCHANGES = 3
_COMING = words(
    "I sum up what we said before the last message, beside our conversation: just go on. "
    "Nothing is lost; the messages themselves stay in the history."
)


async def compact(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Have the older part of the conversation summed up."""
    if argument:
        return _said(say("/compact takes no text: it sums up what we said."), Outcome.REFUSED)
    if not rules_of(ctx.services.settings, turn.agent.key).on:
        return _said(say("Summing up is switched off here (compaction.enabled)."), Outcome.REFUSED)
    known = await ctx.services.store.transcripts.exchanges(
        turn.lane, epoch=turn.epoch, limit=_LEAST_EXCHANGES
    )
    if len(known) < _LEAST_EXCHANGES:
        return _said(say("There is nothing to sum up yet."))
    ctx.journal.note("compacts")
    return Reply(parts=(TextPart(say(_COMING)),), compacts=True)


def _said(text: str, outcome: Outcome = Outcome.ANSWERED) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=outcome)

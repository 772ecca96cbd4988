"""A thumb on an answer: kept with the call that wrote it, as what `hermes graph rate` keeps."""

from hermes.message.event import Reaction
from hermes.message.outcome import Outcome
from hermes.message.reply import Reply
from hermes.message.thumbs import thumb_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.steps import TimelineEvent

FEEDBACK = "feedback"


async def take_feedback(turn: Turn, ctx: TurnContext, reaction: Reaction) -> Reply:
    """Keep what a reaction says of an answer, or take it back; nobody is told."""
    source, store = turn.event.source, ctx.services.store
    posted = await store.offers.posted(source.platform, source.chat_id, reaction.message_id)
    thumb = thumb_of(reaction.emoji)
    if posted is None or thumb is None:
        return _ended("the message is not known any more")
    call = await _rated(turn, ctx, posted.message_id)
    if call is None:
        return _ended(f"no model wrote what {posted.message_id} was answered with")
    rating = "none" if reaction.is_removed else thumb
    ctx.journal.note(FEEDBACK, rating=rating, call=call)
    data = {"rating": rating, "by": turn.person_id}
    said = TimelineEvent(FEEDBACK, ctx.services.clock.now(), data)
    await store.inbox.note(posted.message_id, said)
    return _ended(f"a thumb for the answer to {posted.message_id}")


async def _rated(turn: Turn, ctx: TurnContext, message_id: str) -> str | None:
    """Rate the last call that wrote something for a message; return its id, or None."""
    store, reaction = ctx.services.store, turn.event.reaction
    thumb = None if reaction is None else thumb_of(reaction.emoji)
    if reaction is None or thumb is None:
        return None
    timeline = await store.timeline(message_id)
    steps = () if timeline is None else timeline.steps
    for step in reversed([one for one in steps if one.kind == "model"]):
        call = f"{message_id}.{step.ordinal}"
        if await store.transcripts.rate_call(
            call,
            "none" if reaction.is_removed else thumb,
            actor=f"person:{turn.person_id}",
            reason="",
            at=ctx.services.clock.now(),
            instead_of=thumb if reaction.is_removed else None,
        ):
            return call
    return None


def _ended(reason: str) -> Reply:
    return Reply(parts=(), silent=True, outcome=Outcome.ANSWERED, reason=reason)

"""`/link`: another account of the same person.

A program with a key gets no code: who reads it would be that person for good, also after the key ends.
"""

from typing import Final

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words

_NO_CODE: Final = words(
    "A program with a key gets no code. Write /link in a chat of yours, and send the "
    "code that you get there here, as /link CODE."
)


async def link(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Give a code to link another channel with, or link this one with a code."""
    if turn.event.key is not None and not argument:
        return Reply(
            parts=(TextPart(say(_NO_CODE)),),
            outcome=Outcome.REFUSED,
            reason="codes are not given to programs with a key",
            code="forbidden",
        )
    told = await ctx.services.reception.link(
        turn.event.source, argument, person_id=turn.person_id, message_id=turn.id
    )
    ctx.journal.note("link", result=told.reason)
    return Reply(parts=(TextPart(told.text or ""),), reason=told.reason)

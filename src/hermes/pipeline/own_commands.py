"""`/help`, `/whoami` and `/link`: commands that stand in the lane and need no model."""

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.admission import refusal_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.sessions.commands import ABOUT, parse_in_lane


async def answer_command(turn: Turn, ctx: TurnContext) -> Reply | None:
    """Return the answer to a command, or the refusal of one; None for whatever is left to others."""
    command = None if turn.event.internal else parse_in_lane(turn.event.text)
    if command is None:
        return None
    name, argument = command
    ctx.journal.note("command", name=name)
    refusal = refusal_of(name, turn, ctx)
    if refusal is not None:
        return refusal
    if name == "help":
        return _said(_help(turn, ctx))
    reception, source = ctx.services.reception, turn.event.source
    if name == "whoami":
        return _said(reception.whoami(source, turn.person_id))
    if name == "link":
        told = await reception.link(source, argument, person_id=turn.person_id, message_id=turn.id)
        ctx.journal.note("link", result=told.reason)
        return _said(told.text or "", reason=told.reason)
    return None


def _help(turn: Turn, ctx: TurnContext) -> str:
    source, reception = turn.event.source, ctx.services.reception
    lines = [
        f"/{name}: {about}" for name, about in ABOUT.items() if reception.may_use(name, source)
    ]
    return "\n".join(("Write to me as to anybody. These words do more:", *lines))


def _said(text: str, *, reason: str | None = None) -> Reply:
    return Reply(parts=(TextPart(text),), reason=reason)

"""Stage: the person's message as the model will see it, with what it has to know beside it.

What changes from turn to turn is a note at the end of the message, behind everything that stays.
"""

import msgspec

from hermes.memory.recall import RECALLED, Recalled
from hermes.memory.soul import CHANGED, changed_lines
from hermes.message.chat import ChatMessage
from hermes.message.parts import NotePart, Part, TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def build_messages(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its user message; in groups it carries the sender's name."""
    event = turn.event
    if turn.retry is not None:
        # The message stands in the conversation already, with what was told beside it.
        return turn
    parts: tuple[Part, ...] = event.parts
    if event.source.chat_type != "dm" and event.source.user_name:
        parts = (TextPart(f"[{event.source.user_name}] "), *parts)
    if not turn.is_personal:
        return msgspec.structs.replace(turn, user=ChatMessage("user", parts))
    recalled = await ctx.services.recall.of(turn.person_id, event.text)
    if recalled.why not in ("no_facts", "off"):
        ctx.journal.note("recall", why=recalled.why, facts=recalled.ids)
    note = _note(turn, ctx, recalled)
    if note:
        parts = (*parts, NotePart(note))
    return msgspec.structs.replace(
        turn, user=ChatMessage("user", parts), has_recalled=recalled.why == "recalled"
    )


def _note(turn: Turn, ctx: TurnContext, recalled: Recalled) -> str:
    """Return what the model is told beside the message, or nothing."""
    changed = changed_lines(turn.system, _notes(turn), facts=ctx.services.facts.of(turn.person_id))
    sections = []
    if changed:
        sections.append("\n".join((CHANGED, *changed)))
    if recalled.lines:
        sections.append("\n".join((RECALLED, *recalled.lines)))
    return "\n\n" + "\n\n".join(sections) if sections else ""


def _notes(turn: Turn) -> tuple[str, ...]:
    """Return the notes of this session that the model still sees."""
    return tuple(
        part.text
        for message in turn.history
        if len(message.parts) > 1
        for part in message.parts
        if isinstance(part, NotePart)
    )

"""Stage: the person's message as the model will see it."""

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part, TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def build_messages(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its user message; in groups it carries the sender's name."""
    event = turn.event
    parts: tuple[Part, ...] = event.parts
    if event.source.chat_type != "dm" and event.source.user_name:
        parts = (TextPart(f"[{event.source.user_name}] "), *parts)
    return msgspec.structs.replace(turn, user=ChatMessage("user", parts))

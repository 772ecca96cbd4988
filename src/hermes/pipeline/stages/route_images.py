"""Stage: images that a vision pipeline would answer itself. None is registered, so all pass on."""

from hermes.message.parts import ImagePart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def route_images(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Note on the timeline that images go to the model unchanged."""
    images = sum(isinstance(part, ImagePart) for part in turn.event.parts)
    if images:
        ctx.journal.note("images", count=images, intent="general")
    return turn

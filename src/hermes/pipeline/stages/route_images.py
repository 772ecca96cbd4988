"""Stage: what the message's pictures were sent for.

Only read here, off the caption and without any effect: a message without pictures, in a session
that has shown none lately, passes at once. What has to be done about them is done in `see_images`.
"""

from typing import Protocol

import msgspec

from hermes.message.reply import Reply
from hermes.pipeline.needs import HasVisions, StageContext, TimelineWriter
from hermes.pipeline.pending_images import earlier_pictures, has_pictures, own_pictures
from hermes.pipeline.turn import PendingImages, Turn
from hermes.tools.image_intents import GENERAL, ImageIntents, IntentMatch


class ImageRouteServices(HasVisions, Protocol):
    """What `route_images` uses: the rules of captions, and the plugins that answer pictures."""

    @property
    def image_intents(self) -> ImageIntents: ...


async def route_images(
    turn: Turn, ctx: StageContext[ImageRouteServices, TimelineWriter]
) -> Turn | Reply:
    """Give a turn with pictures its intent."""
    if not has_pictures(turn.event.parts, turn.history):
        return turn
    own = len(own_pictures(turn.event.parts))
    if not own and not earlier_pictures(turn.history):
        return turn
    told = ctx.services.image_intents.of(turn.event.text) if own else IntentMatch(GENERAL)
    if own:
        pipeline = told.intent if told.intent in ctx.services.visions else None
        ctx.journal.note(
            "images", count=own, intent=told.intent, rule=told.rule or None, pipeline=pipeline
        )
    pending_images = PendingImages(intent=told.intent, rule=told.rule, own=own)
    return msgspec.structs.replace(turn, pending_images=pending_images)

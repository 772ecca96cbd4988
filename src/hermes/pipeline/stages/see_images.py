"""Stage: the pictures of a turn, before its model is called.

A pipeline that is registered for their intent answers the message itself. Otherwise a model that
can see gets the pictures as they are, and one that cannot a description of them. Whatever it is, it
is kept in one step and not done again after a crash; a failure never ends the turn.
"""

from typing import Protocol

import msgspec

from hermes.errors import NoCredits, ProviderError, ProviderUnavailable, TryLater, TurnInterrupted
from hermes.message.chat import ChatMessage
from hermes.message.parts import ImagePart, TextPart
from hermes.message.reply import Reply
from hermes.pipeline.candidates import choose_model, freeze
from hermes.pipeline.image_descriptions import describe
from hermes.pipeline.needs import (
    HasPictureFiles,
    HasVisions,
    ModelJournal,
    ModelServices,
    StoppableContext,
)
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.pending_images import NOTHING, own_pictures, without_pending_images
from hermes.pipeline.replies import no_model, stopped_reply
from hermes.pipeline.turn import PendingImages, Turn
from hermes.pipeline.vision_calls import VisionCaller
from hermes.pipeline.vision_runs import VisionRun
from hermes.ports.upward import Progress

_encode = msgspec.json.Encoder().encode
_LOOKING = "Looking at the picture"


class ImageServices(ModelServices, HasVisions, HasPictureFiles, Protocol):
    """What `see_images` uses: models, the plugins that answer pictures, and the files of these."""


_Context = StoppableContext[ImageServices, ModelJournal]


async def see_images(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with its pictures dealt with, or the reply that ends it."""
    try:
        turn = await _planned(turn, ctx)
    except ProviderError as error:
        return no_model(turn, str(error))
    assert turn.pending_images is not None
    if not (turn.pending_images.blind or _may_be_answered(turn.pending_images, ctx)):
        return msgspec.structs.replace(turn, pending_images=None)
    looker = VisionCaller(turn, ctx)
    try:
        return await _see(turn, ctx, looker=looker)
    except TurnInterrupted:
        ended = stopped_reply(turn, "", by=ctx.interrupt.by or "")
        return msgspec.structs.replace(ended, usage=looker.usage)
    except NoCredits as error:
        return await no_credits_reply(turn, ctx, error)


async def _planned(turn: Turn, ctx: _Context) -> Turn:
    """Give the turn its plan; where no model can see, one that cannot will do."""
    pending_images = turn.pending_images
    assert pending_images is not None
    if pending_images.blind is not None:
        return turn
    try:
        turn = await choose_model(turn, ctx)
    except ProviderUnavailable:
        if not pending_images.own:
            raise
        pending_images = msgspec.structs.replace(pending_images, blind=True)
        return await choose_model(msgspec.structs.replace(turn, pending_images=pending_images), ctx)
    assert turn.plan is not None
    pending_images = msgspec.structs.replace(
        pending_images, blind=not ctx.services.planner.sees(turn.plan)
    )
    return msgspec.structs.replace(turn, pending_images=pending_images)


def _may_be_answered(pending_images: PendingImages, ctx: _Context) -> bool:
    """Return whether a pipeline is for the pictures, or a model has to be asked about that."""
    return bool(pending_images.own) and (
        pending_images.intent in ctx.services.visions or _is_asked(pending_images, ctx)
    )


def _is_asked(pending_images: PendingImages, ctx: _Context) -> bool:
    services = ctx.services
    return bool(services.settings.vision.ask_model and services.visions and not pending_images.rule)


async def _see(turn: Turn, ctx: _Context, *, looker: VisionCaller) -> Turn:
    pending_images = turn.pending_images
    assert pending_images is not None
    ctx.services.watch.publish(turn.id, Progress(kind="status", text=_LOOKING))
    ordinal = await ctx.journal.start(
        turn, "sight", name=pending_images.intent, prepared=freeze(turn, ctx)
    )
    kept = await _answered(turn, ctx, looker=looker) or NOTHING
    if kept is NOTHING and pending_images.blind:
        kept = await _described(turn, ctx, looker=looker)
    ctx.journal.end(ordinal, _encode(kept))
    turn = msgspec.structs.replace(
        without_pending_images(turn, kept, ordinal=ordinal), usage=turn.usage.plus(looker.usage)
    )
    if kept.role == "assistant":
        turn = msgspec.structs.replace(turn, model=looker.model)
    return turn


async def _answered(turn: Turn, ctx: _Context, *, looker: VisionCaller) -> ChatMessage | None:
    """Return the answer of the pipeline that is for the pictures; None where none answers."""
    pending_images = turn.pending_images
    if pending_images is None or not _may_be_answered(pending_images, ctx):
        return None
    intent = (
        await _asked(turn, ctx, looker=looker)
        if _is_asked(pending_images, ctx)
        else pending_images.intent
    )
    pipeline = ctx.services.visions.get(intent)
    if pipeline is None:
        return None
    pictures = _located(own_pictures(turn.event.parts), ctx)
    answer = await VisionRun(pipeline, looker, ctx=ctx).answer(turn, pictures)
    if not answer.strip():
        return None
    ctx.journal.note("vision_answered", pipeline=intent, model=looker.model)
    return ChatMessage("assistant", (TextPart(answer),))


def _located(pictures: tuple[ImagePart, ...], ctx: _Context) -> tuple[ImagePart, ...]:
    """Return pictures with the whole paths of their files."""
    media = ctx.services.media
    return pictures if media is None else tuple(map(media.located, pictures))


async def _asked(turn: Turn, ctx: _Context, *, looker: VisionCaller) -> str:
    """Return what a model takes the pictures to be sent for."""
    names = sorted(ctx.services.visions)
    prompt = (
        f"What is this picture sent for? Answer with one of these words only: {', '.join(names)}, or "
        f"none if no word fits. The message says: {turn.event.text[:500]!r}"
    )
    try:
        said = await looker.look(prompt, own_pictures(turn.event.parts))
    except (ProviderError, TryLater):
        return ""
    intent = said.strip().strip(".`'\"").lower()
    ctx.journal.note("image_intent", intent=intent if intent in names else "none", by=looker.model)
    return intent


async def _described(turn: Turn, ctx: _Context, *, looker: VisionCaller) -> ChatMessage:
    """Return the pictures in words."""
    described = await describe(
        turn,
        looker,
        most=ctx.services.settings.vision.max_pictures,
        locate=lambda pictures: _located(pictures, ctx),
    )
    ctx.journal.note(
        "described",
        count=described.count,
        seen=described.seen,
        by=looker.model if described.seen else None,
    )
    return described.kept

"""Stage: the attachments of a message become files here, before anything of the turn is frozen.

They are fetched side by side, bounded in number, size and time. One that cannot be had is a note to
the model and a word to the person, and the turn goes on; after a crash nothing that was frozen is
fetched again. Stopping a turn does not stop this: what was sent is to stand in the conversation.
"""

import asyncio
from typing import Final

import msgspec
import structlog

from hermes.errors import AnswerTooLarge, BadRequest, HermesError, NotFound, TooLarge
from hermes.message.file_name import safe_name
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, NotePart, Part
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.reply import Reply
from hermes.pipeline.needs import MediaFetcher, MediaServices, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.media import LocalMedia, MediaOwner
from hermes.texts.say import say, words

_ATTACHED: Final = (ImagePart, AudioPart, FilePart)
_Attached = ImagePart | AudioPart | FilePart
_TOO_MANY: Final = words("it is one too many")
_TOO_LARGE: Final = words("it is too large")
_GONE: Final = words("it is gone")
_LATE: Final = words("it did not come in time")
_FAILED: Final = words("it could not be fetched")
_log = structlog.get_logger(__name__)
_Context = StageContext[MediaServices, TimelineWriter]


class FetchedPart(msgspec.Struct, frozen=True):
    """The result for one part of a message: its replacement, and the note for the person."""

    parts: tuple[Part, ...]
    missed: str = ""


async def fetch_media(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn its attachments as files."""
    parts = turn.event.parts
    if not _has_attached(parts) or ctx.services.media is None:
        return turn
    had = await _all(parts, turn, ctx.services, most=_most(ctx.services, 1 + len(turn.joined)))
    missed = tuple(one.missed for one in had if one.missed)
    if missed:
        ctx.journal.note("media_missed", count=len(missed))
    event = msgspec.structs.replace(turn.event, parts=_together(had))
    own = turn.own
    if own is not None:
        # Those of the messages that joined stand behind its own.
        own = msgspec.structs.replace(own, parts=_together(had[: len(own.parts)]))
    return msgspec.structs.replace(turn, event=event, own=own, missed=_word(missed))


async def fetched(parts: tuple[Part, ...], turn: Turn, services: MediaServices) -> tuple[Part, ...]:
    """Return the parts of a message that joins a running turn, with files for attachments."""
    if not _has_attached(parts) or services.media is None:
        return parts
    return _together(await _all(parts, turn, services, most=_most(services, 1)))


def _most(services: MediaServices, messages: int) -> int:
    return services.settings.media.max_files * messages


def _has_attached(parts: tuple[Part, ...]) -> bool:
    return any(isinstance(part, _ATTACHED) for part in parts)


async def _all(
    parts: tuple[Part, ...], turn: Turn, services: MediaServices, *, most: int
) -> tuple[FetchedPart, ...]:
    """Return the outcome of each part."""
    media, limit_s = services.media, services.settings.media.timeout_s
    assert media is not None
    bringing: dict[int, asyncio.Task[FetchedPart]] = {}
    had: dict[int, FetchedPart] = {}
    for number, part in enumerate(parts):
        if not isinstance(part, _ATTACHED) or _is_here(part.media):
            had[number] = FetchedPart((part,))
        elif len(bringing) == most:
            had[number] = _missed(part, _TOO_MANY)
        else:
            bringing[number] = asyncio.create_task(_one(part, turn, media))
    try:
        if bringing:
            await asyncio.wait(bringing.values(), timeout=limit_s)
    finally:
        for task in bringing.values():
            task.cancel()
        await asyncio.gather(*bringing.values(), return_exceptions=True)
    for number, task in bringing.items():
        part = parts[number]
        assert isinstance(part, _ATTACHED)
        had[number] = _missed(part, _LATE) if task.cancelled() else task.result()
    return tuple(had[number] for number in range(len(parts)))


def _is_here(media: Media) -> bool:
    """Return whether an attachment came by value, and is kept with its message already."""
    return media.path is None and media.ref is None and (media.url or "")[:5].lower() == "data:"


async def _one(part: _Attached, turn: Turn, media: MediaFetcher) -> FetchedPart:
    owner = MediaOwner(turn.person_id, turn.id)
    try:
        brought = await media.bring(part.media, platform=turn.event.source.platform, owner=owner)
    except HermesError as error:
        _log.warning("media_missed", message_id=turn.id, problem=str(error), code=error.code)
        return _missed(part, _reason(error))
    # Boundary: a fault in a channel's code must not end the turn.
    except Exception:  # noqa: BLE001
        _log.exception("media_fault", message_id=turn.id)
        return _missed(part, _FAILED)
    return FetchedPart(_parts_for(part, brought))


def _reason(error: HermesError) -> str:
    """Return in words for people why an attachment cannot be had."""
    if isinstance(error, TooLarge | AnswerTooLarge):
        return _TOO_LARGE
    if isinstance(error, NotFound):
        return _GONE
    return str(error).rstrip(".") if isinstance(error, BadRequest) else _FAILED


def _parts_for(part: _Attached, brought: LocalMedia) -> tuple[Part, ...]:
    """Return the replacement for an attachment; its bytes decide its type, not its name."""
    media = brought.media
    if media.mime in PICTURE_KINDS:
        return (ImagePart(media),)
    if isinstance(part, AudioPart) and media.mime.startswith("audio/"):
        sound = msgspec.structs.replace(part, media=media)
        return (sound,) if part.transcript else (sound, NotePart(_unheard(brought)))
    return (FilePart(media), NotePart(f"\n[That file: {_told(media)}.]"))


def _unheard(brought: LocalMedia) -> str:
    length = "" if brought.seconds is None else f", {_clock(brought.seconds)} long"
    return (
        f"\n[A voice message that cannot be listened to here: {_told(brought.media)}{length}. If the "
        "answer depends on it, say so, and ask for it in writing.]"
    )


def _missed(part: _Attached, why: str) -> FetchedPart:
    name = _named(part)
    note = (
        f"\n[{name} was sent along and cannot be seen here: {why}. If the answer depends on it, say "
        "plainly that it is missing.]"
    )
    return FetchedPart((NotePart(note),), f"{name}: {say(why)}")


def _named(part: _Attached) -> str:
    name = safe_name(part.media.name)
    if name:
        return name
    if isinstance(part, ImagePart):
        return "a picture"
    return "a sound" if isinstance(part, AudioPart) else "a file"


def _told(media: Media) -> str:
    name = "" if media.name is None else f"{media.name}, "
    return f"{name}{media.mime}, {_size(media.size or 0)}"


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def _word(missed: tuple[str, ...]) -> str:
    return say("I could not open {missed}.", missed="; ".join(missed)) if missed else ""


def _together(had: tuple[FetchedPart, ...]) -> tuple[Part, ...]:
    return tuple(part for one in had for part in one.parts)

"""The attachments of an answer: what its MEDIA: lines name, opened where that is allowed.

What may not be sent is told in the answer's text and in the log, and nothing of it leaves. Addresses of
hosts that are not in `media.link_hosts` are shown as text: nobody fetches them unasked. Where
attachments cannot be sent, because the reply is asked for or the platform takes none, the text names
them instead.
"""

from typing import Final
from urllib.parse import urlsplit

import msgspec
import structlog

from hermes.errors import HermesError, Refused
from hermes.message.file_name import safe_name
from hermes.message.link_hosts import is_listed_link
from hermes.message.outcome import Outcome
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart, text_of
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.reply import Reply
from hermes.message.reply_tags import TAG, read_tags
from hermes.message.thoughts import without_thoughts
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.channel import MediaKind
from hermes.ports.media import MediaOwner
from hermes.texts.say import say, words

_TOO_MANY: Final = words("it is one too many")
_NOT_NOW: Final = words("it could not be read just now")
_SHOWN: Final = 80
_log = structlog.get_logger(__name__)


async def with_attachments(reply: Reply, turn: Turn, ctx: TurnContext) -> Reply:
    """Return an answer with the attachments that it names; one that names none is returned as it is."""
    media = ctx.services.media
    if reply.outcome is not Outcome.ANSWERED or not reply.earned or media is None:
        return reply
    if not any(TAG in part.text for part in reply.parts if isinstance(part, TextPart)):
        return reply
    tagged = read_tags(without_thoughts(text_of(reply.parts)))
    if not tagged.places:
        return reply
    settings = ctx.services.settings.media
    most = settings.max_files
    kinds = _takes(turn, ctx)
    lines: list[str] = []
    parts: list[Part] = []
    for place in tagged.places[:most]:
        part = await _lent(place, turn, ctx, lines=lines)
        if part is not None and _kind(part) in kinds:
            url = part.media.url
            if url is None or is_listed_link(url, settings.link_hosts):
                parts.append(part)
            else:
                lines.append(_not_fetched(url, turn, ctx))
        elif part is not None:
            lines.append(_named(part.media))
    lines += [_refused(place, say(_TOO_MANY)) for place in tagged.places[most:]]
    ctx.journal.note("attached", sent=len(parts), named=len(lines))
    return msgspec.structs.replace(reply, parts=(*_texts(tagged.text, lines), *parts))


def _texts(text: str, lines: list[str]) -> tuple[Part, ...]:
    """Return the text, and what is said of attachments as a part of its own: it is never cut."""
    said = "\n".join(lines)
    between = "\n\n" if text and said else ""
    return tuple(TextPart(piece) for piece in (text, between + said) if piece)


def _takes(turn: Turn, ctx: TurnContext) -> tuple[MediaKind, ...]:
    """Return what can be attached to the reply of a turn, where it goes."""
    event = turn.event
    is_elsewhere = event.scheduled is not None and bool(event.scheduled.target)
    if is_elsewhere or event.internal or ctx.services.media is None:
        return ()
    return ctx.services.media.takes(event.source.platform)


async def _lent(
    place: str, turn: Turn, ctx: TurnContext, *, lines: list[str]
) -> ImagePart | AudioPart | FilePart | None:
    """Return what a place names as a part, or None with a line that says why not."""
    assert ctx.services.media is not None
    try:
        media = await ctx.services.media.lend(place, owner=MediaOwner(turn.person_id, turn.id))
    except HermesError as error:
        _log.warning("media_refused", message_id=turn.id, place=place[:200], problem=str(error))
        lines.append(_refused(place, str(error) if isinstance(error, Refused) else say(_NOT_NOW)))
        return None
    if media.mime in PICTURE_KINDS:
        return ImagePart(media)
    return AudioPart(media) if media.mime.startswith("audio/") else FilePart(media)


def _not_fetched(url: str, turn: Turn, ctx: TurnContext) -> str:
    """Return an address as text, noting that it was not fetched; the log names only its host."""
    host = urlsplit(url).hostname or ""
    _log.info("media_link_not_fetched", message_id=turn.id, host=host)
    ctx.journal.note("link_not_fetched", host=host, setting="media.link_hosts")
    return url


def _kind(part: ImagePart | AudioPart | FilePart) -> MediaKind:
    if isinstance(part, ImagePart):
        return "image"
    if isinstance(part, AudioPart):
        return "audio"
    return "video" if part.media.mime.startswith("video/") else "file"


def _named(media: Media) -> str:
    """Return an attachment as a line of text."""
    if media.url is not None:
        target = media.url.replace("(", "%28").replace(")", "%29")
        return f"[{media.name or 'attachment'}]({target})"
    return (
        say("(A file that cannot be sent here: {name})", name=media.name)
        if media.name
        else say("(A file without a name that cannot be sent here)")
    )


def _refused(place: str, why: str) -> str:
    name = safe_name(place) or say("a file")
    return say("({name} was not sent: {reason}.)", name=name[:_SHOWN], reason=why.rstrip("."))

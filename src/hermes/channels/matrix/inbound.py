"""Converts events of a room to `MessageEvent`s. Pure.

Edits, redactions and the bot's own messages are not new messages and give nothing.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote

import msgspec

from hermes.channel_kit.events import is_command, sent_at
from hermes.channels.matrix.encryption.attachments import secret_of
from hermes.channels.matrix.rooms import localpart
from hermes.channels.matrix.wire import WireEvent
from hermes.errors import BadRequest
from hermes.message.event import NO_RAW, EventType, MessageEvent, Reaction, ReplyContext
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.source import Source

ROUTE: Final = "sync"
# Marks a sound as spoken to the reader.
VOICE: Final = "org.matrix.msc3245.voice"
_MAX_ID = 255
_EMOJI_CHARS = 32
_MAX_SIZE = 1 << 53
_TEXTS = frozenset({"m.text", "m.notice", "m.emote"})
_ATTACHED: Final[Mapping[str, tuple[Literal["image", "audio", "video", "file"], str]]] = {
    "m.image": ("image", "image/jpeg"),
    "m.audio": ("audio", "audio/ogg"),
    "m.video": ("video", "video/mp4"),
    "m.file": ("file", "application/octet-stream"),
}
_MIME = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}")
_MXC = re.compile(r"mxc://([A-Za-z0-9.\-:\[\]]{1,255})/([A-Za-z0-9_\-]{1,255})(?:#([\w.-]{110}))?")
_PILL = re.compile(r"https://matrix\.to/#/([^\s\"'<>?]{1,600})")
_OLD_QUOTE = re.compile(r"> <(@[^>\s]{1,255})> ?(.*)")
_COMMAND = re.compile(r"[/!]([A-Za-z][\w-]*)(?:@(\S+))?(?=\s|$)")
_QUOTED_CHARS = 2000


class Bot(msgspec.Struct, frozen=True):
    """The bot's id and its display name."""

    user_id: str
    name: str = ""


class QuotedMessage(msgspec.Struct, frozen=True):
    """An earlier message that is answered, as far as it is known."""

    sender: str
    text: str = ""


class EventRoom(msgspec.Struct, frozen=True, kw_only=True):
    """The room of an event, and the sender's name there."""

    room_id: str
    is_direct: bool
    name: str | None = None
    topic: str | None = None
    user_name: str | None = None


def is_message(event: WireEvent, own: str) -> bool:
    """Return whether an event is a new message of somebody else."""
    if event.type != "m.room.message" or event.sender == own or event.state_key is not None:
        return False
    return bool(event.content) and relation_of(event.content).get("rel_type") != "m.replace"


def answered_id(event: WireEvent) -> str | None:
    """Return the id of the message that an event actually answers."""
    relation = relation_of(event.content)
    # In a thread, clients name the previous message as the answered one, for clients without
    # threads.
    if relation.get("rel_type") == "m.thread" and relation.get("is_falling_back") is True:
        return None
    found = _table(relation, "m.in_reply_to").get("event_id")
    return found if _is_id(found, "$") else None


def to_event(
    event: WireEvent,
    place: EventRoom,
    *,
    bot: Bot,
    account: str,
    now: float,
    quoted: QuotedMessage | None = None,
    raw: msgspec.Raw = NO_RAW,
) -> MessageEvent | None:
    """Return the event; None if it is not a message; raise `BadRequest` if it cannot be read."""
    if not is_message(event, bot.user_id):
        return None
    if not _is_id(event.event_id, "$") or not _is_id(event.sender, "@"):
        raise BadRequest("matrix: an event has no proper id or sender")
    kind = event.content.get("msgtype")
    body = event.content.get("body")
    if not isinstance(kind, str) or not isinstance(body, str):
        raise BadRequest("matrix: a message has no msgtype or no body")
    answered = answered_id(event)
    if answered is not None:
        body, old = without_quote(body)
        quoted = quoted or old
    names = _names(bot)
    is_named = _names_bot(event.content, body, bot=bot)
    parts, said_as = _parts(event, kind, without_name(body, names), place=place)
    if not parts:
        return None
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=event.event_id,
        source=_source(event, place, is_bot=kind == "m.notice"),
        parts=parts,
        at=sent_at(event.origin_server_ts, now=now),
        type=said_as,
        reply_to=None if answered is None else _context(answered, quoted),
        addressed=place.is_direct
        or is_named
        or (quoted is not None and quoted.sender == bot.user_id),
        raw=raw,
    )


def annotation_of(event: WireEvent) -> Reaction | None:
    """Return what somebody put on a message; None if it is not an emoji on one."""
    relation = relation_of(event.content)
    emoji, message_id = relation.get("key"), relation.get("event_id")
    if event.type != "m.reaction" or relation.get("rel_type") != "m.annotation":
        return None
    if not isinstance(emoji, str) or not isinstance(message_id, str) or not _is_id(message_id, "$"):
        return None
    return Reaction(message_id=message_id, emoji=emoji) if 0 < len(emoji) <= _EMOJI_CHARS else None


def redacted_id(event: WireEvent) -> str | None:
    """Return the id of the event that a redaction deletes; older rooms name it beside the content."""
    found = event.content.get("redacts", event.redacts)
    return found if event.type == "m.room.redaction" and isinstance(found, str) else None


def reaction_event(
    event: WireEvent,
    place: EventRoom,
    reaction: Reaction,
    *,
    account: str,
    now: float,
    user_id: str,
) -> MessageEvent:
    """Return the event of a reaction of `user_id` that an event has put or taken away."""
    told = msgspec.structs.replace(event, sender=user_id)
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=event.event_id,
        source=_source(told, place, is_bot=False),
        parts=(),
        at=sent_at(event.origin_server_ts, now=now),
        type="reaction",
        reaction=reaction,
    )


def relation_of(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how an event relates to another."""
    return _table(content, "m.relates_to")


def plain_body(event: WireEvent) -> str:
    """Return the text of a quoted message, in its latest version."""
    edit = _table(_table(event.unsigned, "m.relations"), "m.replace")
    new = _table(_table(edit, "content"), "m.new_content").get("body")
    body = new if isinstance(new, str) else event.content.get("body")
    text = without_quote(body)[0] if isinstance(body, str) else ""
    return text[:_QUOTED_CHARS]


def without_quote(body: str) -> tuple[str, QuotedMessage | None]:
    """Return a reply without the old-style quotation above it, and the quoted text."""
    lines = body.split("\n")
    first = _OLD_QUOTE.match(lines[0])
    if first is None:
        return body, None
    count = next((i for i, line in enumerate(lines) if not line.startswith(">")), len(lines))
    told = "\n".join([first[2], *(line[1:].removeprefix(" ") for line in lines[1:count])])
    rest = lines[count:]
    if rest and not rest[0].strip():
        rest = rest[1:]
    return "\n".join(rest), QuotedMessage(first[1], told[:_QUOTED_CHARS])


def without_name(body: str, names: tuple[str, ...]) -> str:
    """Return a text without the bot's name in front, and a command in its usual form."""
    text = body.strip()
    for name in names:
        start = re.match(rf"@?{re.escape(name)}(?:[:,]\s*|\s+)(?=\S)", text, re.IGNORECASE)
        if start is not None:
            text = text[start.end() :]
            break
    command = _COMMAND.match(text)
    if command is None or not _is_for(command[2], names):
        return text
    return f"/{command[1]}{text[command.end() :]}"


def media_place(ref: str | None) -> tuple[str, str, str] | None:
    """Return the server and the id in an mxc address, and what opens it; None if it is not one."""
    found = _MXC.fullmatch(ref or "")
    return None if found is None else (found[1], found[2], found[3] or "")


def _is_for(name: str | None, names: tuple[str, ...]) -> bool:
    return name is None or name.casefold() in {one.casefold().removeprefix("@") for one in names}


def _names(bot: Bot) -> tuple[str, ...]:
    """Return the names that the bot answers to, longest first."""
    known = (bot.user_id, bot.user_id.removeprefix("@"), bot.name, localpart(bot.user_id))
    return tuple(sorted({name for name in known if name.strip()}, key=lambda one: (-len(one), one)))


def _names_bot(content: Mapping[str, Any], body: str, *, bot: Bot) -> bool:
    named = _table(content, "m.mentions").get("user_ids")
    if isinstance(named, list) and bot.user_id in named:
        return True
    html = content.get("formatted_body")
    if isinstance(html, str):
        pills = (unquote(found[1]) for found in _PILL.finditer(html))
        if any(pill == bot.user_id for pill in pills):
            return True
    return any(_has_word(body, name) for name in _names(bot))


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _source(event: WireEvent, place: EventRoom, *, is_bot: bool) -> Source:
    relation = relation_of(event.content)
    root = relation.get("event_id") if relation.get("rel_type") == "m.thread" else None
    thread = root if _is_id(root, "$") else None
    kind: Literal["dm", "group", "thread"] = "dm" if place.is_direct else "group"
    return Source(
        platform="matrix",
        chat_id=place.room_id,
        chat_type=kind if thread is None or place.is_direct else "thread",
        chat_name=place.name,
        chat_topic=place.topic,
        user_id=event.sender,
        user_name=place.user_name or localpart(event.sender),
        thread_id=thread,
        is_bot=is_bot,
        parent_chat_id=place.room_id if thread is not None else None,
    )


def _parts(
    event: WireEvent, kind: str, text: str, *, place: EventRoom
) -> tuple[tuple[Part, ...], EventType]:
    content = event.content
    if kind in _TEXTS:
        if kind == "m.emote":
            text = f"* {place.user_name or localpart(event.sender)} {text}"
        return _said(text), "command" if is_command(text) else "text"
    if kind in _ATTACHED:
        attached = _attached(content, kind, text)
        return attached, _ATTACHED[kind][0] if attached else "text"
    if kind == "m.location":
        uri = content.get("geo_uri")
        where = f"{text} ({uri})" if isinstance(uri, str) else text
        return _said(where), "location"
    # An unknown message type has a body that describes it, for clients that do not know it.
    return _said(text), "text"


def _said(text: str) -> tuple[Part, ...]:
    return (TextPart(text),) if text.strip() else ()


def _attached(content: Mapping[str, Any], kind: str, text: str) -> tuple[Part, ...]:
    """Return an attachment, after its caption: with a file name, the body is a caption."""
    said_as, usual = _ATTACHED[kind]
    file = _table(content, "file")
    ref = content.get("url")
    if file:
        ref = f"{file.get('url')}#{secret_of(dict(file))}"
    if not isinstance(ref, str) or media_place(ref) is None:
        raise BadRequest("matrix: an attachment has no mxc address that could be fetched")
    info = _table(content, "info")
    mime, name = info.get("mimetype"), content.get("filename")
    body = content["body"]
    media = Media(
        mime if isinstance(mime, str) and _MIME.fullmatch(mime) else usual,
        name=(name if isinstance(name, str) and name else body)[:_MAX_ID] or None,
        size=_size(info.get("size")),
        ref=ref,
    )
    part: Part = FilePart(media)
    if said_as == "image":
        part = ImagePart(media)
    elif said_as == "audio":
        part = AudioPart(media, is_voice=VOICE in content)
    has_caption = isinstance(name, str) and name != body and bool(text.strip())
    return (TextPart(text), part) if has_caption else (part,)


def _context(answered: str, quoted: QuotedMessage | None) -> ReplyContext:
    if quoted is None:
        return ReplyContext(message_id=answered)
    return ReplyContext(message_id=answered, text=quoted.text or None, user_id=quoted.sender)


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}


def _is_id(value: object, sigil: str) -> bool:
    return isinstance(value, str) and value.startswith(sigil) and 1 < len(value) <= _MAX_ID


def _size(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 0 <= value < _MAX_SIZE else None

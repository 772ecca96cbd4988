"""Converts calls of WhatsApp's webhook to messages, proofs of arrival and failures. Pure.

One call holds several messages, of several people. What cannot be read of it is passed over: it would
not be readable the next time either, and the rest must not wait for it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from hermes.channel_kit.bodies import decode_any, objects_at, text_at
from hermes.channel_kit.events import event_type, part_of, raw_of, sent_at
from hermes.channels.meta.client import Json
from hermes.message.event import MessageEvent, PressedChoice, Reaction, ReplyContext
from hermes.message.parts import AudioPart, Media, Part, TextPart
from hermes.message.source import Source

ROUTE: Final = "webhook"
_MOST_BYTES: Final = 3 << 20
_MOST_DEPTH: Final = 64
_MOST_CARDS: Final = 20
_SCOPED: Final = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
_BETWEEN: Final = re.compile(r"[\s().+-]")
_NUMBER: Final = re.compile(r"[0-9]{5,20}")
_NUMBERED: Final = frozenset({"", "c.us", "s.whatsapp.net"})
_FILES: Final = ("image", "audio", "video", "document", "sticker")
_ARRIVED: Final = frozenset({"sent", "delivered"})


class SendProof(msgspec.Struct, frozen=True):
    """What the platform says of a message of ours: that it arrived, or the code of why it did not."""

    key: str
    message_id: str
    failed: str = ""


class HeardMessage(msgspec.Struct, frozen=True):
    """A message of a person, and all ids of that person, the one of the event first."""

    event: MessageEvent
    ids: tuple[str, ...]


class IdChange(msgspec.Struct, frozen=True, kw_only=True):
    """A person has other ids from now on; `id` is that of the message that tells it, `at` its time."""

    id: str
    at: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class MetaCall(msgspec.Struct, frozen=True, kw_only=True):
    """What one call holds."""

    heard: tuple[HeardMessage, ...] = ()
    proofs: tuple[SendProof, ...] = ()
    changes: tuple[IdChange, ...] = ()


class CallReader(msgspec.Struct, frozen=True, kw_only=True):
    """Whose calls are read: those to the account `own_id` (any, if it is empty), at this time."""

    platform: str
    account: str
    own_id: str
    now: float


def canonical_id(name: str) -> str:
    """Return the one form of a person's id: digits, or an id of another kind as it is.

    A number may be written as people do, or as that of a linked device (`491@s.whatsapp.net`,
    `491:7@c.us`); hidden ids (`491@lid`) and business-scoped ones (`DE.123`) are no numbers.
    """
    local, _, domain = name.strip().partition("@")
    device = local.partition(":")[0] if domain else local
    digits = _BETWEEN.sub("", device)
    if domain.lower() in _NUMBERED and _NUMBER.fullmatch(digits):
        return digits
    return f"{device}@lid" if domain.lower() == "lid" else name.strip()


def is_scoped(chat_id: str) -> bool:
    """Return whether an id is a business-scoped one, which is no number."""
    return _SCOPED.fullmatch(chat_id) is not None


def scoped_of(ids: Sequence[str]) -> str | None:
    """Return the business-scoped one of a person's ids, which is given to nobody else."""
    return next((one for one in ids if is_scoped(one)), None)


def read_body(body: bytes) -> Json:
    """Return the object of a call."""
    found = decode_any(body, most_bytes=_MOST_BYTES, most_depth=_MOST_DEPTH)
    return found if isinstance(found, dict) else {}


def read_whatsapp(body: bytes, reader: CallReader) -> MetaCall:
    """Return what a call of WhatsApp holds; messages of groups are none of ours."""
    heard: list[HeardMessage] = []
    proofs: list[SendProof] = []
    changes: list[IdChange] = []
    for value in _values(read_body(body), reader.own_id):
        proofs += _proofs(value)
        people = objects_at(value, "contacts")
        for message in objects_at(value, "messages"):
            ids, name = _person(message, people)
            if not ids or text_at(message, "group_id"):
                continue
            if "system" in message:
                told = (text_at(message, f"system.{name}") for name in ("wa_id", "user_id"))
                after = tuple(canonical_id(one) for one in told if one)
                named = {"id": text_at(message, "id"), "at": text_at(message, "timestamp")}
                changes += [IdChange(**named, before=ids, after=after)] if after else []
            elif (event := _event(message, ids, name=name, reader=reader)) is not None:
                heard.append(HeardMessage(event, ids))
    return MetaCall(heard=tuple(heard), proofs=tuple(proofs), changes=tuple(changes))


def _values(found: Json, own_id: str) -> Iterator[Json]:
    for entry in objects_at(found, "entry"):
        for change in objects_at(entry, "changes"):
            value = change.get("value")
            if change.get("field") != "messages" or not isinstance(value, dict):
                continue
            if own_id in ("", text_at(value, "metadata.phone_number_id")):
                yield value


def _proofs(value: Json) -> Iterator[SendProof]:
    for status in objects_at(value, "statuses"):
        key, state = text_at(status, "biz_opaque_callback_data"), text_at(status, "status")
        if key and state in _ARRIVED:
            yield SendProof(key, text_at(status, "id"))
        elif key and state == "failed":
            yield SendProof(
                key, text_at(status, "id"), text_at(status, "errors.0.code") or "failed"
            )


def _person(message: Json, people: list[Json]) -> tuple[tuple[str, ...], str | None]:
    """Return the ids of who wrote, the number first, and their name."""
    sender, scoped = text_at(message, "from"), text_at(message, "from_user_id")
    shown = (text_at(one, "wa_id") for one in people)
    known = next(
        (
            one
            for one, wa_id in zip(people, shown, strict=True)
            if (sender and wa_id == sender) or (scoped and text_at(one, "user_id") == scoped)
        ),
        people[0] if len(people) == 1 else {},
    )
    numbers = sender or text_at(known, "wa_id"), scoped or text_at(known, "user_id")
    ids = tuple(dict.fromkeys(canonical_id(one) for one in numbers if one))
    return ids, text_at(known, "profile.name") or None


def _event(
    message: Json, ids: tuple[str, ...], *, name: str | None, reader: CallReader
) -> MessageEvent | None:
    message_id, parts = text_at(message, "id"), _parts(message)
    pressed, reaction = _pressed(message), _reaction(message)
    if not message_id or not (parts or pressed or reaction):
        return None
    kind = "choice" if pressed else "reaction" if reaction else event_type(parts)
    context = text_at(message, "context.id")
    stamp = text_at(message, "timestamp")
    return MessageEvent(
        account=reader.account,
        route=ROUTE,
        external_id=message_id,
        source=Source(
            platform=reader.platform,
            chat_id=ids[0],
            user_id=ids[0],
            user_name=name,
            user_id_alt=ids[1] if len(ids) > 1 else None,
        ),
        parts=parts,
        at=sent_at(float(stamp) if stamp.isdecimal() else None, now=reader.now),
        type="location" if "location" in message else kind,
        reply_to=ReplyContext(message_id=context) if context and not pressed else None,
        pressed=pressed,
        reaction=reaction,
        raw=raw_of(message),
    )


def _parts(message: Json) -> tuple[Part, ...]:
    """Return what a message says; nothing for what cannot be shown to a model."""
    kind = next((kind for kind in _FILES if text_at(message, f"{kind}.id")), "")
    said = text_at(message, f"{kind}.caption") if kind else text_at(message, "text.body")
    lines = [said or text_at(message, "button.text")]
    if isinstance(message.get("location"), dict):
        place = [text_at(message, f"location.{name}") for name in ("name", "address")]
        at = [message["location"].get(name) for name in ("latitude", "longitude")]
        lines.append(f"Location: {', '.join(filter(None, place))} {at[0]}, {at[1]}")
    for card in objects_at(message, "contacts", most=_MOST_CARDS):
        numbers = ", ".join(text_at(one, "phone") for one in objects_at(card, "phones", most=5))
        lines.append(f"Contact: {text_at(card, 'name.formatted_name')} {numbers}")
    text = "\n".join(filter(None, lines))
    parts: tuple[Part, ...] = (TextPart(text),) if text else ()
    return (*parts, _attachment(message[kind], kind)) if kind else parts


def _attachment(file: Json, kind: str) -> Part:
    mime = text_at(file, "mime_type") or "application/octet-stream"
    media = Media(mime, name=text_at(file, "filename") or None, ref=text_at(file, "id"))
    return (
        AudioPart(media, is_voice=file.get("voice") is True) if kind == "audio" else part_of(media)
    )


def _pressed(message: Json) -> PressedChoice | None:
    values = (text_at(message, f"interactive.{kind}.id") for kind in ("button_reply", "list_reply"))
    value = next(filter(None, values), "")
    about = text_at(message, "context.id")
    return PressedChoice(value=value, message_id=about) if value else None


def _reaction(message: Json) -> Reaction | None:
    about, emoji = text_at(message, "reaction.message_id"), text_at(message, "reaction.emoji")
    return Reaction(message_id=about, emoji=emoji, is_removed=not emoji) if about else None

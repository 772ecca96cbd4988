"""Converts Twilio's calls to messages, and to what became of messages of ours. Pure.

STOP and its like are answered by the carrier; Hermes is told of them, and writes to that person no more
until they write START.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from hermes.channel_kit.events import event_type, part_of, raw_of
from hermes.errors import BadRequest
from hermes.message.event import MessageEvent
from hermes.message.parts import Media, Part, TextPart
from hermes.message.source import Source

PLATFORM: Final = "sms"
ROUTE: Final = "webhook"
_NUMBER: Final = re.compile(r"\+?[0-9]{3,16}")
_SID: Final = re.compile(r"[A-Z]{2}[0-9a-fA-F]{32}")
_BETWEEN: Final = re.compile(r"[\s().-]")
_MOST_FILES: Final = 10
_STOPS: Final = frozenset(
    {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
)
_STARTS: Final = frozenset({"START", "UNSTOP", "YES"})
_HELP: Final = frozenset({"HELP", "INFO"})

Consent = Literal["stop", "start", "help", ""]


class SmsStatus(msgspec.Struct, frozen=True):
    """What became of a message of ours; `error` is Twilio's code, if it failed."""

    state: str
    sid: str
    error: str


def canonical_number(name: str) -> str:
    """Return a number as Twilio writes it: `+` and digits; short codes and anything else as they are."""
    bare = _BETWEEN.sub("", name.strip())
    if bare.startswith("00"):
        bare = f"+{bare[2:]}"
    is_long = bare.isascii() and bare.isdecimal() and len(bare) > 7
    return f"+{bare}" if is_long else bare


def status_of(fields: Mapping[str, str]) -> SmsStatus | None:
    """Return what a status callback says; None for any other call."""
    state = fields.get("MessageStatus", "")
    if not state:
        return None
    return SmsStatus(state, fields.get("MessageSid", ""), fields.get("ErrorCode", "")[:10])


def consent_of(fields: Mapping[str, str]) -> Consent:
    """Return whether a message is about being written to at all: Twilio's word, or the usual ones."""
    told = fields.get("OptOutType", "").upper()
    word = told or fields.get("Body", "").strip().upper()
    if word in _STOPS:
        return "stop"
    # `YES` is an answer to many questions: it counts only if Twilio says so.
    if word in _STARTS and (told or word != "YES"):
        return "start"
    return "help" if word in _HELP else ""


def to_event(
    fields: Mapping[str, str], *, account: str, own_numbers: frozenset[str], now: float
) -> MessageEvent | None:
    """Return a message as an event; None for one from a number of ours or without content."""
    sid, sender = fields.get("MessageSid", ""), canonical_number(fields.get("From", ""))
    if not _SID.fullmatch(sid) or not _NUMBER.fullmatch(sender):
        raise BadRequest("twilio sent a message without a MessageSid and a number in From")
    parts = _parts(fields)
    if sender in own_numbers or not parts:
        return None
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=sid,
        source=Source(platform=PLATFORM, chat_id=sender, user_id=sender),
        parts=parts,
        at=now,
        type=event_type(parts),
        raw=raw_of(dict(fields)),
    )


def _parts(fields: Mapping[str, str]) -> tuple[Part, ...]:
    text, count = fields.get("Body", ""), fields.get("NumMedia", "0")
    parts: list[Part] = [TextPart(text)] if text.strip() else []
    # More digits than the bound has are more files than it allows, too.
    number = int(count) if count.isascii() and count.isdecimal() and len(count) < 4 else 0
    for place in range(min(number, _MOST_FILES)):
        url = fields.get(f"MediaUrl{place}", "")
        mime = fields.get(f"MediaContentType{place}") or "application/octet-stream"
        if url:
            parts.append(part_of(Media(mime, ref=url)))
    return tuple(parts)

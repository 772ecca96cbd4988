"""Converts the page's requests to events. Pure."""

import re
from typing import Annotated
from urllib.parse import parse_qsl

import msgspec

from hermes.errors import BadRequest
from hermes.http.conversation import STOP
from hermes.http.json_body import JsonBody
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.owner import WEB_OWNER
from hermes.message.parts import Part, TextPart
from hermes.message.source import Source

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
LongText = Annotated[str, msgspec.Meta(max_length=100_000)]

# Everyone who has signed in is the same person here.
OWNER = WEB_OWNER[1]
_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?:\s|$)")


class WebMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person wrote; the page makes `id`, so a repeated request is the same message.

    A `temporary` one belongs to a conversation without memory. One with files needs no text.
    It may take the place of an earlier message, which it `replaces`.
    """

    conversation: ShortText
    id: ShortText
    text: LongText = ""
    temporary: bool = False
    replaces: Annotated[str, msgspec.Meta(max_length=200)] = ""


class StopRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to stop the running turn of a conversation."""

    conversation: ShortText


class TokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pasted token."""

    token: ShortText


_message = JsonBody(WebMessage)
_stop = JsonBody(StopRequest)
_token = JsonBody(TokenForm)


def read_message(raw: bytes, *, has_files: bool = False) -> WebMessage:
    """Return the message in a JSON body; raises `BadRequest`."""
    message = _message.decode(raw)
    if not message.text.strip() and not has_files:
        raise BadRequest("The message is empty: write something first.")
    return message


def read_stop(raw: bytes) -> StopRequest:
    """Return the stop request in a body; raises `BadRequest`."""
    return _stop.decode(raw)


def read_token(raw: bytes, *, is_form: bool) -> str:
    """Return the token in a sign-in body, JSON or form; raises `BadRequest`."""
    if not is_form:
        return _token.decode(raw).token.strip()
    fields = dict(parse_qsl(raw.decode("latin-1")))
    return fields.get("token", "").strip()


def to_event(message: WebMessage, *, now: float, attached: tuple[Part, ...] = ()) -> MessageEvent:
    """Return the message as an event; `attached` are its files."""
    event = _event(message.conversation, message.text, external_id=message.id, now=now)
    parts = (*(event.parts if message.text.strip() else ()), *attached)
    return msgspec.structs.replace(
        event, parts=parts, is_temporary=message.temporary, replaces=message.replaces
    )


def to_stop_event(stop: StopRequest, *, now: float, make_id: MakeId) -> MessageEvent:
    """Return the stop as a command in the same conversation."""
    return _event(stop.conversation, STOP, external_id=make_id("x"), now=now)


def _event(conversation: str, text: str, *, external_id: str, now: float) -> MessageEvent:
    return MessageEvent(
        account="default",
        route="web",
        external_id=external_id,
        source=Source(platform="web", chat_id=conversation, user_id=OWNER),
        parts=(TextPart(text),),
        at=now,
        type="command" if _COMMAND.match(text) else "text",
        denies_approval=True,
    )

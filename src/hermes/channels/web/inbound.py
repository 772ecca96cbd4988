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

_OWNER = WEB_OWNER[1]
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


class SessionEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to end one of the person's own browser sessions, or all others if none is named."""

    id: Annotated[str, msgspec.Meta(max_length=200)] = ""


class TokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pasted token, or the code of an invitation."""

    token: ShortText


_message = JsonBody(WebMessage)
_stop = JsonBody(StopRequest)
_token = JsonBody(TokenForm)
_end = JsonBody(SessionEnd)


def read_message(raw: bytes, *, has_files: bool = False) -> WebMessage:
    """Return the message in a JSON body; raises `BadRequest`."""
    message = _message.decode(raw)
    if not message.text.strip() and not has_files:
        raise BadRequest("The message is empty: write something first.")
    return message


def read_stop(raw: bytes) -> StopRequest:
    """Return the stop request in a body; raises `BadRequest`."""
    return _stop.decode(raw)


def read_session_end(raw: bytes) -> SessionEnd:
    """Return which sessions shall end; raises `BadRequest`."""
    return _end.decode(raw)


def read_token(raw: bytes, *, is_form: bool) -> str:
    """Return the token in a sign-in body, JSON or form; raises `BadRequest`."""
    if not is_form:
        return _token.decode(raw).token.strip()
    fields = dict(parse_qsl(raw.decode("latin-1")))
    return fields.get("token", "").strip()


def to_event(
    message: WebMessage, *, user: str, now: float, attached: tuple[Part, ...] = ()
) -> MessageEvent:
    """Return the message as an event; `user` is who is signed in, `attached` are its files."""
    event = _event(message.conversation, message.text, user=user, name=message.id, now=now)
    parts = (*(event.parts if message.text.strip() else ()), *attached)
    return msgspec.structs.replace(
        event, parts=parts, is_temporary=message.temporary, replaces=message.replaces
    )


def to_stop_event(stop: StopRequest, *, user: str, now: float, make_id: MakeId) -> MessageEvent:
    """Return the stop as a command in the same conversation."""
    return _event(stop.conversation, STOP, user=user, name=make_id("x"), now=now)


def _event(conversation: str, text: str, *, user: str, name: str, now: float) -> MessageEvent:
    # A message of the same name by somebody else is another one; no user has a colon.
    external_id = name if user == _OWNER else f"{user}:{name}"
    return MessageEvent(
        account="default",
        route="web",
        external_id=external_id,
        source=Source(platform="web", chat_id=conversation, user_id=user),
        parts=(TextPart(text),),
        at=now,
        type="command" if _COMMAND.match(text) else "text",
        denies_approval=True,
    )

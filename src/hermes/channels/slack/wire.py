"""The shapes of what Slack sends: events, commands, pressed buttons, frames; decoded strictly.
Pure.

Unknown fields are ignored, since Slack adds some every month.
"""

from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from hermes.errors import BadRequest

_MOST_FIELDS = 100
Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Z0-9]{1,40}$")]
Ts = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,12}\.[0-9]{1,6}$")]
# Slack cuts a message at 40,000 characters.
Words = Annotated[str, msgspec.Meta(max_length=200_000)]
TAKEN = frozenset({None, "file_share", "thread_broadcast", "me_message", "bot_message"})
T = TypeVar("T")


class WireFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a message shares."""

    id: str = ""
    name: str | None = None
    title: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str | None = None
    is_external: bool = False
    url_private: str | None = None
    url_private_download: str | None = None


class WireMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A `message` or an `app_mention` event."""

    type: str
    channel: Id
    ts: Ts
    subtype: str | None = None
    user: Id | None = None
    bot_id: Id | None = None
    username: str | None = None
    text: Words | None = None
    thread_ts: Ts | None = None
    parent_user_id: str | None = None
    hidden: bool = False
    files: tuple[WireFile, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    type: str
    subtype: str | None = None


class WireCall(msgspec.Struct, frozen=True, kw_only=True):
    """The outermost object of the Events API, over HTTP and inside an envelope."""

    type: str
    challenge: str | None = None
    team_id: str | None = None
    event: msgspec.Raw = msgspec.Raw()


class WireCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command."""

    command: str
    channel_id: Id
    user_id: Id
    trigger_id: str
    text: Words = ""
    user_name: str | None = None
    channel_name: str | None = None
    team_id: str | None = None


class _Named(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    username: str | None = None


class _Words(msgspec.Struct, frozen=True):
    text: str = ""


class _Option(msgspec.Struct, frozen=True):
    value: str = ""
    text: _Words | None = None


class WireAction(msgspec.Struct, frozen=True, kw_only=True):
    """One element that was used."""

    action_id: str = ""
    action_ts: str = ""
    value: str | None = None
    text: _Words | None = None
    selected_option: _Option | None = None

    @property
    def said(self) -> str:
        """The text of a press: its value, or else its label."""
        chosen = self.selected_option
        if chosen is not None:
            return chosen.value or (chosen.text.text if chosen.text else "")
        return self.value or (self.text.text if self.text else "")


class _Container(msgspec.Struct, frozen=True, kw_only=True):
    message_ts: str | None = None
    thread_ts: str | None = None


class WireInteraction(msgspec.Struct, frozen=True, kw_only=True):
    """An interactivity payload; only `block_actions` are read further."""

    type: str
    user: _Named | None = None
    team: _Named | None = None
    channel: _Named | None = None
    container: _Container = _Container()
    actions: tuple[WireAction, ...] = ()


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One text frame of the socket."""

    type: str
    envelope_id: str | None = None
    reason: str | None = None
    retry_attempt: int | None = None
    payload: msgspec.Raw = msgspec.Raw()


def decode(raw: bytes, shape: type[T]) -> T:
    """Return the value that `raw` holds as JSON; raise `BadRequest` if it does not fit."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadRequest(
            f"slack sent something that is not a {shape.__name__}: {problem}"
        ) from None
    except RecursionError:
        raise BadRequest("slack sent JSON that is nested too deeply") from None


def decode_message(raw: bytes) -> WireMessage | None:
    """Return a person's message, or None for events of another kind.

    Changed and deleted messages, joins, topics and the like have a subtype; they are not messages
    of people.
    """
    kind = decode(raw, _Kind)
    if kind.type not in ("message", "app_mention") or kind.subtype not in TAKEN:
        return None
    return decode(raw, WireMessage)


def kind_of(raw: bytes) -> str:
    """Return the type of an event."""
    return decode(raw, _Kind).type


def decode_form(body: bytes) -> dict[str, str]:
    """Return the fields of an urlencoded body; raises `BadRequest`."""
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except (UnicodeDecodeError, ValueError) as problem:
        raise BadRequest(f"slack sent no urlencoded form: {type(problem).__name__}") from None
    return dict(fields)


def command_of(fields: dict[str, Any]) -> WireCommand:
    """Return the slash command that a form holds."""
    try:
        return msgspec.convert(fields, WireCommand)
    except msgspec.ValidationError as problem:
        raise BadRequest(f"slack sent something that is not a slash command: {problem}") from None

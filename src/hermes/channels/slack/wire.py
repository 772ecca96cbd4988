"""The shapes of what Slack sends: events, commands, pressed buttons, frames; decoded strictly.
Pure.

Unknown fields are ignored, since Slack adds some every month.
"""

from typing import Annotated, Any

import msgspec

from hermes.channel_kit import bodies
from hermes.channel_kit.bodies import decode_form
from hermes.errors import BadRequest

PLATFORM = "slack"
Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Z0-9]{1,40}$")]
Ts = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,12}\.[0-9]{1,6}$")]
# Slack cuts a message at 40,000 characters.
Words = Annotated[str, msgspec.Meta(max_length=200_000)]
TAKEN = frozenset({None, "file_share", "thread_broadcast", "me_message", "bot_message"})


class WireFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a message shares."""

    id: str = ""
    name: str | None = None
    title: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str | None = None
    subtype: str | None = None
    is_external: bool = False
    url_private: str | None = None
    url_private_download: str | None = None


class WireMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A `message` or an `app_mention` event; only that of the bot's own messages is read."""

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
    metadata: Any = None  # Any: each app has its own.


class WirePosted(msgspec.Struct, frozen=True, kw_only=True):
    """A `message_metadata_posted` event."""

    channel: Id = msgspec.field(name="channel_id")
    ts: Ts = msgspec.field(name="message_ts")
    user: str | None = msgspec.field(name="user_id", default=None)
    bot_id: str | None = None
    metadata: Any = None  # Any: each app has its own.


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    channel: Id | None = None
    ts: Ts | None = None


class WireReaction(msgspec.Struct, frozen=True, kw_only=True):
    """A `reaction_added` or a `reaction_removed` event; `item_user` wrote what it is on."""

    type: str
    user: Id
    reaction: Annotated[str, msgspec.Meta(max_length=200)]
    item: _Item
    event_ts: Ts
    item_user: str | None = None


WireEvent = WireMessage | WirePosted | WireReaction


class _Kind(msgspec.Struct, frozen=True):
    type: str
    subtype: str | None = None


class WireCall(msgspec.Struct, frozen=True, kw_only=True):
    """The outermost object of the Events API, over HTTP and inside an envelope."""

    type: str
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
    payload: msgspec.Raw = msgspec.Raw()


def decode(raw: bytes, shape: type[bodies.T]) -> bodies.T:
    """Return the value that `raw` holds as JSON; raise `BadRequest` if it does not fit."""
    return bodies.decode(raw, shape, platform=PLATFORM)


def decode_event(raw: bytes) -> WireEvent | str:
    """Return an event that is read further; of any other only its type.

    Changed and deleted messages, joins, topics and the like have a subtype; they are not messages
    of people.
    """
    kind = decode(raw, _Kind)
    if kind.type in ("message", "app_mention"):
        return decode(raw, WireMessage) if kind.subtype in TAKEN else kind.type
    if kind.type in ("reaction_added", "reaction_removed"):
        return decode(raw, WireReaction)
    return decode(raw, WirePosted) if kind.type == "message_metadata_posted" else kind.type


def read_form(body: bytes) -> WireCommand | WireInteraction:
    """Return the content of a form: an interaction in `payload`, or a slash command."""
    fields = decode_form(body, platform=PLATFORM)
    payload = fields.get("payload")
    if payload is not None:
        return decode(payload.encode(), WireInteraction)
    try:
        return msgspec.convert(fields, WireCommand)
    except msgspec.ValidationError as problem:
        raise BadRequest(f"slack sent something that is not a slash command: {problem}") from None

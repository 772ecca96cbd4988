"""Turns deliveries into the bodies of Discord's API. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from hermes.channel_kit.keys import packed_key
from hermes.channels.discord.wire import WireChannel
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.parts import Choice, choices_of
from hermes.ports.channel import ChatInfo, Delivery, Target
from hermes.ports.directory import ChatEntry

Json = dict[str, Any]
NONCE_CHARS: Final = 25
# Nobody is pinged by what a model writes, nor by being answered.
QUIET: Final[Mapping[str, Any]] = {"parse": [], "replied_user": False}
PRIVATE: Final = 1 << 6
_STYLES: Final = {"plain": 2, "good": 3, "bad": 4}
_IN_ROW: Final = 5
# Text channels, announcements, and threads of both.
_WRITABLE: Final = frozenset({0, 5, 10, 11, 12})


def channel_of(target: Target) -> str:
    """Return the channel to write in: a thread is one. It is put into addresses."""
    channel = target.thread_id or target.chat_id
    if not (channel.isascii() and channel.isdecimal()):
        raise DeliveryRejected(
            f"discord: expected the id of a channel, found {channel[:40]!r}; `hermes channels directory` "
            "lists them",
            FailureClass.INVALID_RECIPIENT,
        )
    return channel


def message_body(delivery: Delivery, content: str, *, files: Iterable[str]) -> Json:
    """Return the body of a message; `files` are the names of what is attached."""
    body: Json = {"content": content, "allowed_mentions": QUIET}
    choices = choices_of(delivery.parts)
    if choices:
        body["components"] = _rows(choices)
    attached = [{"id": str(number), "filename": name} for number, name in enumerate(files)]
    if attached:
        body["attachments"] = attached
    return body


def posted_body(delivery: Delivery, body: Json) -> Json:
    """Return the body of a message that is posted in a channel: with its key, and what it answers."""
    more: Json = {"nonce": packed_key(delivery.key, NONCE_CHARS), "enforce_nonce": True}
    reply_to = delivery.target.reply_to
    if delivery.target.group and reply_to is not None and reply_to.isdecimal():
        more["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
    return {**body, **more}


def edited_body(content: str) -> Json:
    """Return the body of a change, which takes the buttons away."""
    return {"content": content, "allowed_mentions": QUIET, "components": []}


def reaction_path(target: Target, message_id: str, emoji: str) -> str:
    """Return where the bot's own reaction to a message is."""
    name = quote(emoji, safe="")
    return f"/channels/{channel_of(target)}/messages/{message_id}/reactions/{name}/@me"


def entries_of(channels: Iterable[WireChannel], *, platform: str, guild: str) -> list[ChatEntry]:
    """Return the channels of a server in which people write."""
    return [
        ChatEntry(
            platform=platform, chat_id=one.id, kind="group", name=one.name or one.id, guild=guild
        )
        for one in channels
        if one.type in _WRITABLE
    ]


def info_of(channel: WireChannel) -> ChatInfo:
    """Return what is known of a channel."""
    people = ", ".join(one.name for one in channel.recipients)
    return ChatInfo(
        chat_id=channel.id,
        chat_type=channel.kind,
        name=channel.name or people or None,
        topic=channel.topic,
        members=channel.member_count,
    )


def _rows(choices: tuple[Choice, ...]) -> list[Json]:
    buttons = [
        {"type": 2, "style": _STYLES[one.style], "label": one.label, "custom_id": one.value}
        for one in choices
    ]
    starts = range(0, len(buttons), _IN_ROW)
    return [{"type": 1, "components": buttons[at : at + _IN_ROW]} for at in starts]

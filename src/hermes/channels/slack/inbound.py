"""Converts Slack's events to `MessageEvent`. Pure.

A message is named by its channel and its `ts`, so that the `message` and the `app_mention` event of
one message are the same event. For the same reason only fields that both have are used. Edited
messages keep their name and are ignored.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from hermes.channels.slack.wire import (
    WireCommand,
    WireFile,
    WireInteraction,
    WireMessage,
    command_of,
    decode,
    decode_form,
)
from hermes.message.event import NO_RAW, EventType, MessageEvent
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.source import ChatType, Source

PLATFORM: Final = "slack"
ROUTE: Final = "events"
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")
_ID = re.compile(r"[A-Z][A-Z0-9]{1,40}")
_MOST_FILES = 20
_NOT_THERE = frozenset({"tombstone", "hidden_by_limit"})
_NO_NAMES: Final[Mapping[str, str]] = {}


class SlackIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the bot is, by `auth.test`, and how it reads messages."""

    user_id: str
    bot_id: str | None = None
    team_id: str | None = None
    account: str = "default"
    reply_in_thread: bool = True
    command: str = "/hermes"


def message_id(channel: str, ts: str) -> str:
    """Return the name of a message, in and out."""
    return f"{channel}:{ts}"


def read_message_id(name: str) -> tuple[str, str] | None:
    """Return the channel and the `ts` in a message's name; None if it is not one."""
    channel, _, ts = name.partition(":")
    return (channel, ts) if _ID.fullmatch(channel) and _TS.fullmatch(ts) else None


def chat_type_of(channel: str) -> ChatType:
    """Return the type of a channel, by its id alone: an `app_mention` says nothing else."""
    return {"D": "dm", "G": "group"}.get(channel[:1], "channel")  # type: ignore[return-value]


def people_of(message: WireMessage, me: SlackIdentity) -> tuple[str, ...]:
    """Return the ids of the people whose names a message needs."""
    named = tuple(name for name in mentioned(message.text or "") if name != me.user_id)
    writer = (message.user,) if message.user is not None and message.bot_id is None else ()
    return tuple(dict.fromkeys((*writer, *named)))


def is_own(message: WireMessage, me: SlackIdentity) -> bool:
    """Return whether the bot itself wrote it."""
    return message.user == me.user_id or (
        message.bot_id is not None and message.bot_id == me.bot_id
    )


def message_event(
    message: WireMessage,
    me: SlackIdentity,
    *,
    names: Mapping[str, str] = _NO_NAMES,
    followed: Collection[str] = (),
    team: str | None = None,
    raw: bytes = b"",
) -> MessageEvent | None:
    """Return a message as an event; None for the bot's own and for those without content.

    `names` are the known names of the people in it; `followed` are the threads in which the bot
    takes part.
    """
    writer = message.user or message.bot_id
    if message.hidden or writer is None or is_own(message, me):
        return None
    text = message.text or ""
    parts = (*_text_parts(text, message.files, me=me, names=names), *_attachments(message.files))
    if not parts:
        return None
    addressed = _is_addressed(message, me, followed=followed)
    return MessageEvent(
        account=me.account,
        route=ROUTE,
        external_id=message_id(message.channel, message.ts),
        source=Source(
            platform=PLATFORM,
            chat_id=message.channel,
            chat_type=chat_type_of(message.channel),
            user_id=writer,
            user_name=names.get(writer) or message.username,
            thread_id=_thread_of(message, me, addressed=addressed),
            is_bot=message.bot_id is not None,
            guild_id=team or me.team_id,
        ),
        parts=parts,
        at=float(message.ts),
        type=_type_of(parts),
        addressed=addressed,
        raw=_raw(raw),
    )


def thread_name(channel: str, thread_ts: str) -> str:
    """Return the name under which a thread is followed."""
    return message_id(channel, thread_ts)


def command_event(
    command: WireCommand, me: SlackIdentity, *, at: float, raw: bytes = b""
) -> MessageEvent:
    """Return a slash command as an event: the text after ours, any other command as typed."""
    words = plain(without_mention(command.text, me.user_id), _NO_NAMES).strip()
    if command.command != me.command:
        words = f"{command.command} {words}".strip()
    return MessageEvent(
        account=me.account,
        route=ROUTE,
        external_id=f"command:{command.trigger_id}",
        source=Source(
            platform=PLATFORM,
            chat_id=command.channel_id,
            chat_type=chat_type_of(command.channel_id),
            user_id=command.user_id,
            user_name=command.user_name,
            guild_id=command.team_id or me.team_id,
        ),
        parts=(TextPart(words or "/help"),),
        at=at,
        raw=_raw(raw),
    )


def interaction_event(
    pressed: WireInteraction, me: SlackIdentity, *, at: float, raw: bytes = b""
) -> MessageEvent | None:
    """Return a pressed button as if its text had been written; None for other interactions."""
    words = "\n".join(action.said for action in pressed.actions if action.said)
    channel, user = pressed.channel, pressed.user
    if pressed.type != "block_actions" or channel is None or user is None or not words:
        return None
    if not _ID.fullmatch(channel.id) or not _ID.fullmatch(user.id):
        return None
    at_message = pressed.container
    marks = ",".join(f"{action.action_ts}/{action.action_id}" for action in pressed.actions)
    return MessageEvent(
        account=me.account,
        route=ROUTE,
        external_id=f"action:{channel.id}:{at_message.message_ts or ''}:{marks}"[:500],
        source=Source(
            platform=PLATFORM,
            chat_id=channel.id,
            chat_type=chat_type_of(channel.id),
            user_id=user.id,
            user_name=user.name or user.username,
            thread_id=_checked_ts(at_message.thread_ts),
            guild_id=pressed.team.id if pressed.team else me.team_id,
        ),
        parts=(TextPart(words),),
        at=at,
        raw=_raw(raw),
    )


def read_form(body: bytes) -> WireCommand | WireInteraction:
    """Return the content of a form: an interaction in `payload`, or a slash command."""
    fields = decode_form(body)
    payload = fields.get("payload")
    if payload is not None:
        return decode(payload.encode(), WireInteraction)
    return command_of(fields)


def _raw(raw: bytes) -> msgspec.Raw:
    # An empty value is not JSON: it would make the whole event impossible to store.
    return msgspec.Raw(raw) if raw else NO_RAW


def _checked_ts(ts: str | None) -> str | None:
    return ts if ts is not None and _TS.fullmatch(ts) else None


def _is_addressed(message: WireMessage, me: SlackIdentity, *, followed: Collection[str]) -> bool:
    if chat_type_of(message.channel) == "dm" or message.type == "app_mention":
        return True
    if f"<@{me.user_id}>" in (message.text or "") or f"<@{me.user_id}|" in (message.text or ""):
        return True
    if message.thread_ts is None or message.thread_ts == message.ts:
        return False
    is_reply = message.parent_user_id == me.user_id
    return is_reply or thread_name(message.channel, message.thread_ts) in followed


def _thread_of(message: WireMessage, me: SlackIdentity, *, addressed: bool) -> str | None:
    """Return the message's thread, or the one that an answer to it starts."""
    if message.thread_ts is not None:
        return message.thread_ts
    begins = addressed and me.reply_in_thread and chat_type_of(message.channel) != "dm"
    return message.ts if begins else None


def _text_parts(
    text: str, files: tuple[WireFile, ...], *, me: SlackIdentity, names: Mapping[str, str]
) -> tuple[TextPart, ...]:
    said = plain(without_mention(text, me.user_id), names)
    elsewhere = [
        f"{file.name or file.title or 'file'}: {file.url_private}"
        for file in files[:_MOST_FILES]
        if file.is_external and file.url_private
    ]
    lines = "\n".join((*((said,) if said.strip() else ()), *elsewhere))
    return (TextPart(lines),) if lines else ()


def _attachments(files: tuple[WireFile, ...]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for file in files[:_MOST_FILES]:
        address = file.url_private_download or file.url_private
        if address is None or file.is_external or file.mode in _NOT_THERE:
            continue
        mime = file.mimetype or "application/octet-stream"
        media = Media(mime, name=file.name or file.title, size=file.size, ref=address)
        parts.append(_part_of(media))
    return tuple(parts)


def _part_of(media: Media) -> Part:
    kind = media.mime.partition("/")[0]
    if kind == "image":
        return ImagePart(media)
    return AudioPart(media) if kind == "audio" else FilePart(media)


def _type_of(parts: tuple[Part, ...]) -> EventType:
    last = parts[-1]
    if isinstance(last, ImagePart):
        return "image"
    if isinstance(last, AudioPart):
        return "audio"
    if isinstance(last, FilePart):
        return "video" if last.media.mime.startswith("video/") else "file"
    return "text"


_ANGLE = re.compile(r"<([^<>\s][^<>]{0,4000})>")
_USER = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_SPACES = re.compile(r"[ \t]{2,}")
_MOST_NAMES = 10


def mentioned(text: str) -> tuple[str, ...]:
    """Return the ids of the people that a text mentions, each once, the first few."""
    return tuple(dict.fromkeys(_USER.findall(text)))[:_MOST_NAMES]


def without_mention(text: str, user_id: str) -> str:
    """Return the text without the mention of one user, and without the space that it leaves."""
    found = re.compile(rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>")
    start = found.match(text.lstrip())
    if start is not None:
        text = text.lstrip()[start.end() :].lstrip(" \t,:")
    if not found.search(text):
        return text.strip() if start is not None else text
    return _SPACES.sub(" ", found.sub("", text)).strip()


def plain(text: str, names: Mapping[str, str]) -> str:
    """Return the text in readable form; `names` are those of the people in it."""

    def read(match: re.Match[str]) -> str:
        return _read(match.group(1), names)

    text = _ANGLE.sub(read, text)
    for escaped, char in _ESCAPES:
        text = text.replace(escaped, char)
    return text


def _read(inner: str, names: Mapping[str, str]) -> str:
    target, _, words = inner.partition("|")
    kind, rest = target[:1], target[1:]
    if kind == "@":
        return f"@{names.get(rest) or words or rest}"
    if kind == "#":
        return f"#{words or rest}"
    if kind == "!":
        return _special(rest, words)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not words or words in (target, address) or target.endswith(f"://{words}"):
        return address if target != address else target
    return f"{words} ({address})"


def _special(name: str, words: str) -> str:
    if words:
        return words
    return f"@{name.partition('^')[0]}"

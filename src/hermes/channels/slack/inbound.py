"""Converts Slack's events to `MessageEvent`. Pure.

A message is named by its channel and its `ts`, so that the `message` and the `app_mention` event of
one message are the same event. For the same reason only fields that both have are used. Edited
messages keep their name and are ignored.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from hermes.channel_kit.events import event_type, part_of, without_spans
from hermes.channel_kit.refusals import field_of
from hermes.channels.slack.emoji import emoji_of
from hermes.channels.slack.wire import (
    PLATFORM,
    WireCommand,
    WireFile,
    WireInteraction,
    WireMessage,
    WirePosted,
    WireReaction,
)
from hermes.message.event import NO_RAW, MessageEvent, PressedChoice, Reaction
from hermes.message.parts import AudioPart, Media, Part, TextPart
from hermes.message.source import ChatType, Source
from hermes.ports.channel import ArrivedDelivery

ROUTE: Final = "events"
# How the name of a slash command begins, which is no message.
COMMAND: Final = "command:"
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")
_ID = re.compile(r"[A-Z][A-Z0-9]{1,40}")
_MOST_FILES: Final = 20
_NOT_THERE: Final = frozenset({"tombstone", "hidden_by_limit"})
_NO_NAMES: Final[Mapping[str, str]] = {}
# Of our own messages: the type of their metadata, and how the ids of our buttons begin.
EVENT_TYPE: Final = "hermes_delivery"
CHOICE: Final = "hermes_choice_"


class SlackIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the bot is, by `auth.test`, and how it reads messages."""

    user_id: str
    name: str = msgspec.field(name="user", default="")
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


def is_own(message: WireMessage | WirePosted, me: SlackIdentity) -> bool:
    """Return whether the bot itself wrote it."""
    return message.user == me.user_id or (
        message.bot_id is not None and message.bot_id == me.bot_id
    )


def arrived_of(own: WireMessage | WirePosted) -> ArrivedDelivery | None:
    """Return the delivery that a message of the bot's own is, by the key that it carries."""
    key = field_of(own.metadata, "event_payload.key")
    if field_of(own.metadata, "event_type") != EVENT_TYPE or not isinstance(key, str) or not key:
        return None
    return ArrivedDelivery(key=key, platform_message_id=message_id(own.channel, own.ts))


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
    return _event(
        me,
        raw,
        external_id=message_id(message.channel, message.ts),
        source=_source(
            me,
            message.channel,
            writer,
            user_name=names.get(writer) or message.username,
            thread_id=_thread_of(message, me, addressed=addressed),
            is_bot=message.bot_id is not None,
            team=team,
        ),
        parts=parts,
        at=float(message.ts),
        type=event_type(parts),
        addressed=addressed,
    )


def command_event(
    command: WireCommand, me: SlackIdentity, *, at: float, raw: bytes = b""
) -> MessageEvent:
    """Return a slash command as an event: the text after ours, any other command as typed."""
    words = plain(without_mention(command.text, me.user_id), _NO_NAMES).strip()
    if command.command != me.command:
        words = f"{command.command} {words}".strip()
    return _event(
        me,
        raw,
        external_id=f"{COMMAND}{command.trigger_id}",
        source=_source(
            me,
            command.channel_id,
            command.user_id,
            user_name=command.user_name,
            team=command.team_id,
        ),
        parts=(TextPart(words or "/help"),),
        at=at,
    )


def interaction_event(
    pressed: WireInteraction, me: SlackIdentity, *, at: float, raw: bytes = b""
) -> MessageEvent | None:
    """Return a press of one of our buttons as a choice, of another as if its text had been written.

    None for other interactions.
    """
    words = "\n".join(action.said for action in pressed.actions if action.said)
    channel, user, place = pressed.channel, pressed.user, pressed.container
    if pressed.type != "block_actions" or channel is None or user is None or not words:
        return None
    if not _ID.fullmatch(channel.id) or not _ID.fullmatch(user.id):
        return None
    marks = ",".join(f"{action.action_ts}/{action.action_id}" for action in pressed.actions)
    is_ours = all(one.action_id.startswith(CHOICE) for one in pressed.actions)
    chosen = pressed.actions[0].said if is_ours else ""
    shown_in, thread = message_id(channel.id, place.message_ts or ""), place.thread_ts or ""
    return _event(
        me,
        raw,
        external_id=f"action:{channel.id}:{place.message_ts or ''}:{marks}"[:500],
        source=_source(
            me,
            channel.id,
            user.id,
            user_name=user.name or user.username,
            thread_id=thread if _TS.fullmatch(thread) else None,
            team=pressed.team.id if pressed.team else None,
        ),
        parts=() if chosen else (TextPart(words),),
        at=at,
        type="choice" if chosen else "text",
        pressed=PressedChoice(value=chosen, message_id=shown_in) if chosen else None,
    )


def reaction_event(
    told: WireReaction, me: SlackIdentity, *, team: str | None = None, raw: bytes = b""
) -> MessageEvent | None:
    """Return a reaction to a message of the bot; None for others, and for a workspace's own emoji."""
    channel, ts, emoji = told.item.channel, told.item.ts, emoji_of(told.reaction)
    is_ours = told.item_user == me.user_id and told.user != me.user_id
    if channel is None or ts is None or emoji is None or not is_ours:
        return None
    name = message_id(channel, ts)
    is_removed = told.type == "reaction_removed"
    return _event(
        me,
        raw,
        external_id=f"{told.type}:{name}:{told.user}:{told.event_ts}:{told.reaction}"[:500],
        source=_source(me, channel, told.user, team=team),
        parts=(),
        at=float(told.event_ts),
        type="reaction",
        reaction=Reaction(message_id=name, emoji=emoji, is_removed=is_removed),
    )


def _event(me: SlackIdentity, raw: bytes, **more: Any) -> MessageEvent:
    # An empty value is not JSON: it would make the whole event impossible to store.
    kept = msgspec.Raw(raw) if raw else NO_RAW
    return MessageEvent(account=me.account, route=ROUTE, raw=kept, **more)


def _source(me: SlackIdentity, channel: str, user: str, **more: Any) -> Source:
    """Return where an event comes from; `team` is the workspace if the event names one."""
    team = more.pop("team", None) or me.team_id
    kind = chat_type_of(channel)
    return Source(
        platform=PLATFORM, chat_id=channel, chat_type=kind, user_id=user, guild_id=team, **more
    )


def _is_addressed(message: WireMessage, me: SlackIdentity, *, followed: Collection[str]) -> bool:
    if chat_type_of(message.channel) == "dm" or message.type == "app_mention":
        return True
    if f"<@{me.user_id}>" in (message.text or "") or f"<@{me.user_id}|" in (message.text or ""):
        return True
    if message.thread_ts is None or message.thread_ts == message.ts:
        return False
    is_reply = message.parent_user_id == me.user_id
    return is_reply or message_id(message.channel, message.thread_ts) in followed


def _thread_of(message: WireMessage, me: SlackIdentity, *, addressed: bool) -> str | None:
    """Return the message's thread, or the one that an answer to it starts."""
    if message.thread_ts is not None:
        return message.thread_ts
    begins = addressed and me.reply_in_thread and chat_type_of(message.channel) != "dm"
    return message.ts if begins else None


def _text_parts(
    text: str, files: tuple[WireFile, ...], *, me: SlackIdentity, names: Mapping[str, str]
) -> tuple[TextPart, ...]:
    said = plain(without_mention(text, me.user_id), {me.user_id: me.name, **names})
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
        is_voice = file.subtype == "slack_audio"
        parts.append(AudioPart(media, is_voice=True) if is_voice else part_of(media))
    return tuple(parts)


_ANGLE = re.compile(r"<([^<>\s][^<>]{0,4000})>")
_USER = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MOST_NAMES = 10


def mentioned(text: str) -> tuple[str, ...]:
    """Return the ids of the people that a text mentions, each once, the first few."""
    return tuple(dict.fromkeys(_USER.findall(text)))[:_MOST_NAMES]


def without_mention(text: str, user_id: str) -> str:
    """Return the text without the mentions of one user, and without the space that they leave."""
    spans = [found.span() for found in _USER.finditer(text) if found[1] == user_id]
    return without_spans(text, spans) if spans else text


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
        return words or f"@{rest.partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not words or words in (target, address) or target.endswith(f"://{words}"):
        return address if target != address else target
    return f"{words} ({address})"

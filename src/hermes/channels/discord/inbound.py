"""Turns what happens on Discord into events: messages, commands, pressed buttons, reactions. Pure."""

import re
from typing import Final

import msgspec

from hermes.channel_kit.events import event_type, part_of, sent_at, with_names
from hermes.channels.discord.wire import (
    PLATFORM,
    WireChannel,
    WireContent,
    WireInteraction,
    WireMember,
    WireMessage,
    WireReaction,
    WireUser,
    written_at,
)
from hermes.message.event import (
    MessageEvent,
    PressedChoice,
    Reaction,
    ReplyContext,
    ReplyHandle,
)
from hermes.message.parts import AudioPart, Media, Part, TextPart
from hermes.message.source import Source

COMMAND: Final = 2
PRESSED: Final = 3
# Written by somebody, or a reply; the others say that somebody joined, that a message was pinned.
_WRITTEN: Final = frozenset({0, 19})
_VOICE: Final = 1 << 13
_MENTION: Final = re.compile(r"<@!?([0-9]{1,20})>")


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """The bot as Discord knows it."""

    user_id: str
    application_id: str
    account: str


def message_event(
    message: WireMessage, *, me: Me, place: WireChannel, now: float, raw: msgspec.Raw
) -> MessageEvent | None:
    """Return the event of a message; None for one that nobody wrote, or that holds nothing."""
    shown = message.message_snapshots[0].message if message.message_snapshots else message
    parts = _parts(shown, text=_text(message, shown, me), is_voice=bool(message.flags & _VOICE))
    if message.type not in _WRITTEN or not parts:
        return None
    answered = message.referenced_message
    is_named = any(one.id == me.user_id for one in message.mentions)
    is_answer = answered is not None and answered.author.id == me.user_id
    return MessageEvent(
        account=me.account,
        route="messages",
        external_id=message.id,
        source=_source(
            place,
            message.author,
            member=message.member,
            is_bot=message.author.bot or message.webhook_id is not None,
        ),
        parts=parts,
        at=sent_at(written_at(message.id), now=now),
        type=event_type(parts),
        reply_to=None
        if answered is None
        else ReplyContext(
            message_id=answered.id, text=answered.content or None, user_id=answered.author.id
        ),
        addressed=place.kind == "dm" or is_named or is_answer,
        raw=raw,
    )


def interaction_event(
    found: WireInteraction,
    *,
    me: Me,
    place: WireChannel,
    now: float,
    handle: ReplyHandle | None,
) -> MessageEvent | None:
    """Return the event of a slash command or a pressed button; None for anything else."""
    user = found.user or (found.member.user if found.member is not None else None)
    if user is None or found.type not in (COMMAND, PRESSED):
        return None
    is_press = found.type == PRESSED
    if is_press and (found.message is None or not found.data.custom_id):
        return None
    return MessageEvent(
        account=me.account,
        route="interactions",
        # Not the id of a message, so that nobody replies to it as to one.
        external_id=f"i{found.id}",
        source=_source(place, user, member=found.member, is_bot=user.bot),
        parts=() if is_press else (TextPart(command_text(found)),),
        at=sent_at(written_at(found.id), now=now),
        type="choice" if is_press else "command",
        handle=handle,
        pressed=PressedChoice(value=found.data.custom_id, message_id=found.message.id)
        if is_press and found.message is not None
        else None,
    )


def command_text(found: WireInteraction) -> str:
    """Return a slash command as it would be typed."""
    words = " ".join(str(one.value) for one in found.data.options)
    return f"/{found.data.name} {words}".strip()


def reaction_event(
    found: WireReaction, *, me: Me, place: WireChannel, is_removed: bool, name: str, now: float
) -> MessageEvent | None:
    """Return the event of a reaction to a message of the bot; `name` is unique for what happened.

    When one is removed, Discord does not say whose message it was.
    """
    emoji = found.emoji.name
    is_other = found.message_author_id not in (None, me.user_id)
    if found.user_id == me.user_id or is_other or found.emoji.id is not None or not emoji:
        return None
    user = found.member.user if found.member is not None else None
    return MessageEvent(
        account=me.account,
        route="reactions",
        external_id=name,
        source=_source(
            place,
            user or WireUser(id=found.user_id),
            member=found.member,
            is_bot=user is not None and user.bot,
        ),
        parts=(),
        at=now,
        type="reaction",
        reaction=Reaction(message_id=found.message_id, emoji=emoji, is_removed=is_removed),
    )


def _text(message: WireMessage, shown: WireContent, me: Me) -> str:
    """Return the words without the mention of the bot, and with the names of others."""
    names = {one.id: one.name for one in message.mentions if one.id != me.user_id}
    text = with_names(shown.content, _MENTION, names=names, own={me.user_id})
    stickers = " ".join(f"[sticker: {one.name}]" for one in shown.sticker_items)
    return text or stickers


def _parts(shown: WireContent, *, text: str, is_voice: bool) -> tuple[Part, ...]:
    parts: list[Part] = [TextPart(text)] if text else []
    for file in shown.attachments:
        mime = file.content_type or "application/octet-stream"
        part = part_of(Media(mime, name=file.filename, size=file.size, ref=file.url))
        if is_voice and isinstance(part, AudioPart):
            part = msgspec.structs.replace(part, is_voice=True)
        parts.append(part)
    return tuple(parts)


def _source(
    place: WireChannel, user: WireUser, *, member: WireMember | None, is_bot: bool
) -> Source:
    """Return where something happened; a thread is a conversation of its channel."""
    nick = member.nick if member is not None else None
    is_thread = place.is_thread and place.parent_id is not None
    return Source(
        platform=PLATFORM,
        chat_id=place.parent_id if is_thread and place.parent_id else place.id,
        chat_type=place.kind,
        chat_name=place.name,
        chat_topic=place.topic,
        user_id=user.id,
        user_name=nick or user.name or None,
        thread_id=place.id if is_thread else None,
        is_bot=is_bot,
        guild_id=place.guild_id,
    )

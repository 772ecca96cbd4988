"""Converts group messages that are not addressed to the bot into context, and back.

Only one line of text is kept of each: no attachments, no raw event. The text is cleaned, like
everything that people write, when it is added to another message; most of it never is.
"""

import msgspec

from hermes.memory.visible import visible
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.missed_messages import shown_attachments
from hermes.message.parts import TextPart
from hermes.message.session_key import escape
from hermes.message.source import Source
from hermes.people.groups import GroupRules
from hermes.ports.inbox import InGroup

_LONGEST_LINE = 500
_LONGEST_NAME = 50


def as_context(event: MessageEvent) -> MessageEvent:
    """Return what is kept of an overheard message."""
    source = event.source
    name = visible(source.user_name or "", _LONGEST_NAME).replace("\n", " ") or None
    said = f"{event.text} {shown_attachments(event.parts)}".strip()
    line = visible(said, _LONGEST_LINE).replace("\n", " ")
    return msgspec.structs.replace(
        event,
        source=msgspec.structs.replace(source, user_name=name),
        parts=(TextPart(line),),
        reply_to=None,
        channel_context=None,
        history=(),
        raw=NO_RAW,
    )


def in_group(event: MessageEvent, rules: GroupRules, *, is_kept: bool, takes: bool) -> InGroup:
    """Return what a message does in its group beside its turn.

    A thread inside a chat belongs to the chat, so what was missed in either counts. In a chat that
    is a thread itself (a forum topic), other threads do not count.
    """
    source = event.source
    thread = source.thread_id or ""
    return InGroup(
        chat=chat_name(event.account, source),
        thread=thread,
        is_kept=is_kept,
        takes=(thread, thread if source.chat_type == "thread" else "") if takes else None,
        is_bot=source.is_bot,
        bot_turns=rules.bot_turns if rules.bots != "ignore" else 0,
    )


def chat_name(account: str, source: Source) -> str:
    """Return the unique name of a chat."""
    return ":".join(map(escape, (source.platform, account, source.chat_id)))

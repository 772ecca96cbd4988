"""Converts replies to arguments of Slack's Web API, and its answers to receipts and chats. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hermes.channel_kit.refusals import field_of
from hermes.channels.slack.format import MOST_BLOCKS, as_blocks
from hermes.channels.slack.inbound import (
    CHOICE,
    EVENT_TYPE,
    SlackIdentity,
    chat_type_of,
    message_id,
    read_message_id,
)
from hermes.channels.slack.settings import SlackSettings
from hermes.channels.slack.wire import PLATFORM
from hermes.errors import ConnectFailed, DeliveryUnknown, FailureClass
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Choice
from hermes.ports.channel import ChatInfo, Delivery, Receipt, Target
from hermes.ports.directory import ChatEntry

# Any: arguments and answers of the Web API are JSON objects, each method with its own fields.
Json = dict[str, Any]

PAGE: Final = 200
_STYLES: Final = {"good": "primary", "bad": "danger"}


def identity_of(found: Json, settings: SlackSettings, *, account: str) -> SlackIdentity:
    """Return who the bot is, by the answer of `auth.test`."""
    own = {"reply_in_thread": settings.reply_in_thread, "command": settings.command}
    try:
        return msgspec.convert({**found, **own, "account": account}, SlackIdentity)
    except msgspec.ValidationError:
        raise ConnectFailed("slack: auth.test did not say who the bot is") from None


def thread_of(target: Target, *, reply_in_thread: bool) -> str | None:
    """Return the thread that a reply goes to, if it goes to one."""
    if target.thread_id is not None:
        return target.thread_id
    answered = read_message_id(target.reply_to or "")
    if not reply_in_thread or answered is None or chat_type_of(target.chat_id) == "dm":
        return None
    return answered[1] if answered[0] == target.chat_id else None


def post_body(delivery: Delivery, content: Json, *, thread: str | None, unfurl: bool) -> Json:
    """Return the arguments of `chat.postMessage`; the key is sent as the message's metadata."""
    body: Json = {
        "channel": delivery.target.chat_id,
        **content,
        "unfurl_links": unfurl,
        "unfurl_media": unfurl,
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": delivery.key}},
    }
    return body if thread is None else {**body, "thread_ts": thread}


def content_of(text: str, marks: Marks, choices: Sequence[Choice] = ()) -> Json:
    """Return the arguments that hold a Markdown text, and under it the choices as buttons."""
    document = parse(text)
    buttons = [_button(choice, number) for number, choice in enumerate(choices)]
    under = [{"type": "actions", "elements": buttons}] if buttons else []
    blocks = as_blocks(document, marks, most=MOST_BLOCKS - len(under))
    return {"text": marks.write(document) or text, "blocks": [*blocks, *under]}


def _button(choice: Choice, number: int) -> Json:
    style = _STYLES.get(choice.style)
    return {
        "type": "button",
        "action_id": f"{CHOICE}{number}",
        "text": {"type": "plain_text", "text": choice.label, "emoji": True},
        "value": choice.value,
        **({} if style is None else {"style": style}),
    }


def place_of(target: Target, platform_message_id: str) -> tuple[str, str]:
    """Return the channel and the `ts` of a message."""
    return read_message_id(platform_message_id) or (target.chat_id, platform_message_id)


def receipt_of(found: Json, *, chat_id: str) -> Receipt:
    """Return the receipt of a posted message."""
    channel, ts = found.get("channel"), found.get("ts")
    if not isinstance(ts, str) or not ts:
        raise DeliveryUnknown(
            "slack: chat.postMessage succeeded but returned no ts",
            FailureClass.SERVICE_UNAVAILABLE,
        )
    return Receipt(message_id(channel if isinstance(channel, str) else chat_id, ts))


def history_query(channel: str, thread: str | None, *, oldest: float) -> Json:
    """Return the arguments of `conversations.history`, or of `.replies` within a thread."""
    query: Json = {
        "channel": channel,
        "include_all_metadata": True,
        "oldest": f"{max(0.0, oldest):.6f}",
        "limit": PAGE,
    }
    return query if thread is None else {**query, "ts": thread}


def find_key(found: Json, key: str, *, channel: str, file_id: str | None = None) -> Receipt | None:
    """Return the message on one page of a history that carries our key, or our file."""
    for message in _objects(found.get("messages")):
        ts = message.get("ts")
        if field_of(message, "metadata.event_payload.key") == key and isinstance(ts, str):
            return Receipt(message_id(channel, ts))
        files = (file.get("id") for file in _objects(message.get("files")))
        if file_id is not None and file_id in files:
            return Receipt(file_id)
    return None


def next_cursor(found: Json) -> str:
    """Return where the next page begins, or nothing."""
    cursor = field_of(found, "response_metadata.next_cursor")
    return cursor if isinstance(cursor, str) else ""


def entries_of(found: Json, *, team: str | None) -> tuple[ChatEntry, ...]:
    """Return the chats of one page of `conversations.list`."""
    entries = (_entry(channel, team) for channel in _objects(found.get("channels")))
    return tuple(entry for entry in entries if entry is not None)


def _entry(channel: Json, team: str | None) -> ChatEntry | None:
    chat_id, user, name = (channel.get(key) for key in ("id", "user", "name"))
    if not isinstance(chat_id, str) or channel.get("is_archived") is True:
        return None
    if not any(channel.get(key) is True for key in ("is_im", "is_member", "is_mpim")):
        return None
    is_direct = channel.get("is_im") is True
    return ChatEntry(
        platform=PLATFORM,
        chat_id=chat_id,
        kind=chat_type_of(chat_id),
        name=name if isinstance(name, str) and name else str(user or chat_id),
        guild=team,
        user_id=user if is_direct and isinstance(user, str) else None,
    )


def chat_info_of(found: Json, *, chat_id: str) -> ChatInfo:
    """Return the information of `conversations.info` about a chat."""
    name, members = field_of(found, "channel.name"), field_of(found, "channel.num_members")
    topic = field_of(found, "channel.topic.value")
    return ChatInfo(
        chat_id=chat_id,
        chat_type=chat_type_of(chat_id),
        name=name if isinstance(name, str) else None,
        topic=topic if isinstance(topic, str) and topic else None,
        members=members if isinstance(members, int) else None,
    )


def user_name_of(found: Json) -> str | None:
    """Return the name in a `users.info`: the display name, the real name, or the handle."""
    places = ("profile.display_name", "profile.real_name", "real_name", "name")
    names = (field_of(found, f"user.{place}") for place in places)
    return next((name for name in names if isinstance(name, str) and name.strip()), None)


def _objects(found: object) -> list[Json]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

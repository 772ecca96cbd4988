"""Converts replies to calls of Slack's Web API, and its answers to receipts or delivery errors.
Pure.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.channels.slack.format import as_blocks
from hermes.channels.slack.inbound import PLATFORM, chat_type_of, message_id, read_message_id
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media
from hermes.net.platform_call import PlatformAnswer, failure_of
from hermes.ports.channel import ChatInfo, Delivery, Receipt, Target
from hermes.ports.directory import ChatEntry

# Any: arguments and answers of the Web API are JSON objects, each method with its own fields.
Json = dict[str, Any]

EVENT_TYPE: Final = "hermes_delivery"
PAGE: Final = 200
# The bot's own token is no longer valid.
REVOKED: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"}
)
_UNAUTHORIZED = REVOKED | {
    *("missing_scope", "not_allowed_token_type", "no_permission", "access_denied"),
    *("org_login_required", "ekm_access_denied", "two_factor_setup_required"),
    *("team_access_not_granted", "accesslimited"),
}
_NO_RECIPIENT = frozenset(
    {
        *("channel_not_found", "not_in_channel", "is_archived", "user_not_found"),
        *("users_not_found", "user_disabled", "cannot_dm_bot", "messages_tab_disabled"),
        *("thread_not_found", "invalid_thread_ts", "cannot_reply_to_message", "invalid_channel"),
    }
)
_TOO_OFTEN = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
# Slack says of these two that part of the work may have been done.
_PERHAPS = frozenset({"fatal_error", "internal_error"})
_NOT_NOW = frozenset(
    {"service_unavailable", "request_timeout", "team_added_to_org", "update_failed"}
)
_CODE = re.compile(r"[a-z0-9_]{1,60}")
_HINTS: Final[Mapping[str, str]] = {
    "not_in_channel": "invite the bot to the channel (/invite @bot)",
    "channel_not_found": "check the channel's id; the bot sees only channels that it was invited to",
    "is_archived": "the channel is archived",
    "missing_scope": "add the scope on the app's page and install the app again",
    "invalid_auth": "set platforms.slack.bot_token to the token that 'Install App' shows",
    "token_revoked": "install the app again and set platforms.slack.bot_token",
    "account_inactive": "install the app again and set platforms.slack.bot_token",
    "msg_too_long": "the text is longer than Slack allows",
}


class SlackRejected(DeliveryRejected):
    """Slack refused for good; `said` is its error code."""

    def __init__(self, text: str, failure: FailureClass, *, said: str) -> None:
        super().__init__(text, failure, credential=said in REVOKED)
        self.said = said


def read_answer(answer: PlatformAnswer, method: str) -> Json:
    """Return the object of a successful call; raise the delivery error of any other."""
    found = _object(answer.body)
    said = _code(found)
    if not answer.is_ok and not said:
        failure = failure_of(answer, platform=PLATFORM)
        if failure is not None:
            raise failure
    if found is None:
        raise DeliveryUnknown(
            f"slack: {method} answered {answer.status} with something that is not a JSON object; "
            "something between here and Slack answered for it",
            FailureClass.SERVICE_UNAVAILABLE,
        )
    if found.get("ok") is True:
        return found
    raise _refusal(method, said, found=found, answer=answer)


def _object(body: bytes) -> Json | None:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _code(found: Json | None) -> str:
    said = "" if found is None else found.get("error")
    return said if isinstance(said, str) and _CODE.fullmatch(said) else ""


def _refusal(method: str, said: str, *, found: Json, answer: PlatformAnswer) -> DeliveryError:
    told = f"slack: {method} was refused ({said or 'without a code'})"
    if said in _TOO_OFTEN:
        return NotDelivered(
            f"{told}; it will be sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=answer.retry_after,
        )
    if said in _PERHAPS or not said:
        return DeliveryUnknown(
            f"{told}; it may have succeeded anyway", FailureClass.SERVICE_UNAVAILABLE
        )
    if said in _NOT_NOW:
        return NotDelivered(
            f"{told}; it will be sent again later",
            FailureClass.SERVICE_UNAVAILABLE,
            retry_after=answer.retry_after,
        )
    needed = found.get("needed")
    hint = _HINTS.get(said, "correct the cause and replay the dead letter")
    if isinstance(needed, str) and said == "missing_scope":
        hint = f"{hint}: {needed[:80]}"
    return SlackRejected(f"{told}; {hint}", class_of(said), said=said)


def class_of(said: str) -> FailureClass:
    """Return the error class of a refusal, for dead letters."""
    if said in _UNAUTHORIZED:
        return FailureClass.UNAUTHORIZED
    return FailureClass.INVALID_RECIPIENT if said in _NO_RECIPIENT else FailureClass.REJECTED


def thread_of(target: Target, *, reply_in_thread: bool) -> str | None:
    """Return the thread that a reply goes to, if it goes to one."""
    if target.thread_id is not None:
        return target.thread_id
    answered = read_message_id(target.reply_to or "")
    if not reply_in_thread or answered is None or chat_type_of(target.chat_id) == "dm":
        return None
    return answered[1] if answered[0] == target.chat_id else None


def post_body(delivery: Delivery, content: Json, *, reply_in_thread: bool, unfurl: bool) -> Json:
    """Return the arguments of `chat.postMessage`; the key is sent as the message's metadata."""
    target = delivery.target
    body: Json = {
        "channel": target.chat_id,
        **content,
        "unfurl_links": unfurl,
        "unfurl_media": unfurl,
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": delivery.key}},
    }
    thread = thread_of(target, reply_in_thread=reply_in_thread)
    return body if thread is None else {**body, "thread_ts": thread}


def update_body(target: Target, platform_message_id: str, *, content: Json) -> Json:
    """Return the arguments of `chat.update`; metadata that is not given stays unchanged."""
    return {**_place(target, platform_message_id), **content}


def delete_body(target: Target, platform_message_id: str) -> Json:
    """Return the arguments of `chat.delete`."""
    return _place(target, platform_message_id)


def content_of(text: str, marks: Marks) -> Json:
    """Return the arguments that hold a Markdown text."""
    document = parse(text)
    return {"text": marks.write(document) or text, "blocks": as_blocks(document, marks)}


def _place(target: Target, platform_message_id: str) -> Json:
    found = read_message_id(platform_message_id)
    if found is None:
        return {"channel": target.chat_id, "ts": platform_message_id}
    return {"channel": found[0], "ts": found[1]}


def receipt_of(found: Json, *, chat_id: str) -> Receipt:
    """Return the receipt of a posted message."""
    channel, ts = found.get("channel"), found.get("ts")
    if not isinstance(ts, str) or not ts:
        raise DeliveryUnknown(
            "slack: chat.postMessage succeeded but returned no ts",
            FailureClass.SERVICE_UNAVAILABLE,
        )
    return Receipt(message_id(channel if isinstance(channel, str) else chat_id, ts))


def history_query(channel: str, thread: str | None, *, oldest: float, cursor: str) -> Json:
    """Return the arguments of `conversations.history`, or of `.replies` within a thread."""
    query: Json = {
        "channel": channel,
        "include_all_metadata": True,
        "oldest": f"{max(0.0, oldest):.6f}",
        "limit": PAGE,
    }
    if thread is not None:
        query["ts"] = thread
    return {**query, "cursor": cursor} if cursor else query


def find_key(found: Json, key: str, *, channel: str, file_id: str | None = None) -> Receipt | None:
    """Return the message on one page of a history that carries our key, or our file."""
    for message in _objects(found.get("messages")):
        metadata = message.get("metadata")
        payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
        ts = message.get("ts")
        if isinstance(payload, dict) and payload.get("key") == key and isinstance(ts, str):
            return Receipt(message_id(channel, ts))
        if file_id is not None and any(
            file.get("id") == file_id for file in _objects(message.get("files"))
        ):
            return Receipt(file_id)
    return None


def next_cursor(found: Json) -> str:
    """Return where the next page begins, or nothing."""
    metadata = found.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) else ""


def attachments_of(delivery: Delivery) -> tuple[Media, ...]:
    """Return the files of a delivery."""
    kinds = (ImagePart, AudioPart, FilePart)
    return tuple(part.media for part in delivery.parts if isinstance(part, kinds))


def entries_of(found: Json, *, team: str | None) -> tuple[ChatEntry, ...]:
    """Return the chats of one page of `conversations.list`."""
    entries = (_entry(channel, team) for channel in _objects(found.get("channels")))
    return tuple(entry for entry in entries if entry is not None)


def _entry(channel: Json, team: str | None) -> ChatEntry | None:
    chat_id, user = channel.get("id"), channel.get("user")
    if not isinstance(chat_id, str) or channel.get("is_archived") is True:
        return None
    is_direct = channel.get("is_im") is True
    if (
        not is_direct
        and channel.get("is_member") is not True
        and channel.get("is_mpim") is not True
    ):
        return None
    name = channel.get("name")
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
    channel = found.get("channel")
    told = channel if isinstance(channel, dict) else {}
    name, topic, members = told.get("name"), told.get("topic"), told.get("num_members")
    words = topic.get("value") if isinstance(topic, dict) else None
    return ChatInfo(
        chat_id=chat_id,
        chat_type=chat_type_of(chat_id),
        name=name if isinstance(name, str) else None,
        topic=words if isinstance(words, str) and words else None,
        members=members if isinstance(members, int) else None,
    )


def _objects(found: object) -> list[Json]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

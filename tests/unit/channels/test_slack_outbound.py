"""Replies as calls of the Web API, and its answers as what is known."""

import msgspec
import pytest

from hermes.channel_kit.refusals import failure_by, read_answer
from hermes.channels.slack.outbound import (
    content_of,
    find_key,
    history_query,
    place_of,
    post_body,
    receipt_of,
    thread_of,
)
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.markup.marks import Marks
from hermes.message.parts import TextPart
from hermes.net.platform_call import PlatformAnswer
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Delivery, Receipt, Target

MANIFEST = load_manifest("hermes.channels.slack")
MARKS = Marks(MANIFEST.markup)
TARGET = Target(platform="slack", account="default", chat_id="C1LAB", reply_to="C1LAB:1.000001")


def refused(code: str, **fields: object) -> PlatformAnswer:
    body = msgspec.json.encode({"ok": False, "error": code, **fields})
    return PlatformAnswer(status=200, body=body, retry_after=4.0)


def failure(answer: PlatformAnswer) -> DeliveryError:
    said = read_answer(answer, MANIFEST.rows.answer)
    found = failure_by(said, MANIFEST.rows.refusal, platform="slack", method="chat.postMessage")
    assert found is not None
    return found


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    ("answer", "error", "kind", "wait"),
    [
        (refused("ratelimited"), NotDelivered, FailureClass.RATE_LIMITED, 4.0),
        (
            PlatformAnswer(status=429, body=b'{"ok":false,"error":"ratelimited"}', retry_after=30.0),
            NotDelivered,
            FailureClass.RATE_LIMITED,
            30.0,
        ),
        (PlatformAnswer(status=429, retry_after=9.0), NotDelivered, FailureClass.RATE_LIMITED, 9.0),
        (PlatformAnswer(status=503), NotDelivered, FailureClass.SERVICE_UNAVAILABLE, None),
        (refused("service_unavailable"), NotDelivered, FailureClass.SERVICE_UNAVAILABLE, 4.0),
        (refused("fatal_error"), DeliveryUnknown, FailureClass.SERVICE_UNAVAILABLE, None),
        (refused("internal_error"), DeliveryUnknown, FailureClass.SERVICE_UNAVAILABLE, None),
        (refused("<b>odd"), DeliveryRejected, FailureClass.REJECTED, None),
        (PlatformAnswer(status=200, body=b"<html>"), DeliveryUnknown, FailureClass.SERVICE_UNAVAILABLE, None),
        (PlatformAnswer(status=200, body=b"[]"), DeliveryUnknown, FailureClass.SERVICE_UNAVAILABLE, None),
        (PlatformAnswer(status=200, body=b"{}"), DeliveryUnknown, FailureClass.SERVICE_UNAVAILABLE, None),
        *(
            (refused(code), DeliveryRejected, FailureClass.UNAUTHORIZED, None)
            for code in ("invalid_auth", "token_revoked", "account_inactive", "missing_scope")
        ),
        *(
            (refused(code), DeliveryRejected, FailureClass.INVALID_RECIPIENT, None)
            for code in ("channel_not_found", "not_in_channel", "is_archived", "user_not_found")
        ),
        *(
            (refused(code), DeliveryRejected, FailureClass.REJECTED, None)
            for code in ("msg_too_long", "no_text", "invalid_blocks", "restricted_action")
        ),
        (PlatformAnswer(status=404, body=b"no"), DeliveryRejected, FailureClass.INVALID_RECIPIENT, None),
    ],
)  # fmt: skip
def test_what_an_answer_says(answer, error, kind, wait) -> None:
    found = failure(answer)
    assert (type(found), found.failure, found.retry_after) == (error, kind, wait)


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    ("answer", "words", "is_credential"),
    [
        (refused("missing_scope", needed="chat:write"), "missing_scope chat:write); add the scope", False),
        (refused("not_in_channel"), "not_in_channel); invite the bot", False),
        (refused("invalid_auth"), "invalid_auth); set platforms.slack.bot_token", True),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(answer, words, is_credential) -> None:
    found = failure(answer)
    assert isinstance(found, DeliveryRejected)
    assert words in str(found)
    assert found.credential is is_credential


@pytest.mark.req("W10", "J17")
def test_a_post_carries_its_key_and_its_thread() -> None:
    delivery = Delivery(id="o_1", target=TARGET, parts=(TextPart("**a** & <b>"),), key="o_1.0")
    content = content_of("**a** & <b>", MARKS)
    body = post_body(delivery, content, thread="1.000001", unfurl=False)
    assert body == {
        "channel": "C1LAB",
        "text": "*a* &amp; &lt;b&gt;",
        "blocks": [
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": "*a* &amp; &lt;b&gt;"},
                "expand": True,
            }
        ],
        "unfurl_links": False,
        "unfurl_media": False,
        "metadata": {"event_type": "hermes_delivery", "event_payload": {"key": "o_1.0"}},
        "thread_ts": "1.000001",
    }


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("changes", "in_thread", "thread"),
    [
        ({}, True, "1.000001"),
        ({}, False, None),
        ({"thread_id": "5.000000"}, False, "5.000000"),
        ({"chat_id": "D1"}, True, None),
        ({"reply_to": "command:123"}, True, None),
        ({"reply_to": "C2OTHER:1.000001"}, True, None),
        ({"reply_to": None}, True, None),
    ],
)
def test_the_thread_of_a_reply(changes, in_thread, thread) -> None:
    target = msgspec.structs.replace(TARGET, **changes)
    assert thread_of(target, reply_in_thread=in_thread) == thread


@pytest.mark.req("W10")
def test_an_edit_goes_to_where_the_message_stands() -> None:
    target = msgspec.structs.replace(TARGET, chat_id="U1ADA")
    assert place_of(target, "D1ADA:3.000001") == ("D1ADA", "3.000001")
    assert place_of(target, "3.000001") == ("U1ADA", "3.000001")


@pytest.mark.req("J17")
def test_a_message_is_found_by_its_key_alone() -> None:
    page = {
        "messages": [
            {"ts": "3.1", "metadata": {"event_type": "x", "event_payload": {"key": "other"}}},
            {"ts": "2.1", "metadata": "odd", "files": ["odd", {"id": "F9"}]},
            "odd",
            {"ts": "1.1", "metadata": {"event_payload": {"key": "k"}}},
        ]
    }
    assert find_key(page, "k", channel="C1") == Receipt("C1:1.1")
    assert find_key(page, "none", channel="C1", file_id="F9") == Receipt("F9")
    assert find_key(page, "none", channel="C1", file_id="F1") is None
    assert find_key({"messages": None}, "k", channel="C1") is None


@pytest.mark.req("J17")
def test_a_look_asks_for_metadata() -> None:
    query = history_query("C1", "9.1", oldest=-5.0)
    assert query == {
        "channel": "C1",
        "include_all_metadata": True,
        "oldest": "0.000000",
        "limit": 200,
        "ts": "9.1",
    }


@pytest.mark.req("J17")
def test_a_post_without_a_ts_is_unknown() -> None:
    assert receipt_of({"ok": True, "ts": "1.1"}, chat_id="C1") == Receipt("C1:1.1")
    with pytest.raises(DeliveryUnknown):
        receipt_of({"ok": True}, chat_id="C1")

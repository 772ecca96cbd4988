"""Replies to the content of events, and what a homeserver's refusals mean."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.refusals import failure_by, read_answer
from hermes.channels.matrix.outbound import (
    MAX_CONTENT_BYTES,
    check_size,
    clean,
    edit_content,
    media_content,
    size_of,
    text_content,
    with_relation,
)
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media
from hermes.net.platform_call import PlatformAnswer
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Target
from hermes.testing.matrix.rules import check_message, read_object

MENTIONS: dict[str, object] = {"m.mentions": {}}


ROWS = load_manifest("hermes.channels.matrix").rows


def refused(status: int, code: str = "", **more: object) -> PlatformAnswer:
    wait = more.pop("wait", None)
    body = json.dumps({"errcode": code, "error": "secret words", **more}).encode()
    return PlatformAnswer(status=status, body=body, retry_after=wait)  # type: ignore[arg-type]


def failure(answer: PlatformAnswer) -> DeliveryError | None:
    said = read_answer(answer, ROWS.answer)
    return failure_by(said, ROWS.refusal, platform="matrix", method="send")


@pytest.mark.req("W10")
def test_a_text_has_html_only_if_it_says_more() -> None:
    assert text_content("hello\nyou") == {"msgtype": "m.text", "body": "hello\nyou", **MENTIONS}
    assert text_content("a **b** <c>") == {
        "msgtype": "m.text",
        "body": "a b <c>",
        "format": "org.matrix.custom.html",
        "formatted_body": "a <strong>b</strong> &lt;c&gt;",
        **MENTIONS,
    }


@pytest.mark.req("W10", "W19")
def test_an_edit_has_the_new_text_whole_and_little_of_it_for_old_clients() -> None:
    content = edit_content("x" * 1000, "$one")

    assert content["m.new_content"] == text_content("x" * 1000)
    assert content["m.relates_to"] == {"rel_type": "m.replace", "event_id": "$one"}
    assert content["body"] == "* " + "x" * 200


@pytest.mark.req("W10")
def test_threads_and_replies_are_related_as_clients_expect() -> None:
    def relation(**more: Any) -> object:
        target = Target(platform="matrix", account="a", chat_id="!r", **more)
        return with_relation({"body": "x"}, target).get("m.relates_to")

    reply = {"m.in_reply_to": {"event_id": "$b"}}
    thread = {"rel_type": "m.thread", "event_id": "$t"}
    assert relation() is None
    assert relation(reply_to="$b") == reply
    assert relation(thread_id="$t") == {
        **thread,
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$t"},
    }
    assert relation(thread_id="$t", reply_to="$b") == {**thread, "is_falling_back": False, **reply}


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("part", "mime", "kind"),
    [
        (ImagePart, "image/png", "m.image"),
        (AudioPart, "audio/ogg", "m.audio"),
        (FilePart, "video/mp4", "m.video"),
        (FilePart, "text/plain", "m.file"),
    ],
)
def test_an_attachment_says_what_it_is(part: type, mime: str, kind: str) -> None:
    media = Media(mime, name="a.b")

    assert media_content(part(media), media, uri="mxc://a/b", size=3) == {
        "msgtype": kind,
        "body": "a.b",
        "filename": "a.b",
        "url": "mxc://a/b",
        "info": {"mimetype": mime, "size": 3},
        **MENTIONS,
    }


@pytest.mark.req("W10")
def test_what_is_too_large_first_loses_its_html_and_then_is_refused() -> None:
    large = "**x** " * 9_000
    huge = "x" * (MAX_CONTENT_BYTES + 1)

    content = text_content(large)
    assert "formatted_body" not in content
    check_size(content)
    with pytest.raises(DeliveryRejected, match="is too large"):
        check_size(text_content(huge))


@pytest.mark.req("W10")
@given(st.text(max_size=200) | st.just('**é** `"` \n\n- \x01\\'))
def test_what_is_measured_is_what_goes_over_the_wire(text: str) -> None:
    content = text_content(text)
    bodies = (content["body"], content.get("formatted_body", ""))

    wire = [json.dumps(one, ensure_ascii=False).encode() for one in bodies]

    assert size_of(text) == sum(len(one) - 2 for one in wire)


@pytest.mark.req("W10")
@given(st.text(alphabet=st.characters(), max_size=50))
def test_any_text_can_be_sent(text: str) -> None:
    words = f"a{text}"

    for content in (text_content(words), edit_content(words, "$one")):
        check_message(read_object(json.dumps(content).encode()))


@pytest.mark.req("W10")
def test_half_characters_and_ends_of_strings_are_replaced() -> None:
    assert clean("a\ud800b\0c") == "a?b\ufffdc"


@pytest.mark.req("A26", "A28")
@pytest.mark.parametrize(
    ("answer", "kind", "why", "wait"),
    [
        (refused(429, "M_LIMIT_EXCEEDED", retry_after_ms=1500), NotDelivered, FailureClass.RATE_LIMITED, 1.5),
        (refused(429, "M_LIMIT_EXCEEDED", wait=3.0), NotDelivered, FailureClass.RATE_LIMITED, 3.0),
        (refused(429, "M_LIMIT_EXCEEDED", retry_after_ms=-5), NotDelivered, FailureClass.RATE_LIMITED, 0.0),
        (PlatformAnswer(status=429, body=b"<html>"), NotDelivered, FailureClass.RATE_LIMITED, None),
        (refused(500, "M_UNKNOWN"), NotDelivered, FailureClass.SERVICE_UNAVAILABLE, None),
        (refused(503, "", wait=9.0), NotDelivered, FailureClass.SERVICE_UNAVAILABLE, 9.0),
        (PlatformAnswer(status=504, body=b"<html>"), DeliveryUnknown, FailureClass.NETWORK_TIMEOUT, None),
        (PlatformAnswer(status=502, body=b""), DeliveryUnknown, FailureClass.NETWORK_TIMEOUT, None),
        (refused(401, "M_UNKNOWN_TOKEN"), DeliveryRejected, FailureClass.UNAUTHORIZED, None),
        (refused(403, "M_USER_DEACTIVATED"), DeliveryRejected, FailureClass.UNAUTHORIZED, None),
        (refused(403, "M_FORBIDDEN"), DeliveryRejected, FailureClass.INVALID_RECIPIENT, None),
        (refused(404, "M_NOT_FOUND"), DeliveryRejected, FailureClass.INVALID_RECIPIENT, None),
        (refused(413, "M_TOO_LARGE"), DeliveryRejected, FailureClass.REJECTED, None),
        (refused(400, "M_BAD_JSON"), DeliveryRejected, FailureClass.REJECTED, None),
        (PlatformAnswer(status=400, body=b"[" * 9000), DeliveryRejected, FailureClass.REJECTED, None),
    ],
)  # fmt: skip
def test_a_refusal_says_what_can_be_done(
    answer: PlatformAnswer, kind: type[DeliveryError], why: FailureClass, wait: float | None
) -> None:
    error = failure(answer)

    assert error is not None
    assert (type(error), error.failure, error.retry_after) == (kind, why, wait)
    assert "secret words" not in str(error)

"""Deliveries as calls of the Bot API, and what its answers mean."""

import json
from email import message_from_bytes
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.telegram.format import MarkupText, written
from hermes.channels.telegram.outbound import (
    BotUpload,
    draft_call,
    edit_call,
    encode_multipart,
    kind_of,
    media_calls,
    text_call,
)
from hermes.channels.telegram.refusals import BotAnswer, message_id, read_reply, refusal
from hermes.channels.telegram.settings import TelegramSettings, read
from hermes.errors import ConfigurationError, DeliveryError, DeliveryRejected, DeliveryUnknown
from hermes.message.markup.marks import Marks
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media
from hermes.net.platform_call import PlatformAnswer
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Target
from hermes.testing.telegram import rules

MARKS = Marks(load_manifest("hermes.channels.telegram").markup)
TOKEN = "1:not-a-real-token"
SETTINGS = TelegramSettings(bot_token=TOKEN)
DM = Target(platform="telegram", account="default", chat_id="5", reply_to="9@5")
TOPIC = Target(
    platform="telegram", account="default", chat_id="-1001", thread_id="4", reply_to="9@-1001"
)
JPEG = Media("image/jpeg", name="a.jpg")


def said(text: str) -> MarkupText:
    return written(text, MARKS)


def upload(kind: str) -> BotUpload:
    return BotUpload(kind=kind, name=f"x.{kind}", mime="a/b", data=b"1")


def answer(status: int, said: str, **parameters: Any) -> PlatformAnswer:
    body = {"ok": False, "error_code": status, "description": said, "parameters": parameters}
    return PlatformAnswer(status=status, body=json.dumps(body).encode())


def ok(answer: PlatformAnswer) -> BotAnswer:
    reply = read_reply(answer)
    assert reply.is_ok
    return reply


@pytest.mark.req("W10")
def test_a_text_goes_out_as_html_without_a_preview_of_its_links() -> None:
    call = text_call(DM, said("**hi** <you>"), settings=SETTINGS)

    assert (call.method, dict(call.params)) == (
        "sendMessage",
        {
            "chat_id": 5,
            "text": "<b>hi</b> &lt;you&gt;",
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": True},
        },
    )
    assert call.without_markup().params["text"] == "hi <you>"
    assert "parse_mode" not in call.without_markup().params


@pytest.mark.req("W10")
def test_in_a_group_it_points_at_what_it_answers_and_stays_in_its_topic() -> None:
    params = text_call(TOPIC, said("hi"), settings=SETTINGS).params
    never = TelegramSettings(bot_token=TOKEN, quote="never", link_previews=True)

    assert params["reply_parameters"] == {"message_id": 9, "allow_sending_without_reply": True}
    assert params["message_thread_id"] == 4
    assert text_call(TOPIC, said("hi"), settings=never).params.keys() == {
        *("chat_id", "message_thread_id", "text", "parse_mode")
    }
    always = TelegramSettings(bot_token=TOKEN, quote="always")
    assert "reply_parameters" in text_call(DM, said("hi"), settings=always).params


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("chat", "thread"), [("chat-1", None), ("", None), ("9" * 30, None), ("-", None), ("5", "x")]
)
def test_a_target_that_is_none_is_said_so(chat: str, thread: str | None) -> None:
    target = Target(platform="telegram", account="a", chat_id=chat, thread_id=thread)
    with pytest.raises(DeliveryRejected) as caught:
        text_call(target, said("hi"), settings=SETTINGS)
    assert caught.value.failure == "invalid_recipient"


@pytest.mark.req("W10")
def test_the_general_topic_is_written_in_by_naming_none() -> None:
    general = Target(platform="telegram", account="a", chat_id="-1001", thread_id="1")

    assert "message_thread_id" not in text_call(general, said("hi"), settings=SETTINGS).params


@pytest.mark.req("W19")
def test_drafts_are_for_private_chats() -> None:
    assert dict(draft_call(DM, 0, text=said("**a")).params) == {
        "chat_id": 5,
        "draft_id": 1,
        "text": "**a",
        "parse_mode": "HTML",
    }
    with pytest.raises(DeliveryRejected):
        draft_call(TOPIC, 3, text=said("a"))


@pytest.mark.req("W10", "W17")
@pytest.mark.parametrize(
    ("kinds", "methods"),
    [
        (["photo"], ["sendPhoto"]),
        (["photo", "photo", "video"], ["sendMediaGroup"]),
        (["photo"] * 12, ["sendMediaGroup", "sendMediaGroup"]),
        (["photo"] * 11, ["sendMediaGroup", "sendPhoto"]),
        (["voice", "voice"], ["sendVoice", "sendVoice"]),
        (["photo", "document", "document"], ["sendPhoto", "sendMediaGroup"]),
        (["audio"], ["sendAudio"]),
        (["video"], ["sendVideo"]),
    ],
)
def test_pictures_go_together_as_telegram_allows(kinds: list[str], methods: list[str]) -> None:
    calls = media_calls(
        DM, said("see"), uploads=[upload(kind) for kind in kinds], settings=SETTINGS
    )

    assert [call.method for call in calls] == methods
    first = calls[0].params
    assert (first.get("caption") or first["media"][0]["caption"]) == "see"
    for call in calls:
        named = {**call.params, **({} if "media" in call.params else call.files)}
        assert rules.check(call.method, named, is_form=False)


@pytest.mark.req("W17")
def test_a_text_too_long_for_a_caption_goes_before() -> None:
    uploads = [upload("photo")]
    fits = media_calls(DM, said("😀" * 512), uploads=uploads, settings=SETTINGS)
    long = media_calls(DM, said("😀" * 513), uploads=uploads, settings=SETTINGS)

    assert [call.method for call in fits] == ["sendPhoto"]
    assert [call.method for call in long] == ["sendMessage", "sendPhoto"]
    assert "caption" not in long[1].params


@pytest.mark.req("W17")
def test_a_caption_without_markup_is_its_plain_text() -> None:
    parts = said("**a**")
    album = media_calls(DM, parts, uploads=[upload("photo")] * 2, settings=SETTINGS)[0]
    single = media_calls(DM, parts, uploads=[upload("photo")], settings=SETTINGS)[0]

    assert album.without_markup().params["media"][0] == {
        "type": "photo",
        "media": "attach://file0",
        "caption": "a",
    }
    assert single.without_markup().params["caption"] == "a"
    assert single.as_document().files.keys() == {"document"}


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("part", "size", "kind"),
    [
        (ImagePart(JPEG), 5, "photo"),
        (ImagePart(JPEG), 10_000_001, "document"),
        (ImagePart(Media("image/gif")), 5, "document"),
        (AudioPart(Media("audio/ogg; codecs=opus")), 5, "voice"),
        (AudioPart(Media("audio/mpeg")), 5, "audio"),
        (AudioPart(Media("audio/wav")), 5, "document"),
        (FilePart(Media("video/mp4")), 5, "video"),
        (FilePart(Media("image/jpeg")), 5, "document"),
    ],
)
def test_what_is_attached_is_shown_as_what_it_is(part: Any, size: int, kind: str) -> None:
    assert kind_of(part, size=size) == kind


@pytest.mark.req("W17")
@given(st.text(max_size=30), st.binary(max_size=50))
def test_an_upload_is_a_form_that_others_read(name: str, data: bytes) -> None:
    file = BotUpload(kind="photo", name=name, mime="image/png", data=b"\x00" + data + b"\x00")
    body = encode_multipart({"chat_id": 5, "caption": "ä"}, {"photo": file}, boundary="b0unda-ry")

    head = b'Content-Type: multipart/form-data; boundary="b0unda-ry"\r\n\r\n'
    parts = message_from_bytes(head + body).get_payload()
    assert isinstance(parts, list)
    assert len(parts) == 3
    assert body.count(b'\r\nContent-Disposition: form-data; name="') == 3


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    ("status", "said", "kind", "failure"),
    [
        (401, "Unauthorized", "DeliveryRejected", "unauthorized"),
        (404, "Not Found", "DeliveryRejected", "unauthorized"),
        (403, "Forbidden: bot was blocked by the user", "DeliveryRejected", "invalid_recipient"),
        (400, "Bad Request: chat not found", "DeliveryRejected", "invalid_recipient"),
        (400, "Bad Request: message thread not found", "DeliveryRejected", "invalid_recipient"),
        (400, "Bad Request: message is too long", "DeliveryRejected", "rejected"),
        (409, "Conflict: terminated by other getUpdates request", "NotDelivered", "service_unavailable"),
        (429, "Too Many Requests: retry after 7", "NotDelivered", "rate_limited"),
        (502, "Bad Gateway", "NotDelivered", "service_unavailable"),
    ],
)  # fmt: skip
def test_every_refusal_has_its_class(status: int, said: str, kind: str, failure: str) -> None:
    error = refusal(read_reply(answer(status, said)))

    assert (type(error).__name__, error.failure) == (kind, failure)


@pytest.mark.req("A26")
def test_what_a_refusal_asks_for_is_read() -> None:
    slow = refusal(read_reply(answer(429, "Too Many Requests", retry_after=7)))
    moved = read_reply(answer(400, "group chat was upgraded", migrate_to_chat_id=-1005))
    page = PlatformAnswer(status=502, body=b"<html>bad gateway</html>", retry_after=3.0)

    assert slow.retry_after == 7
    assert moved.migrated_to == -1005
    assert refusal(read_reply(page)).retry_after == 3.0


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"ok": true}', b'{"ok": true, "result": {}}', b'{"ok":true,"result":[]}'],
)  # fmt: skip
def test_a_success_that_cannot_be_read_is_unknown(body: bytes) -> None:
    with pytest.raises(DeliveryUnknown):
        message_id(ok(PlatformAnswer(status=200, body=body)))


@pytest.mark.req("J17")
@given(st.binary(max_size=200), st.sampled_from([200, 400, 403, 429, 500]))
def test_any_answer_is_a_result_or_a_delivery_error(body: bytes, status: int) -> None:
    try:
        reply = read_reply(PlatformAnswer(status=status, body=body))
        assert reply.is_ok or isinstance(refusal(reply), DeliveryError)
    except DeliveryUnknown:
        assert status == 200


@pytest.mark.req("W10")
def test_the_id_of_an_album_is_that_of_its_first_message() -> None:
    reply = read_reply(
        PlatformAnswer(status=200, body=b'{"ok":true,"result":[{"message_id":3},{"message_id":4}]}')
    )

    assert message_id(reply) == "3"


@pytest.mark.req("W10")
def test_an_edit_names_the_message() -> None:
    params = edit_call(DM, "12", text=said("a"), settings=SETTINGS).params

    assert rules.check("editMessageText", params, is_form=False)["message_id"] == 12
    with pytest.raises(DeliveryRejected):
        edit_call(DM, "x", text=said("a"), settings=SETTINGS)


@pytest.mark.req("A8", "W12")
@pytest.mark.parametrize(
    ("table", "url", "named"),
    [
        ({"bot_token": "nonsense"}, None, "bot_token"),
        ({"bot_token": "1:abc/../../x"}, None, "bot_token"),
        ({"bot_token": TOKEN, "api_url": "ftp://e.org"}, None, "api_url"),
        ({"bot_token": TOKEN, "api_url": "http://e.org:99999"}, None, "api_url"),
        ({"bot_token": TOKEN, "poll_timeout_s": 90}, None, "poll_timeout_s"),
        ({"bot_token": TOKEN, "mode": "webhook"}, "https://e.org", "webhook_secret.*found none"),
        (
            {"bot_token": TOKEN, "mode": "webhook", "webhook_secret": "short"},
            "https://e.org",
            "webhook_secret",
        ),
        ({"bot_token": TOKEN, "mode": "webhook", "webhook_secret": "s" * 32}, None, "public_url"),
    ],
)
def test_settings_that_would_not_work_refuse_the_start(
    table: dict[str, Any], url: str | None, named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named) as caught:
        read(table, webhook_url=url)
    assert all(str(table[key]) not in str(caught.value) for key in ("bot_token",))
    assert TOKEN not in repr(SETTINGS)

"""Deliveries as calls of the Bot API, and what its answers mean."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.refusals import failure_by, read_answer
from hermes.channels.telegram.client import sent_id
from hermes.channels.telegram.format import MarkupText, written
from hermes.channels.telegram.outbound import (
    BotUpload,
    draft_call,
    edit_call,
    kind_of,
    reaction_call,
    send_calls,
    text_call,
)
from hermes.channels.telegram.settings import TelegramSettings, read
from hermes.errors import ConfigurationError, DeliveryError, DeliveryRejected, DeliveryUnknown
from hermes.message.markup.marks import Marks
from hermes.message.parts import AudioPart, Choice, FilePart, ImagePart, Media
from hermes.net.platform_call import PlatformAnswer
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Target
from hermes.testing.call_rules import CallRules, Upload
from hermes.testing.site import load_platform
from hermes.testing.telegram.platform import TelegramStandIn

MANIFEST = load_manifest("hermes.channels.telegram")
MARKS = Marks(MANIFEST.markup)
_ROWS = load_platform("hermes.testing.telegram")
RULES = CallRules(
    {name: row.takes for name, row in _ROWS.routes.items()},
    groups=_ROWS.groups,
    objects=_ROWS.objects,
    kinds=TelegramStandIn.kinds,
)
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


def refusal(found: PlatformAnswer, *, call: str = "sendMessage") -> DeliveryError | None:
    said = read_answer(found, MANIFEST.answer)
    return failure_by(said, MANIFEST.refusal, platform="telegram", method=call)


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
    calls = send_calls(DM, said("see"), uploads=[upload(kind) for kind in kinds], settings=SETTINGS)

    assert [call.method for call in calls] == methods
    first = calls[0].params
    assert (first.get("caption") or first["media"][0]["caption"]) == "see"
    for call in calls:
        files = {name: Upload(one.name, one.mime, one.data) for name, one in call.files.items()}
        assert RULES.check(call.method, {**call.params, **files}, is_form=False)


@pytest.mark.req("W17")
def test_a_text_too_long_for_a_caption_goes_before() -> None:
    uploads = [upload("photo")]
    fits = send_calls(DM, said("😀" * 512), uploads=uploads, settings=SETTINGS)
    long = send_calls(DM, said("😀" * 513), uploads=uploads, settings=SETTINGS)

    assert [call.method for call in fits] == ["sendPhoto"]
    assert [call.method for call in long] == ["sendMessage", "sendPhoto"]
    assert "caption" not in long[1].params


@pytest.mark.req("W17")
def test_a_caption_without_markup_is_its_plain_text() -> None:
    parts = said("**a**")
    album = send_calls(DM, parts, uploads=[upload("photo")] * 2, settings=SETTINGS)[0]
    single = send_calls(DM, parts, uploads=[upload("photo")], settings=SETTINGS)[0]

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
@pytest.mark.parametrize(
    ("mime", "is_voice", "kind"),
    [
        ("audio/ogg", False, "voice"),
        ("audio/mpeg", True, "voice"),
        ("audio/mp4", True, "voice"),
        ("audio/wav", True, "document"),
    ],
)
def test_what_somebody_speaks_is_a_voice_if_telegram_takes_it(
    mime: str, is_voice: bool, kind: str
) -> None:
    assert kind_of(AudioPart(Media(mime), is_voice=is_voice), size=5) == kind


@pytest.mark.req("W10")
def test_long_labels_have_a_row_each_and_a_question_is_never_a_caption() -> None:
    long = (Choice("Delete everything", "c_1"), Choice("No", "c_2"))
    call, picture = send_calls(
        DM, said("Sure?"), uploads=[upload("photo")], choices=long, settings=SETTINGS
    )

    assert RULES.check(call.method, call.params, is_form=False)["reply_markup"] == {
        "inline_keyboard": [
            [{"text": "Delete everything", "callback_data": "c_1"}],
            [{"text": "No", "callback_data": "c_2"}],
        ]
    }
    assert (picture.method, "caption" in picture.params) == ("sendPhoto", False)


@pytest.mark.req("W10")
def test_each_reaction_of_the_manifest_is_one_that_telegram_allows() -> None:
    allowed = _ROWS.more["reactions"].split(" ")

    assert MANIFEST.reactions.keys() == {"seen", "working", "done"}
    for emoji in MANIFEST.reactions.values():
        params = reaction_call(DM, "9@5", emoji=emoji).params
        assert RULES.check("setMessageReaction", params, is_form=False) == {
            "chat_id": 5,
            "message_id": 9,
            "reaction": [{"type": "emoji", "emoji": emoji}],
        }
        assert emoji in allowed


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
    error = refusal(answer(status, said))

    assert error is not None
    assert (type(error).__name__, error.failure) == (kind, failure)
    assert said in str(error)


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("call", "said", "is_fine"),
    [
        ("editMessageText", "message is not modified: specified new message content", True),
        ("deleteMessage", "message to delete not found", True),
        ("deleteMessage", "MESSAGE_ID_INVALID", True),
        ("setMessageReaction", "MESSAGE_ID_INVALID", False),
        ("editMessageText", "message to edit not found", False),
    ],
)
def test_what_is_so_already_is_no_failure(call: str, said: str, is_fine: bool) -> None:
    assert (refusal(answer(400, f"Bad Request: {said}"), call=call) is None) is is_fine


@pytest.mark.req("W2")
def test_a_file_that_is_gone_says_nothing_of_the_token() -> None:
    error = refusal(answer(404, "Not Found"), call="download")

    assert error is not None
    assert (type(error).__name__, error.failure) == ("NotDelivered", "service_unavailable")


@pytest.mark.req("A26")
def test_what_a_refusal_asks_for_is_read() -> None:
    slow = refusal(answer(429, "Too Many Requests", retry_after=7))
    page = refusal(PlatformAnswer(status=502, body=b"<html>bad gateway</html>", retry_after=3.0))

    assert slow is not None
    assert page is not None
    assert (slow.retry_after, page.retry_after) == (7, 3.0)


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    "found",
    [None, [], {}, {"ok": True}, {"result": {}}, {"result": []}, {"result": [{}]}, {"result": [1]}],
)
def test_a_success_that_cannot_be_read_is_unknown(found: object) -> None:
    with pytest.raises(DeliveryUnknown):
        sent_id(found, method="sendMessage")


@pytest.mark.req("W10")
def test_the_id_of_an_album_is_that_of_its_first_message() -> None:
    one, album = {"message_id": 3}, [{"message_id": 4}, {"message_id": 5}]

    assert sent_id({"result": one}, method="sendMessage") == "3"
    assert sent_id({"result": album}, method="sendMediaGroup") == "4"


@pytest.mark.req("J17")
@given(st.binary(max_size=200), st.sampled_from([200, 400, 403, 429, 500]))
def test_any_answer_is_a_result_or_a_delivery_error(body: bytes, status: int) -> None:
    found = refusal(PlatformAnswer(status=status, body=body))

    assert found is None or isinstance(found, DeliveryError)
    assert found is not None or status == 200


@pytest.mark.req("W10")
def test_an_edit_names_the_message() -> None:
    params = edit_call(DM, "12", text=said("a"), settings=SETTINGS).params

    assert RULES.check("editMessageText", params, is_form=False)["message_id"] == 12
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
        read(read_settings(MANIFEST, table), webhook_url=url)
    assert all(str(table[key]) not in str(caught.value) for key in ("bot_token",))
    assert TOKEN not in repr(SETTINGS)

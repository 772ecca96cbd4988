"""What QQ's messages become, and what becomes of addresses in replies."""

import msgspec
import pytest

from hermes.channel_kit.bodies import decode
from hermes.channels.qq.inbound import message_event
from hermes.channels.qq.outbound import without_addresses
from hermes.channels.qq.wire import WireMessage
from hermes.errors import BadRequest
from hermes.message.event import NO_RAW, MessageEvent, ReplyHandle
from hermes.message.parts import AudioPart, ImagePart, Media, TextPart

NOW = 1_800_000_000.0
AT = "2026-07-21T10:00:00+08:00"
SENT = 1_784_599_200.0


def event(kind: str = "C2C_MESSAGE_CREATE", **told: object) -> MessageEvent | None:
    author = {"user_openid": "A1", "member_openid": "B2", "username": "Ada"}
    whole = {"id": "ROBOT1.0_x", "author": author, "content": "hi", "timestamp": AT, **told}
    message = decode(msgspec.json.encode(whole), WireMessage, platform="qq")
    return message_event(message, kind=kind, account="a", now=NOW, raw=NO_RAW)


@pytest.mark.req("W9", "W10")
def test_a_direct_message_can_be_answered_for_an_hour() -> None:
    found = event()

    assert found is not None
    assert (found.external_id, found.at, found.addressed) == ("ROBOT1.0_x", SENT, True)
    assert (found.source.chat_id, found.source.user_id, found.source.user_name) == (
        "A1",
        "A1",
        "Ada",
    )
    assert found.handle == ReplyHandle(token="ROBOT1.0_x", until=SENT + 3600)


@pytest.mark.req("W17", "W10")
@pytest.mark.parametrize(
    ("kind", "mentions", "addressed"),
    [
        ("GROUP_AT_MESSAGE_CREATE", [], True),
        ("GROUP_MESSAGE_CREATE", [], False),
        ("GROUP_MESSAGE_CREATE", [{"id": "M1", "is_you": True}], True),
    ],
)
def test_a_group_hears_who_is_meant(
    kind: str, mentions: list[dict[str, object]], addressed: bool
) -> None:
    found = event(kind, group_openid="G1", mentions=mentions, content=" <@M1> hi <@M2>")

    assert found is not None
    assert (found.source.chat_id, found.source.user_id, found.source.chat_type) == (
        "G1",
        "B2",
        "group",
    )
    assert found.addressed is addressed
    assert found.handle == ReplyHandle(token="ROBOT1.0_x", until=SENT + 300)
    own = "<@M1> " if not mentions else ""
    assert found.text == f"{own}hi <@M2>"


@pytest.mark.req("W17")
def test_files_are_parts_by_what_they_are() -> None:
    files = [
        {"url": "//gchat.qpic.cn/a", "content_type": "image/png", "filename": "a.png", "size": 3},
        {"url": "https://multimedia.nt.qq.com.cn/b", "content_type": "voice"},
    ]
    found = event(attachments=files)

    assert found is not None
    assert found.parts == (
        TextPart("hi"),
        ImagePart(Media("image/png", name="a.png", size=3, ref="https://gchat.qpic.cn/a")),
        AudioPart(
            Media("audio/silk", size=0, ref="https://multimedia.nt.qq.com.cn/b"), is_voice=True
        ),
    )


@pytest.mark.req("W14", "J13")
@pytest.mark.parametrize(
    "told",
    [
        {"id": 12345678901234567890},
        {"group_openid": "../users/@me"},
        {"author": {"user_openid": "a/b"}},
        {"id": ""},
    ],
)
def test_an_id_that_is_no_text_or_no_openid_is_not_read(told: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        event("C2C_MESSAGE_CREATE", **told)


def test_a_message_of_nothing_or_of_nobody_is_no_event() -> None:
    assert event(content="") is None
    assert event(author={"member_openid": "B2"}) is None
    assert event(timestamp="soon") is not None


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://x.example.org/a.b?c=d.e.", "see x．example．org/a.b?c=d.e."),
        ("HTTP://127.0.0.1:80/x", "127．0．0．1:80/x"),
        ("github.com/user/repo, www.qq.com", "github．com/user/repo, www．qq．com"),
        ("main.py, e.g. version 1.2.3. Done.", "main.py, e.g. version 1.2.3. Done."),
        ("ann@example.org", "ann@example.org"),
    ],
)
def test_an_address_is_shown_so_that_qq_finds_none(text: str, shown: str) -> None:
    assert without_addresses(text) == shown

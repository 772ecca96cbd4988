"""Slack's wire as events: authenticity, shape, mrkdwn, and that nothing else can come out."""

import string
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.signature import Clock as SdkClock
from slack_sdk.signature import SignatureVerifier

from hermes.channel_kit.proof import check_proof, sign
from hermes.channels.slack.inbound import (
    SlackIdentity,
    arrived_of,
    interaction_event,
    mentioned,
    message_event,
    people_of,
    plain,
    reaction_event,
    without_mention,
)
from hermes.channels.slack.wire import (
    Frame,
    WireCall,
    WireCommand,
    WireInteraction,
    WireMessage,
    WirePosted,
    WireReaction,
    decode,
    decode_event,
    read_form,
)
from hermes.errors import BadRequest, TooLarge, Unauthenticated
from hermes.message.event import MessageEvent
from hermes.message.parts import AudioPart, FilePart, ImagePart
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow

PROOF = load_manifest("hermes.channels.slack").rows.webhook.proof  # type: ignore[union-attr]
ME = SlackIdentity(user_id="U0BOT", name="hermes", bot_id="B0BOT", team_id="T1")
BASE = {
    "type": "message",
    "channel": "C1LAB",
    "user": "U1ADA",
    "text": "hi",
    "ts": "1700000000.000100",
}
# The vector of Slack's own page on verifying requests.
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
STAMP = "1531420618"
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibI"
    b"GlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"


def message_of(**changes: Any) -> WireMessage:
    found = decode_event(msgspec.json.encode({**BASE, **changes}))
    assert isinstance(found, WireMessage)
    return found


def event_of(**changes: Any) -> MessageEvent | None:
    found = decode_event(msgspec.json.encode({**BASE, **changes}))
    is_message = isinstance(found, WireMessage)
    return message_event(found, ME, names={"U1ADA": "Ada"}) if is_message else None  # type: ignore[arg-type]


def headers(signature: str = SIGNATURE, stamp: str = STAMP) -> dict[str, str]:
    return {"x-slack-signature": signature, "x-slack-request-timestamp": stamp}


def check(headers: dict[str, str], body: bytes, *, now: float) -> bytes:
    assert isinstance(PROOF, ProofRow)
    call = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)
    return check_proof(PROOF, call, secret=SECRET, now=now)


def signed(body: bytes, stamp: int) -> dict[str, str]:
    assert isinstance(PROOF, ProofRow)
    call = HttpRequest(method="POST", path="", query={}, headers={}, body=body)
    return dict(sign(PROOF, call, secret=SECRET, now=stamp).headers)


@pytest.mark.req("W9")
def test_the_documented_signature_is_ours() -> None:
    assert signed(BODY, int(STAMP)) == headers()
    check(headers(), BODY, now=float(STAMP))


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("given_headers", "body", "late"),
    [
        (headers("v0=" + "0" * 64), BODY, 0),
        (headers(SIGNATURE.upper()), BODY, 0),
        (headers(SIGNATURE.removeprefix("v0=")), BODY, 0),
        (headers("v0=é"), BODY, 0),
        (headers(""), BODY, 0),
        (headers(), BODY.replace(b"%2F", b"/"), 0),
        (headers(), BODY[:-1], 0),
        (headers(), BODY, 301),
        (headers(), BODY, -301),
        (headers(stamp="1531420619"), BODY, 0),
        (headers(stamp="-1"), BODY, 0),
        (headers(stamp="1531420618.0"), BODY, 0),
        (headers(stamp="9" * 400), BODY, 0),
        ({"x-slack-signature": SIGNATURE}, BODY, 0),
        ({}, BODY, 0),
    ],
)
def test_what_slack_did_not_sign_just_now_is_refused(given_headers, body, late) -> None:
    with pytest.raises(Unauthenticated):
        check(given_headers, body, now=float(STAMP) + late)


class At(SdkClock):
    """The SDK's clock at one moment."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


@pytest.mark.req("W9")
@given(
    body=st.text(),
    stamp=st.integers(0, 2_000_000_000),
    late=st.integers(-400, 400),
    spoil=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_sdk_and_we_agree_on_signatures(body: str, stamp: int, late: int, spoil: bool) -> None:
    raw = body.encode(errors="replace")
    shown = signed(raw + (b"!" if spoil else b""), stamp)
    signature = shown["x-slack-signature"]
    theirs = SignatureVerifier(SECRET, At(stamp + late)).is_valid(raw, str(stamp), signature)
    try:
        check(shown, raw, now=stamp + late)
        ours = True
    except Unauthenticated:
        ours = False
    assert ours == theirs


@pytest.mark.req("A2", "W11")
def test_a_message_in_a_channel() -> None:
    event = event_of(thread_ts="1699999999.000001", text="<@U0BOT> hello <@U1ADA>")
    assert event is not None
    assert (event.external_id, event.route, event.at) == (
        "C1LAB:1700000000.000100",
        "events",
        1700000000.0001,
    )
    assert (event.text, event.source.thread_id) == ("hello @Ada", "1699999999.000001")
    assert (event.source.chat_type, event.source.guild_id, event.addressed) == (
        "channel",
        "T1",
        True,
    )


@pytest.mark.req("W9")
@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message", None])
def test_these_subtypes_are_peoples_words(subtype) -> None:
    event = event_of(subtype=subtype)
    assert event is not None
    assert event.text == "hi"


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "changes",
    [
        *({"subtype": name} for name in ("message_changed", "message_deleted", "channel_join")),
        *({"subtype": name} for name in ("message_replied", "channel_topic", "pinned_item")),
        {"user": "U0BOT"},
        {"bot_id": "B0BOT"},
        {"hidden": True},
        {"user": None},
        {"text": ""},
        {"type": "pin_added"},
    ],
)
def test_these_are_left_alone(changes) -> None:
    assert event_of(**changes) is None


@pytest.mark.req("W9")
def test_another_bot_is_told_as_one() -> None:
    event = event_of(user=None, bot_id="B2OTHER", username="deploys", subtype="bot_message")
    assert event is not None
    assert (event.source.is_bot, event.source.user_id, event.source.user_name) == (
        True,
        "B2OTHER",
        "deploys",
    )


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("channel", "kind", "thread", "addressed"),
    [("D1", "dm", None, True), ("G1", "group", None, False), ("C1", "channel", None, False)],
)
def test_what_a_chat_is_its_id_says(channel, kind, thread, addressed) -> None:
    event = event_of(channel=channel)
    assert event is not None
    assert (event.source.chat_type, event.source.thread_id, event.addressed) == (
        kind,
        thread,
        addressed,
    )


@pytest.mark.req("W9")
def test_slacks_word_for_a_mention_is_enough() -> None:
    event = event_of(type="app_mention")
    assert event is not None
    assert event.addressed


@pytest.mark.req("W9")
def test_a_mention_begins_a_thread_only_where_that_is_wanted() -> None:
    message = message_of(text="<@U0BOT> hi")
    with_thread = message_event(message, ME)
    without = message_event(message, msgspec.structs.replace(ME, reply_in_thread=False))
    assert with_thread is not None
    assert without is not None
    assert (with_thread.source.thread_id, without.source.thread_id) == (BASE["ts"], None)


@pytest.mark.req("W9")
def test_a_mention_alone_is_a_message() -> None:
    event = event_of(text="<@U0BOT> ")
    assert event is not None
    assert (event.text, event.addressed) == ("@hermes", True)


@pytest.mark.req("W17")
def test_a_clip_that_somebody_spoke_is_a_voice() -> None:
    clip = {"id": "F1", "mimetype": "audio/webm", "url_private": "https://files.slack.com/x"}
    event = event_of(
        subtype="file_share", text="", files=[{**clip, "subtype": "slack_audio"}, clip]
    )
    assert event is not None
    found = [part.is_voice for part in event.parts if isinstance(part, AudioPart)]
    assert (event.type, found) == ("audio", [True, False])


@pytest.mark.req("W17")
def test_files_become_attachments_of_their_kind() -> None:
    def file(**fields: object) -> dict[str, object]:
        return {"id": "F1", "name": "x", "url_private": "https://files.slack.com/x", **fields}

    event = event_of(
        subtype="file_share",
        files=[
            file(mimetype="image/png", size=3, url_private_download="https://files.slack.com/d"),
            file(mimetype="audio/ogg"),
            file(mimetype="application/pdf"),
            file(),
            file(mode="tombstone"),
            {"id": "F2"},
            file(is_external=True, name="plan", url_private="https://drive.example/p"),
        ],
    )
    assert event is not None
    assert event.text == "hi\nplan: https://drive.example/p"
    assert [type(part) for part in event.parts[1:]] == [ImagePart, AudioPart, FilePart, FilePart]
    image = event.parts[1]
    assert isinstance(image, ImagePart)
    assert (image.media.ref, image.media.size) == ("https://files.slack.com/d", 3)


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<@U1ADA> and <@U9> and <@U8|eve>", "@Ada and @U9 and @eve"),
        ("see <https://a.org|words> <https://a.org> <http://a.org|a.org>", "see words (https://a.org) https://a.org http://a.org"),
        ("<mailto:a@b.org|a@b.org> <mailto:a@b.org|mail>", "a@b.org mail (a@b.org)"),
        ("<#C1|general> <#C2> <!here> <!channel>", "#general #C2 @here @channel"),
        ("<!subteam^S1|@ops> <!subteam^S1> <!date^1^{date}|today>", "@ops @subteam today"),
        ("a &lt;b&gt; &amp;lt; &amp;amp;", "a <b> &lt; &amp;"),
        ("<> < a > <", "<> < a > <"),
        ("*bold* _it_ `code` &nbsp;", "*bold* _it_ `code` &nbsp;"),
    ],
)  # fmt: skip
def test_mrkdwn_is_read_as_people_do(written, read) -> None:
    assert plain(written, {"U1ADA": "Ada"}).replace("  ", " ") == read


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("<@U0BOT> /new", "/new"),
        ("  <@U0BOT>: hello", "hello"),
        ("<@U0BOT|hermes>, hello", "hello"),
        ("hey <@U0BOT> hello", "hey hello"),
        ("hello <@U0BOT>", "hello"),
        ("  code\n    block", "  code\n    block"),
        ("<@U0BOTX> hello", "<@U0BOTX> hello"),
    ],
)
def test_the_bots_own_name_is_taken_out(written, left) -> None:
    assert without_mention(written, "U0BOT") == left


@pytest.mark.req("W9")
def test_few_names_are_looked_up() -> None:
    text = " ".join(f"<@U{number}>" for number in range(100)) + "<@U0BOT>"
    message = message_of(text=text)
    assert people_of(message, ME) == ("U1ADA", *(f"U{number}" for number in range(10)))
    assert mentioned("<@U1> <@U1>") == ("U1",)


@pytest.mark.req("W9")
def test_a_form_is_a_command_or_what_was_pressed() -> None:
    command = read_form(BODY)
    assert isinstance(command, WireCommand)
    assert (command.command, command.user_id) == ("/webhook-collect", "U2CERLKJA")
    pressed = read_form(b"payload=%7B%22type%22%3A%22view_submission%22%7D")
    assert isinstance(pressed, WireInteraction)
    assert interaction_event(pressed, ME, at=0.0) is None


@pytest.mark.req("W9")
def test_a_chosen_option_is_told_by_its_value() -> None:
    pressed = {
        "type": "block_actions",
        "user": {"id": "U1"},
        "channel": {"id": "C1"},
        "container": {"message_ts": "1.2", "thread_ts": "1.1"},
        "actions": [
            {
                "action_id": "a",
                "action_ts": "5",
                "selected_option": {"value": "v", "text": {"text": "V"}},
            },
            {"action_id": "b", "action_ts": "5", "text": {"text": "words"}},
        ],
    }
    event = interaction_event(decode(msgspec.json.encode(pressed), WireInteraction), ME, at=1.0)
    assert event is not None
    assert (event.text, event.external_id) == ("v\nwords", "action:C1:1.2:5/a,5/b")
    assert event.source.thread_id == "1.1"


def read_all(body: bytes) -> None:
    """Let every reader have the bytes; only refusals may come out."""
    for read in (
        lambda: decode_event(bytes(decode(body, WireCall).event)),
        lambda: decode_event(body),
        lambda: decode(body, Frame),
        lambda: decode(body, WireCommand),
        lambda: decode(body, WireInteraction),
        lambda: read_form(body),
    ):
        try:
            found = read()
        except (BadRequest, Unauthenticated, TooLarge):
            continue
        if isinstance(found, WireInteraction):
            interaction_event(found, ME, at=0.0)
        elif isinstance(found, WireMessage):
            message_event(found, ME)
            arrived_of(found)
        elif isinstance(found, WirePosted):
            arrived_of(found)
        elif isinstance(found, WireReaction):
            reaction_event(found, ME)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *BASE,
            "subtype",
            "files",
            "reaction",
            "item",
            "item_user",
            "event_ts",
            "metadata",
            "channel_id",
            "message_ts",
            "thread_ts",
            "bot_id",
            "event",
            "payload",
            "actions",
            "user_id",
        ]
    ),
    JSON
    | st.sampled_from(
        [
            *(*BASE.values(), [{"url_private": "x"}], {"id": "C1"}, "U0BOT", "+1"),
            *(
                "reaction_added",
                "message_metadata_posted",
                {"channel": "C1", "ts": "1.1", "type": "m"},
            ),
            {"event_type": "hermes_delivery", "event_payload": {"key": "k"}},
        ]
    ),
    max_size=10,
)


@pytest.mark.req("W9")
@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
@pytest.mark.quality("strict types")
def test_no_bytes_break_the_readers(body: bytes) -> None:
    read_all(body)


@pytest.mark.req("W9")
@given(FIELDS)
@settings(max_examples=400, deadline=None)
def test_no_shape_breaks_the_readers(fields: dict[str, Any]) -> None:
    try:
        body = msgspec.json.encode({**BASE, **fields})
        whole = msgspec.json.encode({"type": "event_callback", "event": {**BASE, **fields}})
    except (UnicodeEncodeError, OverflowError):
        return
    read_all(body)
    read_all(whole)


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"type":"message","x":' + b"[" * 100_000,
        b'{"type":"event_callback","event":' + b'{"a":' * 50_000,
        b'{"type":"message","channel":"C1","ts":"1.1","user":"U1","text":"\\ud800"}',
        b'{"type":"message","channel":"C1","ts":' + b"9" * 5000 + b"}",
        b'{"type":"message","channel":"C1","ts":"NaN","user":"U1"}',
        b'{"type":"message","channel":"C1","ts":NaN}',
        b'{"type":"message","channel":"C1\\n","ts":"1.1","user":"U1"}',
        b"a=" + b"%00" * 1000,
        b"&" * 100_000,
        b"\xff\xfe",
    ],
)
def test_awkward_bodies_are_refused(body: bytes) -> None:
    read_all(body)


@pytest.mark.req("W9")
@given(st.text(alphabet=string.printable + "<>@#!|&é😀\u202e\ud800", max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_reading_of_mrkdwn(text: str) -> None:
    plain(without_mention(text, "U0BOT"), {})
    mentioned(text)

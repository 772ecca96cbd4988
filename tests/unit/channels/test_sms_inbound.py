"""Twilio's calls become messages and statuses; words about being written to are no messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.bodies import decode_form
from hermes.channels.sms.inbound import (
    SmsStatus,
    canonical_number,
    consent_of,
    status_of,
    to_event,
)
from hermes.channels.sms.outbound import message_form, segments
from hermes.errors import BadRequest, Refused
from hermes.message.event import MessageEvent
from hermes.message.parts import FilePart, ImagePart, Media, TextPart

pytestmark = pytest.mark.req("W9")
SID = "SM" + "0" * 32
FIELDS = {"MessageSid": SID, "From": "+15558675310", "Body": "hi", "NumMedia": "0"}


def event_of(**changes: str) -> MessageEvent | None:
    own = frozenset({"+15017122661"})
    return to_event({**FIELDS, **changes}, account="default", own_numbers=own, now=5.0)


@pytest.mark.req("W14")
@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("+1 (555) 867-5310", "+15558675310"),
        ("001 555 867 5310", "+15558675310"),
        ("15558675310", "+15558675310"),
        ("32665", "32665"),
        ("MYBANK", "MYBANK"),
    ],
)
def test_each_way_to_write_a_number_is_the_same_person(written: str, canonical: str) -> None:
    assert canonical_number(written) == canonical
    assert canonical_number(canonical) == canonical


def test_an_mms_brings_its_text_and_its_files() -> None:
    media = {
        "NumMedia": "2",
        "MediaUrl0": "https://api.twilio.com/a",
        "MediaContentType0": "image/png",
    }
    event = event_of(**media, MediaUrl1="https://api.twilio.com/b")

    assert event is not None
    assert (event.external_id, event.source.chat_id, event.at) == (SID, "+15558675310", 5.0)
    assert event.parts == (
        TextPart("hi"),
        ImagePart(Media("image/png", ref="https://api.twilio.com/a")),
        FilePart(Media("application/octet-stream", ref="https://api.twilio.com/b")),
    )


def test_messages_of_our_own_number_and_empty_ones_are_none() -> None:
    assert (event_of(From="+15017122661"), event_of(Body=" ")) == (None, None)
    for wrong in ({"MessageSid": ""}, {"MessageSid": "SMx"}, {"From": ""}, {"From": "<script>"}):
        with pytest.raises(BadRequest, match="MessageSid"):
            event_of(**wrong)


@pytest.mark.parametrize(
    ("fields", "consent"),
    [
        ({"Body": " stop "}, "stop"),
        ({"Body": "Unsubscribe"}, "stop"),
        ({"Body": "please stop"}, ""),
        ({"Body": "START"}, "start"),
        ({"Body": "yes"}, ""),
        ({"Body": "yes", "OptOutType": "START"}, "start"),
        ({"Body": "halt", "OptOutType": "STOP"}, "stop"),
        ({"Body": "HELP"}, "help"),
        ({}, ""),
    ],
)
def test_only_the_words_of_the_carrier_are_about_being_written_to(fields, consent) -> None:
    assert consent_of(fields) == consent


def test_a_status_says_what_became_of_a_message() -> None:
    status = {"MessageStatus": "undelivered", "MessageSid": SID, "ErrorCode": "30003"}
    assert status_of(status) == SmsStatus("undelivered", SID, "30003")
    assert status_of(FIELDS) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("ü" * 306, 2),
        ("ü" * 307, 3),
        ("ş" * 70, 1),
        ("ş" * 71, 2),
        ("👋" * 35, 1),
        ("👋" * 36, 2),
        ("a" * 1600, 11),
    ],
)
def test_segments_are_counted_as_carriers_do(text: str, count: int) -> None:
    assert segments(text) == count


def test_a_message_comes_from_a_number_or_a_service() -> None:
    service = message_form("15558675310", sender="MG1", body="hi", callback="https://x/status")
    number = message_form("+15558675310", sender="+15017122661", media_url="https://x/file")

    assert service == {
        "To": "+15558675310",
        "MessagingServiceSid": "MG1",
        "Body": "hi",
        "StatusCallback": "https://x/status",
    }
    assert number == {"To": "+15558675310", "From": "+15017122661", "MediaUrl": "https://x/file"}


@given(
    st.binary(max_size=300), st.dictionaries(st.sampled_from(sorted(FIELDS)), st.text(max_size=30))
)
def test_whatever_a_call_holds_is_read_or_refused(raw: bytes, changes: dict[str, str]) -> None:
    for read in (lambda: decode_form(raw, platform="twilio"), lambda: {**FIELDS, **changes}):
        try:
            fields = read()
            consent_of(fields)
            status_of(fields)
            to_event(fields, account="a", own_numbers=frozenset(), now=1.0)
        except Refused:
            continue

"""What every channel reads from a message in the same way."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.events import (
    event_type,
    is_command,
    named_spans,
    part_of,
    raw_of,
    sent_at,
    utf16_spans,
    without_spans,
)
from hermes.message.event import NO_RAW
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, TextPart
from hermes.sessions.commands import CommandBook

pytestmark = pytest.mark.req("W10")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("/stop", True),
        ("/model gpt", True),
        ("/stop@hermes_bot now", True),
        ("/model\ngpt", True),
        ("/Stop", True),
        ("/", False),
        ("//stop", False),
        ("/usr/bin/python", False),
        ("/2026", False),
        (" /stop", False),
        ("stop", False),
        ("/stop!", False),
    ],
)
def test_a_command_is_a_slash_and_a_word(text: str, *, claim: bool) -> None:
    assert is_command(text) is claim


@given(st.text("/aZ0_- \n@.!", max_size=12))
def test_a_command_of_the_channels_is_one_for_the_sessions(text: str) -> None:
    assert not is_command(text) or CommandBook().read(text) is not None


@pytest.mark.parametrize(
    ("mime", "part", "kind"),
    [
        ("image/jpeg", ImagePart, "image"),
        ("IMAGE/PNG; q=1", ImagePart, "image"),
        ("image/svg+xml", FilePart, "file"),
        ("audio/ogg; codecs=opus", AudioPart, "audio"),
        ("video/mp4", FilePart, "video"),
        ("application/pdf", FilePart, "file"),
        ("", FilePart, "file"),
    ],
)
def test_the_type_of_an_attachment_says_what_it_is(mime: str, part: type, kind: str) -> None:
    made = part_of(Media(mime))

    assert type(made) is part
    assert event_type((TextPart("/look"), made)) == kind


def test_without_attachments_it_is_a_command_or_a_text() -> None:
    assert event_type((TextPart("/stop"),)) == "command"
    assert event_type((TextPart("stop"),)) == "text"
    assert event_type(()) == "text"


@pytest.mark.parametrize(
    ("told", "at"),
    [
        (1_000.0, 1_000.0),
        (1_000_000_000_123.0, 1_000_000_000.123),
        (None, 2_000_000_000.0),
        (0.0, 2_000_000_000.0),
        (-5.0, 2_000_000_000.0),
        (math.nan, 2_000_000_000.0),
        (math.inf, 2_000_000_000.0),
        (3_000_000_000.0, 2_000_000_000.0),
    ],
)
def test_a_time_that_cannot_be_is_now(told: float | None, at: float) -> None:
    assert sent_at(told, now=2_000_000_000.0) == at


def test_a_raw_event_is_kept_as_it_came() -> None:
    assert bytes(raw_of(b'{"a": 1}')) == b'{"a": 1}'
    assert bytes(raw_of({"a": 1})) == b'{"a":1}'
    assert raw_of({"a": "\ud800"}) == NO_RAW
    assert raw_of(object()) == NO_RAW


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("@hermes what is it?", "what is it?"),
        ("@Hermes: what is it?", "what is it?"),
        ("hermes, what is it?", "what is it?"),
        ("Hermes: /stop", "/stop"),
        ("ask @hermes about it", "ask about it"),
        ("@hermes and @hermes again", "and again"),
        ("@hermes-bot is the longer name", "is the longer name"),
        ("@hermes", "@hermes"),
        ("hermes is a god", "hermes is a god"),
        ("mail hermes@hermes.example", "mail hermes@hermes.example"),
        ("@hermesian words", "@hermesian words"),
    ],
)
def test_the_name_of_the_bot_is_cut_out(text: str, left: str) -> None:
    assert without_spans(text, named_spans(text, ("hermes", "hermes-bot"))) == left


def test_without_a_name_nothing_is_cut_out() -> None:
    assert named_spans("@ : hello", ("", " ")) == ()


@given(st.text(), st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40))))
def test_spans_of_strangers_never_break_a_text(text: str, spans: list[tuple[int, int]]) -> None:
    left = without_spans(text, spans)

    assert set(left) <= set(text)
    assert bool(left) == bool(text.strip())


@given(st.text(), st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40))))
def test_units_of_utf16_are_places_in_the_text_or_nothing(
    text: str, spans: list[tuple[int, int]]
) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    found = utf16_spans(text, spans)

    assert all(0 <= start < end <= len(text) for start, end in found)
    for start, end in spans:
        if 0 <= start < end <= len(units) // 2:
            try:
                words = units[2 * start : 2 * end].decode("utf-16-le")
            except UnicodeDecodeError:
                continue
            assert words in [text[one:two] for one, two in found]


def test_a_raw_event_is_a_copy() -> None:
    batch = msgspec.json.decode(b'[{"a":1}]', type=list[msgspec.Raw])

    assert bytes(raw_of(bytes(batch[0]))) == b'{"a":1}'

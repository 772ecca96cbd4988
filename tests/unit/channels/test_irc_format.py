"""Formatted text as lines of IRC: its codes, its lengths in bytes, and that no text can be a command."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.contrib.irc.format import as_runs, marks_of, plain_of
from hermes.contrib.irc.line_cuts import PAYLOAD_BYTES, measure, payloads_of, read_markup, room_for
from hermes.message.markup.model import CodeBlock, Paragraph, Text
from hermes.message.markup.parse import parse
from hermes.message.markup.split import split
from hermes.plugins.manifest import load_manifest

AWKWARD = st.text(
    alphabet=st.sampled_from(
        [*"ab \n\t*_`~[]()<>&|#-1./:\\", "\r", "\x00", "\x01", "\x02", "\x03", "é", "א", "漢", "👩", "\u200d", "👧", "\u0301", "🇩", "🇪"]
    ),
    max_size=400,
)  # fmt: skip

MARKS = marks_of(load_manifest("hermes.contrib.irc").markup, styled=True)


def render(markdown: str) -> str:
    """Return a text as IRC shows it, however long its lines are."""
    return "\n".join(map(MARKS.line, as_runs(parse(markdown), MARKS)))


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**b** *i* `c` ~~s~~", "\x02b\x02 \x1di\x1d \x11c\x11 \x1es"),
        ("**b *bi* b**", "\x02b \x1dbi\x1d b"),
        ("**a\nb**", "\x02a\n\x02b"),
        ("# Title\n\ntext", "\x02\x1fTitle\ntext"),
        ("## Title", "\x02Title"),
        ("one\n\ntwo", "one\ntwo"),
        ("- a\n- b\n  - c", "• a\n• b\n  • c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> a\n> b", "> a\n> b"),
        ("```py\ndef f():\n    return 1\n```", "\x11def f():\n\x11    return 1"),
        ("[words](https://x.org)", "words (https://x.org)"),
        ("[**words**](https://x.org)", "\x02words\x02 (https://x.org)"),
        ("<https://x.org>", "https://x.org"),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "\x11a  b\n\x11-  --\n\x111  22"),
        ("---", "---"),
        ("a <b> & c", "a <b> & c"),
    ],
)
def test_what_each_mark_becomes(markdown: str, shown: str) -> None:
    assert render(markdown) == shown


@pytest.mark.req("W10")
def test_what_a_line_would_take_for_more_than_text_is_gone() -> None:
    text = "hi\r\nQUIT :bye\x00\x01DCC SEND x\x01 \x02b \x0304red\u2028"
    document = (Paragraph((Text(text),)), CodeBlock("\x01a\tb\r\x00"))
    payloads = payloads_of(as_runs(document, MARKS), MARKS)
    assert payloads == ("hi", "QUIT :byeDCC SEND x b 04red", "\x11a    b")


@pytest.mark.req("W10", "W19")
@settings(max_examples=200, deadline=None)
@given(AWKWARD, st.integers(64, PAYLOAD_BYTES))
@pytest.mark.quality("lines by bytes")
def test_every_line_fits_and_nothing_is_lost(text: str, room: int) -> None:
    lines = read_markup(text, MARKS)
    whole = "".join(run.text for line in lines for run in line)

    payloads = payloads_of(lines, MARKS, room)

    assert all(0 < len(payload.encode()) <= room for payload in payloads)
    assert not any(re.search(r"[\r\n\x00\x01]", payload) for payload in payloads)
    assert bare(" ".join(map(plain_of, payloads))) == bare(whole)


@pytest.mark.req("W19")
@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "🇩🇪", "e\u0301", "漢", "👍🏽"])
@pytest.mark.parametrize("before", range(8))
def test_no_character_is_torn(cluster: str, before: int) -> None:
    text = "x" * before + cluster * 60
    payloads = payloads_of(read_markup(text, MARKS), MARKS, 100)

    assert "".join(payloads) == text
    assert all(len(payload.removeprefix("x" * before)) % len(cluster) == 0 for payload in payloads)
    assert not any(unicodedata.combining(payload[0]) for payload in payloads)


@pytest.mark.req("W19")
def test_a_style_goes_on_in_the_next_line_and_words_stay_whole() -> None:
    payloads = payloads_of(read_markup("**" + "word " * 40 + "word**", MARKS), MARKS, 64)
    assert {payload[0] for payload in payloads} == {"\x02"}
    assert set(" ".join(map(plain_of, payloads)).split()) == {"word"}


@pytest.mark.req("W19")
def test_a_reply_is_parted_into_messages_of_a_few_lines() -> None:
    text = "\n\n".join([*(f"line {number}" for number in range(14)), "x" * 1500])
    limit = 5 * PAYLOAD_BYTES
    chunks = split(text, limit=limit, measure=lambda text: measure(text, MARKS))

    assert [len(payloads_of(read_markup(chunk, MARKS), MARKS)) for chunk in chunks] == [5, 5, 4, 5]
    assert measure("short", MARKS) == PAYLOAD_BYTES


@pytest.mark.req("W10")
@pytest.mark.parametrize("target", ["#a", "#" + "x" * 63, "ada"])
@pytest.mark.parametrize("prefix", ["", "hermes!~hermes@gateway.example.org", f"{'h' * 30}!~{'u' * 11}@{'h' * 63}"])  # fmt: skip
def test_a_line_fits_with_the_prefix_that_the_server_adds(target: str, prefix: str) -> None:
    nick = prefix.partition("!")[0] or "h" * 30
    room = room_for(target, nick=nick, prefix=prefix)
    passed_on = (
        f":{prefix or nick + '!' + 'u' * 12 + '@' + 'h' * 64} PRIVMSG {target} :{'x' * room}\r\n"
    )
    assert 64 <= room <= PAYLOAD_BYTES
    assert len(passed_on) <= 512


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)

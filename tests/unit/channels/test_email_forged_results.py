"""What a sender wrote never becomes a result, wherever a server repeats it in its line."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.channels.email.authenticity import is_vouched
from hermes.channels.email.mime import Headers

pytestmark = pytest.mark.req("A8", "W10")

VICTIM, EVIL = "victim.test", "evil.test"
CLAIM = f"dmarc=pass header.from={VICTIM}"
# Pieces of a forgery: a claim, everything with a meaning, and other letters.
PIECES = st.sampled_from(
    [
        *(CLAIM, f"dkim=pass header.d={VICTIM}", f"spf=pass smtp.mailfrom={VICTIM}", f"@{VICTIM}"),
        *("; ", " ; ", "(", ")", '"', "\\", "\\\\", '\\"', "\\)", "\\(", "=", "@", " ", "\t"),
        *("mx.hermes.test; ", "a", "ä", "\u3000", "/", ".", ",", ":", "'", "<", ">", "[", "]"),
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def is_believed(line: str, domain: str) -> bool:
    """Return whether one line of the server vouches for a domain."""
    headers = Headers((("authentication-results", f"mx.hermes.test; {line}".encode()),))
    return is_vouched(headers, domain=domain, authserv_id="mx.hermes.test")


def as_comment(text: str) -> str:
    """Return text as a server writes it in a comment: with quoted-pairs (RFC 5322, 3.2.2)."""
    return "(" + "".join(f"\\{one}" if one in "()\\" else one for one in text) + ")"


def as_quoted(text: str) -> str:
    """Return text as a server writes it in quotes (RFC 5322, 3.2.4)."""
    return '"' + "".join(f"\\{one}" if one in '"\\' else one for one in text) + '"'


def around(inside: str) -> list[str]:
    """Return lines of a server about a mail of `evil.test`, with a sender's text in many places."""
    return [
        f"spf=pass {inside} smtp.mailfrom={EVIL}",
        f"spf=pass smtp.mailfrom={EVIL} {inside}",
        f"spf=pass smtp.mailfrom={EVIL} {inside} ; dkim=none",
        f"spf {inside} = {inside} pass {inside} smtp.mailfrom={EVIL}; dkim=none {inside}",
        f"{inside} spf=pass smtp.mailfrom={EVIL}; {inside} dkim=none",
    ]


@given(TEXTS)
@example(f"a) ; {CLAIM} (b")
@example(f'envelope-from="a) ; {CLAIM} (b"@{EVIL}')
def test_what_is_in_a_comment_is_no_result(text: str) -> None:
    lines = around(as_comment(text))
    assert not any(is_believed(line, VICTIM) for line in lines)
    whole = f"spf=none {as_comment(text)}; dmarc=pass {as_comment(text)} header.from={EVIL}"
    assert is_believed(whole, EVIL) is ("\u3000" not in text)


@given(TEXTS)
@example(f"; {CLAIM} ; x=")
@example(f"\\\\; {CLAIM}")
def test_what_is_in_quotes_is_no_result_and_no_domain(text: str) -> None:
    quoted = as_quoted(text)
    lines = [
        f"spf=pass smtp.mailfrom={quoted}@{EVIL}",
        f"spf=pass smtp.mailfrom={quoted}@{EVIL} (x; {CLAIM} ; y)",
        f"spf=pass reason={quoted} smtp.mailfrom={EVIL}",
        f"spf=pass smtp.mailfrom={EVIL} reason={quoted}; dkim=none header.i={quoted}@{EVIL}",
        f"dkim=pass header.i={quoted}@{EVIL} header.d={EVIL}",
        f"dkim=none reason={quoted}; spf=pass smtp.mailfrom={quoted}",
        f"dmarc=pass header.from={quoted}",
    ]
    assert not any(is_believed(line, VICTIM) for line in lines)
    whole = f"spf=none smtp.mailfrom={quoted}@{EVIL}; dmarc=pass header.from={EVIL}"
    assert is_believed(whole, EVIL) is ("\u3000" not in text)


@given(TEXTS, TEXTS)
@example("a", f" ; {CLAIM} ; b")
def test_quotes_inside_comments_and_comments_inside_quotes(one: str, other: str) -> None:
    within = as_comment(as_quoted(one) + as_comment(other))
    nested = f"({as_comment(one)} {as_comment(other)[1:]}"
    assert not any(is_believed(line, VICTIM) for line in around(within) + around(nested))
    mixed = f"spf=pass smtp.mailfrom={as_quoted(as_comment(one))}@{EVIL} {as_comment(other)}"
    assert not is_believed(mixed, VICTIM)


@given(st.lists(st.sampled_from(["(", ")", '"', "\\", " ", ";", "a", "="]), max_size=60))
def test_a_line_that_does_not_end_what_it_begins_is_no_result(pieces: list[str]) -> None:
    # As from a server that copies what was sent without escaping it, and then ends its comment.
    text = "".join(pieces)
    opened = text.count("(") - text.count(")") + 1
    line = f"spf=none ({text}" + ")" * max(0, opened - 1)
    assert not is_believed(line, VICTIM)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 7_900,
        "(" * 3_900 + ")" * 3_900,
        "()" * 3_900,
        "\\(" * 3_900,
        '"' * 7_900,
        '"\\' * 3_900,
        'a="' + '\\"' * 3_900,
        "x=y;" * 1_900,
        "x=y " * 1_900,
        "= " * 3_900,
    ],
)
def test_a_long_line_is_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    assert not is_believed(text, VICTIM)
    assert time.process_time() - began < 1


def test_a_server_may_write_its_name_in_quotes() -> None:
    line = f'"mx.hermes.test"; {CLAIM}'.encode()
    headers = Headers((("authentication-results", line),))

    assert is_vouched(headers, domain=VICTIM, authserv_id="mx.hermes.test")


@pytest.mark.parametrize(("others", "is_read"), [(4, True), (5, False)])
def test_five_lines_of_results_are_read_and_no_more(others: int, is_read: bool) -> None:
    name = "authentication-results"
    lines = [(name, b"mx.other.test; dkim=none")] * others
    headers = Headers((*lines, (name, f"mx.hermes.test; {CLAIM}".encode())))

    assert is_vouched(headers, domain=VICTIM, authserv_id="mx.hermes.test") is is_read

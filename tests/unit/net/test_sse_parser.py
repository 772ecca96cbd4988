"""Server-sent events from bytes, however they are cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import AnswerTooLarge
from hermes.provider_kit.sse_parser import SseParser

STREAM = (
    b': comment\nevent: x\ndata: {"a":1}\n\ndata:tight\r\n\r\nid: 7\ndata: two\ndata: lines\n\n'
    b"data: [DONE]\n\n"
)
PAYLOADS = [b'{"a":1}', b"tight", b"two\nlines", b"[DONE]"]


@pytest.mark.req("M7")
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_payloads_do_not_depend_on_where_the_bytes_are_cut(cuts):
    parser = SseParser()
    edges = [0, *sorted(cuts), len(STREAM)]

    got = []
    for start, end in itertools.pairwise(edges):
        got += parser.feed(STREAM[start:end])

    assert got == PAYLOADS
    assert parser.finish() == []


def test_a_last_event_without_its_empty_line_is_found_at_the_end():
    parser = SseParser()

    assert parser.feed(b"data: a\n\ndata: b") == [b"a"]
    assert parser.finish() == [b"b"]


@pytest.mark.parametrize("chunks", [[b"data: " + b"x" * 200], [b"data: " + b"x" * 60 + b"\n"] * 2])
def test_an_event_that_never_ends_is_refused(chunks):
    parser = SseParser(limit=100)

    with pytest.raises(AnswerTooLarge):
        list(map(parser.feed, chunks))

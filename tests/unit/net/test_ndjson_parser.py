"""Lines of JSON from bytes, however the bytes are cut."""

import pytest

from hermes.errors import AnswerTooLarge
from hermes.provider_kit.ndjson_parser import NdjsonParser

STREAM = '{"a":1}\n\r\n{"b":"ü"}\r\n{"c":3}'.encode()
LINES = [b'{"a":1}', '{"b":"ü"}'.encode(), b'{"c":3}']


@pytest.mark.req("M7")
@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_where_the_bytes_are_cut_does_not_matter(cut):
    parser = NdjsonParser()

    found = [*parser.feed(STREAM[:cut]), *parser.feed(STREAM[cut:]), *parser.finish()]

    assert found == LINES


@pytest.mark.req("M7")
@pytest.mark.parametrize("chunks", [(b"x" * 11,), (b"x" * 6, b"x" * 6), (b"x" * 11 + b"\n",)])
def test_a_line_may_not_exceed_its_limit(chunks):
    parser = NdjsonParser(limit=10)

    with pytest.raises(AnswerTooLarge, match="10 bytes"):
        [parser.feed(chunk) for chunk in chunks]

"""HTML in one pass: what it is made of, and that no page can make the pass long."""

import html
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.markup.html_tokens import End, Start, read_tokens
from hermes.message.markup.references import unescape

SIZE = 300_000
# Each is cheap to send and has made some parser or other take the square of its length.
LONG = [
    *("<", "<a", "<a ", "<a>", '<a b="', "<a b='\" ", "<a '", "<a b = ", "<a =", "<!--", "<!"),
    *("<![CDATA[", "<?", "</", "</a", "<title>", "<script>", "<script></scrip", "&", "&a", "&#x"),
    *("&#9", "&abcdefghijklmnopqrstuvwxyz", "<!-- --", "<p ", "</p ", "<textarea></textare", "x"),
]
FILLED = [
    ("&#", "9", ";"),
    ("&#", "0", ";"),
    ("&#x", "f", ";"),
    ("<a ", " ", ">"),
    ("<a b", " ", "=c>"),
    ("<a ", "=", ">"),
    ("<a ", "b ", ">"),
    ('<a b="', "x", '">'),
    ("<", "a", ">"),
    ("<!--", "-", "-->"),
    ("<script>", "</scrip", "</script>"),
]


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        ("a &amp; b", ["a & b"]),
        ("<P Class=x ID='y'>t</P >", [Start("p", {"class": "x", "id": "y"}), "t", End("p")]),
        ('<a href="u&amp;v" href=2 b>', [Start("a", {"href": "u&v", "b": ""})]),
        ("<br/><br />", [Start("br", {}, closed=True), Start("br", {}, closed=True)]),
        ("a < b <3 <", ["a ", "<", " b ", "<", "3 ", "<"]),
        ("x<!-- <p> -->y<!doctype html><?php ?>z</>", ["x", "y", "z"]),
        ("<!-->x", ["x"]),
        ("<script>a<b</p></SCRIPT>x", [Start("script", {}, "a<b</p>"), End("script"), "x"]),
        ("<title>A <b></title>", [Start("title", {}, "A <b>"), End("title")]),
        ("a<b c", ["a"]),
        ("a<!-- b", ["a"]),
        ("a<script>b", ["a"]),
        ("", []),
    ],
)
def test_a_page_is_tags_and_texts(page, tokens):
    assert list(read_tokens(page)) == tokens


@pytest.mark.req("W34")
@pytest.mark.parametrize("piece", LONG)
def test_a_long_hostile_page_takes_no_longer_than_its_length(piece):
    begin = time.process_time()

    for _ in read_tokens(piece * (SIZE // len(piece))):
        pass

    assert time.process_time() - begin < 5


@pytest.mark.req("W34")
@pytest.mark.parametrize(("start", "piece", "end"), FILLED)
def test_one_endless_thing_takes_no_longer_than_its_length(start, piece, end):
    begin = time.process_time()

    for _ in read_tokens(start + piece * (SIZE // len(piece)) + end):
        pass

    assert time.process_time() - begin < 5


def test_attributes_are_bounded_in_number_and_length():
    many = "<a " + " ".join(f"n{number}=v" for number in range(1000)) + ">"
    [tag] = read_tokens(many)
    [long] = read_tokens('<a href="' + "x" * 10_000 + '">')

    assert isinstance(tag, Start)
    assert isinstance(long, Start)
    assert (len(tag.attributes), len(long.attributes["href"])) == (50, 2000)


@given(st.text(alphabet="<>&/!-='\" abp#x0;[", max_size=60))
def test_any_text_is_read_and_nothing_is_made_up(page):
    shown = "".join(token for token in read_tokens(page) if isinstance(token, str))

    assert len(shown) <= len(html.unescape(page))


@given(st.text(max_size=60))
def test_character_references_are_those_of_the_standard(text):
    assert unescape(html.escape(text)) == html.unescape(html.escape(text)) == text

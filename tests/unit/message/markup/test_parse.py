"""Markdown is read as people and models write it, and nothing in it is dangerous."""

import subprocess
import sys

import pytest
from hypothesis import given, settings

from hermes.message.markup.model import (
    Break,
    Code,
    CodeBlock,
    Emphasis,
    Heading,
    Items,
    Link,
    Paragraph,
    Picture,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from tests.unit.message.markup.awkward import raw

pytestmark = pytest.mark.req("A26")


def one(text: str) -> object:
    (block,) = parse(text)
    return block


def test_styles_nest_and_lines_end_where_they_were_ended() -> None:
    text = "a **b *c*** ~~d~~ `e*`\nnext  \nlast"

    assert one(text) == Paragraph(
        (
            Text("a "),
            Strong((Text("b "), Emphasis((Text("c"),)))),
            Text(" "),
            Strike((Text("d"),)),
            Text(" "),
            Code("e*"),
            Break(),
            Text("next"),
            Break(),
            Text("last"),
        )
    )


def test_blocks_are_told_apart() -> None:
    text = "# T\n\n> q\n\n3. a\n4. b\n   - c\n\n```python x\nif a:\n\tb\n```\n\n---"

    assert parse(text) == (
        Heading(1, (Text("T"),)),
        Quote((Paragraph((Text("q"),)),)),
        Items(
            (
                (Paragraph((Text("a"),)),),
                (Paragraph((Text("b"),)), Items(((Paragraph((Text("c"),)),),))),
            ),
            3,
        ),
        CodeBlock("if a:\n\tb", "python"),
        Rule(),
    )


def test_every_row_of_a_table_has_the_cells_of_its_head() -> None:
    assert one("| a | b |\n|---|:-:|\n| 1 |\n| x\\|y | 2 | 3 |") == Table(
        ((Text("a"),), (Text("b"),)),
        (((Text("1"),), ()), ((Text("x|y"),), (Text("2"),))),
    )


def test_a_list_may_count_from_zero() -> None:
    assert one("0. a") == Items(((Paragraph((Text("a"),)),),), 0)


@pytest.mark.parametrize("text", ["<b>x</b>", "<script>alert(1)</script>", "<!-- x -->"])
def test_html_is_text(text: str) -> None:
    assert one(text) == Paragraph((Text(text),))


def test_entities_are_the_characters_they_name() -> None:
    assert one("&lt;b&gt; &amp;amp; &#42;x&#42;") == Paragraph((Text("<b> &amp; *x*"),))


@pytest.mark.parametrize(
    "url", ["http://a.b/c", "https://a.b/?c=d&e#f", "mailto:a@b.c", "tel:+4930123"]
)
def test_addresses_that_people_may_follow_are_links(url: str) -> None:
    assert one(f"[w]({url})") == Paragraph((Link(url, (Text("w"),)),))


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "JaVaScript:x", "data:text/html,x", "file:///etc/passwd"),
        *("vbscript:x", "/relative", "example.org", "http://", "ftp://a.b", "&#106;avascript:x"),
    ],
)
def test_other_addresses_leave_only_their_words(url: str) -> None:
    assert one(f"[**w**]({url}) ![p]({url})") == Paragraph((Strong((Text("w"),)), Text(" p")))


def test_a_link_without_words_says_its_address() -> None:
    assert one("[](http://a.b)") == Paragraph((Link("http://a.b", (Text("http://a.b"),)),))


def test_a_picture_keeps_its_words_and_its_address() -> None:
    assert one("![a *b*](https://c.d/e.png)") == Paragraph((Picture("https://c.d/e.png", "a b"),))


def test_characters_that_nobody_can_be_shown_are_replaced() -> None:
    assert one("a\x00b\x1bc\ud800d\ufffee") == Paragraph((Text("a\ufffdb\ufffdc\ufffdd\ufffde"),))


@pytest.mark.parametrize(
    "text", ["> " * 300 + "deep", "- " * 300 + "deep", "**_" * 300 + "deep", "![" * 300 + "deep"]
)
def test_what_is_nested_too_deeply_is_kept_as_words(text: str) -> None:
    assert "deep" in plain(parse(text))


def test_what_follows_a_list_that_is_too_deep_is_no_part_of_it() -> None:
    *_, last = parse("- " * 300 + "deep\n\n# After")

    assert last == Heading(1, (Text("After"),))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "mark",
    ["[", "![", "*a ", "**a_b ", "`a``", "> ", "- ", "[a](", "<a@", "&a", "~~a", "a|", "a\n"],
)
def test_no_text_takes_long(mark: str) -> None:
    assert parse(mark * (20_000 // len(mark)))


@settings(max_examples=100, deadline=None)
@given(raw)
def test_text_holds_no_line_end_and_is_never_empty(text: str) -> None:
    bad = [leaf for leaf in _texts(parse(text)) if not leaf.text or "\n" in leaf.text]

    assert bad == []


def _texts(value: object) -> list[Text]:
    if isinstance(value, Text):
        return [value]
    if isinstance(value, tuple):
        return [text for inner in value for text in _texts(inner)]
    fields = getattr(value, "__struct_fields__", ())
    return [text for name in fields for text in _texts(getattr(value, name))]


def test_the_parser_is_loaded_by_the_first_text_only() -> None:
    code = (
        "import sys, hermes.outbox.channel_calls as _, hermes.message.markup.parse as p\n"
        "before = 'markdown_it' in sys.modules\n"
        "p.parse('x')\n"
        "print(before, 'markdown_it' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True"]


@pytest.mark.req("W19")
@pytest.mark.parametrize("mark", ["[", "![", "> ", "*a ", "`a"])
def test_a_long_text_of_nothing_but_marks_is_read_as_words(mark: str) -> None:
    text = mark * (200_000 // len(mark))
    (paragraph,) = parse(f"{text}\n")
    assert paragraph == Paragraph((Text(text.strip()),))


@pytest.mark.req("W19")
def test_a_long_answer_is_read_as_markdown() -> None:
    blocks = parse("A **bold** word and a [link](https://x.org).\n\n" * 1_500)
    assert len(blocks) == 1_500
    assert all(isinstance(block, Paragraph) and len(block.spans) == 5 for block in blocks)


@pytest.mark.req("W10")
@pytest.mark.parametrize("note", ["note", "https://x.org", "two words", "<a> 'b'"])
def test_a_footnote_stays_to_be_read(note: str) -> None:
    document = parse(f"said[^1] so\n\n[^1]: {note}\n[^b]: more\n\n[k]: https://y.org\n\nsee [k]")
    said, notes, link = map(plain, ((block,) for block in document))
    assert said == "said[^1] so"
    assert notes == f"[^1]: {note}\n[^b]: more"
    assert link == "see k (https://y.org)"

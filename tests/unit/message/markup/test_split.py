"""Chunks of Markdown: none too long, nothing lost, nothing torn, each of them whole Markdown."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.message.markup.model import (
    CodeBlock,
    Document,
    Items,
    Link,
    Paragraph,
    Quote,
    Span,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.parse import ParsedMarkdown, parse
from hermes.message.markup.span_text import words
from hermes.message.markup.split import Measure, split
from tests.unit.message.markup.awkward import markdown, prose, raw

pytestmark = pytest.mark.req("A26", "W19")


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def read(text: str) -> int:
    """Measure what people read, as some platforms do."""
    return sum(len(part) for part in said(parse(text)))


measures = st.sampled_from([len, utf16, utf8, read])


def said(blocks: Document) -> Iterator[str]:
    """Give the words of a document, without the heads of tables, which are repeated."""
    for block in blocks:
        match block:
            case CodeBlock():
                yield block.text
            case Quote():
                yield from said(block.blocks)
            case Items():
                for item in block.items:
                    yield from said(item)
            case Table():
                for row in block.rows:
                    yield from (words(cell, addresses=False) for cell in row)
            case _:
                yield words(getattr(block, "spans", ()), addresses=False)


def letters(*texts: str) -> str:
    return "".join("".join(part for text in texts for part in said(parse(text))).split())


def spans_of(text: str) -> tuple[Span, ...]:
    return tuple(
        span for block in parse(text) if isinstance(block, Paragraph) for span in block.spans
    )


@settings(max_examples=80, deadline=None)
@given(raw | markdown, st.integers(40, 200), measures)
def test_no_chunk_is_too_long_or_blank(text: str, limit: int, measure: Measure) -> None:
    chunks = split(text, limit=limit, measure=measure)

    assert [chunk for chunk in chunks if measure(chunk) > limit] == []
    assert chunks == (text,) or [chunk for chunk in chunks if not chunk.strip()] == []


@settings(max_examples=50, deadline=None)
@given(prose, st.integers(80, 300), measures)
def test_nothing_is_lost(text: str, limit: int, measure: Measure) -> None:
    assert letters(*split(text, limit=limit, measure=measure)) == letters(text)


@settings(max_examples=40, deadline=None)
@given(markdown, st.integers(40, 120))
def test_no_cell_of_a_table_is_lost_however_small_the_chunks(text: str, limit: int) -> None:
    whole = iter(letters(*split(text, limit=limit)))

    assert [letter for letter in letters(text) if letter not in whole] == []


def test_a_text_that_fits_is_not_touched() -> None:
    text = "  *odd   __text\n\n\n"

    assert split(text, limit=len(text)) == (text,)


def test_blocks_are_kept_whole_where_they_fit() -> None:
    text = "one one one\n\n- a\n- b\n\nthree three"

    assert split(text, limit=24) == ("one one one\n\n- a\n- b", "three three")


def test_paragraphs_are_cut_after_lines_then_sentences_then_words() -> None:
    by_line = split("aaa bbb. ccc ddd\neee fff", limit=18)
    by_sentence = split("aaa bbb ccc. ddd eee fff ggg", limit=22)
    by_word = split("aaaa bbbb cccc dddd", limit=10)

    assert by_line == ("aaa bbb. ccc ddd", "eee fff")
    assert by_sentence == ("aaa bbb ccc.", "ddd eee fff ggg")
    assert by_word == ("aaaa bbbb", "cccc dddd")


def test_a_title_stays_with_what_it_is_the_title_of() -> None:
    text = f"{'word ' * 8}\n\n## Title\n\n{'more ' * 8}"

    assert [chunk.startswith("## Title\n\nmore") for chunk in split(text, limit=56)] == [
        False,
        True,
    ]


def test_links_and_code_are_never_cut_where_they_fit() -> None:
    text = " ".join(f"see [the page {n}](https://a.b/{n}) or `run it {n}`" for n in range(30))

    chunks = split(text, limit=90)

    kept = [span for chunk in chunks for span in spans_of(chunk) if not isinstance(span, Text)]
    assert kept == [span for span in spans_of(text) if not isinstance(span, Text)]


def test_bold_words_that_are_too_many_are_closed_and_opened_again() -> None:
    chunks = split(f"**{'word ' * 40}end**", limit=60)

    assert {type(span) for chunk in chunks for span in spans_of(chunk)} == {Strong}


def test_a_link_whose_words_are_too_many_leads_everywhere_to_the_same_address() -> None:
    chunks = split(f"[{'word ' * 40}end](https://a.b)", limit=60)

    links = [span for chunk in chunks for span in spans_of(chunk)]
    assert {span.url for span in links if isinstance(span, Link)} == {"https://a.b"}
    assert {type(span) for span in links} == {Link}


def test_an_address_that_is_too_long_is_said_in_words() -> None:
    url = f"https://a.b/{'c' * 100}"

    chunks = split(f"[w]({url})", limit=40)

    assert letters(*chunks) == f"w({url})"


def test_code_is_closed_and_opened_again_with_its_language() -> None:
    lines = [f"    line {number}" for number in range(40)]

    chunks = split("\n".join(("```python", *lines, "```")), limit=100)

    blocks = [block for chunk in chunks for block in parse(chunk)]
    codes = [block for block in blocks if isinstance(block, CodeBlock)]
    assert {block.language for block in codes} == {"python"}
    assert [line for block in codes for line in block.text.split("\n")] == lines


def test_a_table_is_cut_between_rows_and_its_head_is_repeated() -> None:
    rows = [f"| a{number} | b{number} |" for number in range(40)]

    chunks = split("\n".join(("| x | y |", "| --- | --- |", *rows)), limit=120)

    assert {chunk.split("\n")[0] for chunk in chunks} == {"| x | y |"}
    assert [row for chunk in chunks for row in chunk.split("\n")[2:]] == rows


def test_a_list_goes_on_counting() -> None:
    text = "\n".join(f"{number}. item {number}" for number in range(1, 30))

    assert "\n".join(split(text, limit=60)) == text


def test_quotes_go_on_as_quotes() -> None:
    chunks = split("> " + "word " * 60, limit=80)

    assert {type(block) for chunk in chunks for block in parse(chunk)} == {Quote}


@pytest.mark.parametrize("character", ["👩‍👩‍👧", "e\u0301", "🇩🇪", "👍🏽", "각"])
@pytest.mark.parametrize("measure", [len, utf16, utf8])
def test_no_character_is_torn(character: str, measure: Measure) -> None:
    chunks = split(character * 60, limit=40, measure=measure)

    assert [chunk.replace(character, "") for chunk in chunks] == [""] * len(chunks)


def test_a_measure_that_lets_nothing_through_still_ends() -> None:
    assert split("a**b**c", limit=40, measure=lambda text: 41) == ("a", "b", "c")


def test_a_text_of_definitions_only_is_sent_as_words() -> None:
    text = "[a]: https://b.c/d\n" * 5

    assert letters(*split(text, limit=60)) == "".join(text.split())


@pytest.mark.parametrize("limit", [60, 400, 4000])
@pytest.mark.parametrize(
    "part",
    [
        "lorem ipsum dolor. ",
        "x",
        "- item **b** c\n",
        "a **b** *c* `d` ",
        "para\n\n",
        "[w](http://a.b) ",
    ],
)
def test_the_cost_of_a_chunk_does_not_grow_with_the_text(part: str, limit: int) -> None:
    measured: list[int] = []

    def measure(text: str) -> int:
        measured.append(len(text))
        return len(text)

    text = part * (20_000 // len(part))
    chunks = split(text, limit=limit, measure=measure)

    assert sum(measured) - len(text) < 30 * (limit + 60) * len(chunks)


@pytest.mark.parametrize(
    "part", ["a **b** *c* `d` ", "> a **b**\n", "- item **b** c\n", "para\n\n"]
)
def test_a_text_is_read_twice_at_most_as_a_whole_and_in_its_chunks(part: str) -> None:
    text = part * (20_000 // len(part))
    read_anew: list[int] = []

    def measure(tried: str) -> int:
        # What was written of a document that is at hand is not read again, whoever measures it.
        is_known = isinstance(tried, ParsedMarkdown) and tried.document is not None
        read_anew.extend(() if is_known else (len(tried),))
        return read(tried)

    chunks = split(text, limit=600, measure=measure)

    assert sum(read_anew) <= len(text) + 1.2 * sum(map(len, chunks))


def test_chunks_that_grow_longer_hold_at_least_as_much() -> None:
    text = "Some words, *bent* and **bold**. " * 40

    counts = [len(split(text, limit=limit)) for limit in range(60, 600, 20)]

    assert [pair for pair in pairwise(counts) if pair[0] < pair[1]] == []

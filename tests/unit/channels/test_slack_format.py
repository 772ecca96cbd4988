"""Formatted text as mrkdwn and blocks: what each mark becomes, and that Slack takes whatever comes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.slack.format import MOST_BLOCKS, SECTION_CHARS
from hermes.channels.slack.format import as_blocks as blocks_of
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import (
    Break,
    Code,
    CodeBlock,
    Document,
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
from hermes.plugins.manifest import load_manifest
from hermes.testing.slack.markup import MOST_BLOCK_CHARS, as_read, check_blocks, check_mrkdwn

MARKS = Marks(load_manifest("hermes.channels.slack").markup)


def blocks(document: Document) -> list[dict[str, Any]]:
    """Return a document as Slack gets it."""
    return blocks_of(document, MARKS)


def as_it_is(marks: str) -> str:
    """Return marks that style nothing: the words for a date that is none."""
    return f"<!date^00000000^{{_}}|{marks}>"


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("document", "mrkdwn"),
    [
        (Paragraph((Text("a & <b>"),)), "a &amp; &lt;b&gt;"),
        (Paragraph((Strong((Text("b"),)), Text(" "), Emphasis((Text("i"),)))), "*b* _i_"),
        (Paragraph((Strike((Text("s"),)), Text(" "), Code("x<y"))), "~s~ `x&lt;y`"),
        (Paragraph((Strong((Text("a"), Break(), Text("b"))),)), "*a*\n*b*"),
        (Paragraph((Strong((Text("a "),)), Text("b"))), "*a* b"),
        (Paragraph((Text("a"), Strong((Text("b"),)), Text("c"))), "a\u200b*b*\u200bc"),
        (Paragraph((Strong((Text("a"), Strong((Text("b"),)))),)), "*ab*"),
        (Paragraph((Code("a`b"),)), "a`b"),
        (Paragraph((Text("*x* a"),)), f"{as_it_is('*')}x{as_it_is('*')} a"),
        (Paragraph((Strong((Text("b"),)), Text("*"))), f"*b*{as_it_is('*')}"),
        (Paragraph((Text("~/a, 2 * 3 * 4, a_b_c"),)), "~/a, 2 * 3 * 4, a_b_c"),
        (
            Paragraph((Link("https://x.org/a|b?c=1&d=2", (Strong((Text("w>"),)),)),)),
            "<https://x.org/a%7Cb?c=1&amp;d=2|w&gt;>",
        ),
        (Paragraph((Link("https://x.org", (Text("https://x.org"),)),)), "<https://x.org>"),
        (Paragraph((Picture("https://x.org/p.png", "a cat"),)), "<https://x.org/p.png|a cat>"),
        (Heading(1, (Strong((Text("Title"),)),)), "*Title*"),
        (CodeBlock("a\n```b", "py"), "```\na\n`\u200b``b\n```"),
        (Quote((Paragraph((Text("a"), Break(), Text("b"))), Paragraph((Text("c"),)))), "> a\n> b\n>\n> c"),
        (Quote((Quote((Paragraph((Text("a"),)),)),)), "> a"),
        (Items(((Quote((Paragraph((Text("a"),)),)),),)), "• &gt; a"),
        (
            Items(((Paragraph((Text("a"),)), Items(((Paragraph((Text("b"),)),),))), (Paragraph((Text("c"),)),))),
            "• a\n    ◦ b\n• c",
        ),
        (Items(((Paragraph((Text("a"),)),), (Paragraph((Text("b"),)),)), 3), "3. a\n4. b"),
        (Rule(), "———"),
    ],
)  # fmt: skip
def test_every_block_has_its_mrkdwn(document, mrkdwn) -> None:
    assert MARKS.write((document,)) == mrkdwn


@pytest.mark.req("W10")
def test_a_table_is_lines_of_one_width() -> None:
    table = Table(((Text("a"),), (Text("long"),)), (((Text("<1>"),), (Text("2"),)),))
    lines = MARKS.write((table,)).split("\n")
    assert (lines[0], lines[-1]) == ("```", "```")
    assert any("&lt;1&gt;" in line and "2" in line for line in lines)


@pytest.mark.req("W10")
def test_a_rule_is_a_divider() -> None:
    kinds = [block["type"] for block in blocks(parse("a\n\n---\n\nb"))]
    assert kinds == ["section", "divider", "section"]


@pytest.mark.req("W10")
def test_short_pieces_share_a_section() -> None:
    found = blocks(parse("# Title\n\none\n\n- two"))
    assert [block["text"]["text"] for block in found] == ["*Title*\n\none\n\n• two"]


@pytest.mark.req("W10")
def test_long_code_is_closed_and_opened_again() -> None:
    lines = [f"line {number} <&>" for number in range(400)]
    found = blocks((CodeBlock("\n".join(lines)),))
    texts = [block["text"]["text"] for block in found]
    assert len(texts) > 1
    assert all(text.startswith("```\n") and text.endswith("\n```") for text in texts)
    assert "\n".join(as_read(text) for text in texts).split("\n") == lines


@pytest.mark.req("W10")
def test_many_rules_are_few_blocks() -> None:
    document: Document = tuple(
        block for number in range(60) for block in (Paragraph((Text(f"n{number}"),)), Rule())
    )
    found = blocks(document)
    assert [block["type"] for block in found] == ["section"]
    assert "n59" in found[0]["text"]["text"]


@pytest.mark.req("W10")
def test_a_word_that_fills_more_than_a_section_is_cut_between_characters() -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    found = blocks((Paragraph((Text(family * 1000),)),))
    texts = [block["text"]["text"] for block in found]
    assert "".join(texts) == family * 1000
    assert all(text.startswith("\N{MAN}") and text.endswith("\N{GIRL}") for text in texts)


@pytest.mark.req("W10")
def test_an_escape_is_not_cut_in_two() -> None:
    found = blocks((Paragraph((Text("&" * 2500),)),))
    texts = [block["text"]["text"] for block in found]
    assert "".join(texts) == "&amp;" * 2500
    for text in texts:
        check_mrkdwn(text)


AWKWARD = st.lists(
    st.sampled_from(
        [
            *("**", "*", "_", "~~", "`", "```", "```py\n", "\n", "\n\n", "> ", "- ", "1. ", "# "),
            *("| a | b |\n| --- | --- |\n| 1 | 2 |\n", "---\n", "<&>", "&amp;", "<@U1>", "<!channel>"),
            *("[w](https://x.org/a_b?c=<d>)", "![p](https://x.org/p)", "\u202eRTL\u202c", "עברית"),
            *("👨‍👩‍👧‍👦", "e\u0301", "🇩🇪", "word" * 400, " ", "\t", "snake_case_name", "2 * 3 * 4"),
        ]
    )
    | st.text(max_size=12),
    max_size=60,
).map("".join)  # fmt: skip


@pytest.mark.req("W10")
@given(AWKWARD)
@settings(max_examples=250, deadline=None)
def test_slack_takes_whatever_a_model_writes(text: str) -> None:
    document = parse(text)
    mrkdwn, found = MARKS.write(document), blocks(document)
    check_mrkdwn(mrkdwn)
    assert len(found) <= MOST_BLOCKS
    if sum(len(block.get("text", {}).get("text", "")) for block in found) <= MOST_BLOCK_CHARS:
        check_blocks(found)
    assert "<!channel>" not in mrkdwn
    assert "<@" not in mrkdwn
    assert all(len(block.get("text", {}).get("text", "")) <= SECTION_CHARS for block in found)


@pytest.mark.req("W10")
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=300))
@settings(max_examples=150, deadline=None)
def test_code_is_read_as_it_was_written(text: str) -> None:
    shown = MARKS.write((CodeBlock(text),))
    assert as_read(shown).strip() == text.replace("\u200b", "").strip()


@pytest.mark.req("W10")
@given(st.text(alphabet="ab *_~`.-", max_size=60))
@settings(max_examples=300, deadline=None)
def test_words_are_read_as_they_were_written(text: str) -> None:
    assert as_read(MARKS.write((Paragraph((Text(f"a {text}."),)),))) == f"a {text}."


@pytest.mark.req("W10")
def test_what_a_model_escapes_is_not_styled() -> None:
    literal = r"\*x\* \_y\_ \~z\~ \`c\` **b\***"
    assert as_read(MARKS.write(parse(literal))) == "*x* _y_ ~z~ `c` b*"
    assert "[^1]: note" in MARKS.write(parse("a[^1]\n\n[^1]: note"))

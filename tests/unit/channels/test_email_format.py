"""Mail's HTML: every word is there and means only itself, whatever it is made of."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.email.format import render
from hermes.message.markup.parse import parse

_VOID = {"br", "hr", "meta"}
_PIECES = st.sampled_from(
    [
        "**bold", "*it*", "~~no~~", "`code <b>`", "```\n<script>\n```", "# head", "- item", "1. one", "> quote", "| a | b |",
        "|---|---|", "[link](https://x.test/?a=1&b=\"2\")", "![p](javascript:alert(1))", "<img src=x onerror=y>", "&amp;", "א ב\u202e",
        "👩‍👩‍👧", "x" * 300, "\n", "\n\n", "---", "]](", "\\", "</div></body>",
    ]
)  # fmt: skip


class Reader(HTMLParser):
    """Reads a page, and says whether every tag is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def shown(text: str) -> Reader:
    reader = Reader()
    reader.feed(render(parse(text)))
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.req("W19")
@settings(deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=20)), max_size=15).map(" ".join))
def test_any_text_is_a_whole_page_in_which_nothing_runs(text: str) -> None:
    page = shown(text)
    assert not page.tags & {"script", "img", "iframe", "style", "form", "link"}
    assert page.names <= {"style", "dir", "charset", "href", "start"}
    assert all(link.startswith(("http:", "https:", "mailto:", "tel:")) for link in page.links)


@pytest.mark.req("W19")
def test_everything_that_can_be_formatted_is() -> None:
    page = shown(
        "# Title\n\n**b** *i* ~~s~~ `c<` [l](https://x.test/?a&b)\n\n> q\n\n- one\n- two\n\n3. three\n\n"
        "```py\nx < 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n"
    )
    assert page.tags >= {
        "h1", "strong", "em", "s", "code", "a", "blockquote", "ul", "ol", "li", "pre", "table", "th", "td", "hr",
    }  # fmt: skip
    assert "c<" in page.words
    assert "x < 1" in page.words
    assert page.links == ["https://x.test/?a&b"]


@pytest.mark.req("W19")
def test_styles_stand_in_the_tags_and_a_list_begins_where_it_did() -> None:
    page = render(parse("one\n\n3. ~~three~~"))
    assert '<p style="margin:0 0 12px">one</p>' in page
    assert '<ol start="3" style="margin:0 0 12px"><li><s>three</s></li></ol>' in page
    assert '<p style="margin:0 0 12px">alone</p>' in render(parse("alone"))

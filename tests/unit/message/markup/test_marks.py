"""Marks around words: each dialect is rows, no text makes a mark that its author did not write, and no
character is lost.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.message.markup.dialect import MarkupRow
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import (
    Break,
    Code,
    CodeBlock,
    Emphasis,
    Heading,
    Link,
    Paragraph,
    Picture,
    Span,
    Strike,
    Strong,
    Text,
)
from hermes.message.markup.parse import parse
from hermes.message.markup.runs import tidy
from tests.unit.message.markup.readers import Styled, read_discord, read_hugging

pytestmark = pytest.mark.req("A26", "W19")

_TABLES = tomllib.loads(Path(__file__).with_name("dialects.toml").read_text(encoding="utf-8"))
DIALECTS = {name: Marks(msgspec.convert(table, MarkupRow)) for name, table in _TABLES.items()}
READERS: dict[str, Callable[[str], Iterator[Styled]]] = {
    "discord": read_discord,
    "whatsapp": read_hugging,
}
# What WhatsApp shows for a character that would be a mark, and the character that was meant.
_LIKE = {"\u2217": "*", "\uff3f": "_", "\u223c": "~", "\u02cb": "`"}
_EVERYTHING = """# Title *x*

a **b _c_** ~~d~~ `e`
[words](https://x.org/a_(b)) <https://y.org>

- one
  - two

3. three

> said

```py
x = "`"
```

| a | b |
|---|---|
| 1 | 2 |

---"""
_SHOWN = {
    "discord": """# Title _x_

a **b _c_** ~~d~~ `e`
[words](https://x.org/a_%28b%29) https://y.org

- one
  - two

3. three

> said

```py
x = "`"
```

```
a  b
-  -
1  2
```

---""",
    "whatsapp": """*Title _x_*

a *b _c_* ~d~ `e`
words (https://x.org/a_(b)) https://y.org

- one
  - two

3. three

> said

```x = "`"```

```a  b
-  -
1  2```

---""",
    "sms": """Title x

a b c d e
words (https://x.org/a_(b)) https://y.org

- one
  - two

3. three

> said

x = "`"

a: 1
b: 2

---""",
    "qq": """# Title _x_

a **b _c_** ~~d~~ `e`
[words](https://x.org/a_%28b%29) https://y.org

- one
  - two

3. three

> said

```py
x = "`"
```

```
a  b
-  -
1  2
```

***""",
}


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_has_its_marks(name: str) -> None:
    assert DIALECTS[name].write(parse(_EVERYTHING)) == _SHOWN[name]


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("discord", "hi @everyone and `@here` <@123> <#9>", "hi @\u200beveryone and `@\u200bhere` <\u200b@\u200b123> <\u200b#9>"),
        ("discord", r"\# no title", "\u200b# no title"),
        ("discord", r"\> no quote", "\u200b> no quote"),
        ("discord", r"see https://x.org/\_a\_", "see https://x.org/_a_"),
        ("discord", "un*believ*able", "un\u200b_believ_\u200bable"),
        ("discord", "- > q", "- > q"),
        ("discord", "> a\n>\n> b", "> a\n>\n> b"),
        ("discord", "> > a", "> a"),
        ("whatsapp", r"2 * 3 * 4, a_b_c, \*x\*", "2 * 3 * 4, a_b_c, \u2217x\u2217"),
        ("whatsapp", "a **b** \\*", "a *b* \u2217"),
        ("whatsapp", "[mail](mailto:a@e.org)", "mail (a@e.org)"),
        ("whatsapp", "a `` ` `` b", "a ` b"),
        ("sms", "**b** [x.org](https://x.org)", "b x.org"),
    ],
)  # fmt: skip
def test_what_is_no_mark_and_what_is_a_mark_stay_apart(name: str, text: str, shown: str) -> None:
    assert DIALECTS[name].write(parse(text)) == shown


def test_code_cannot_end_its_fence() -> None:
    document = (CodeBlock("a\n```\n@everyone"),)
    assert DIALECTS["discord"].write(document) == "```\na\n`\u200b``\n@\u200beveryone\n```"


def test_code_in_a_list_keeps_its_lines() -> None:
    shown = DIALECTS["discord"].write(parse("- one\n  ```\n  x\n    y\n  ```\n  more"))
    assert shown == "- one\n```\nx\n  y\n```\n  more"


def test_codes_that_toggle_end_with_the_line() -> None:
    marks = Marks(MarkupRow(bold=("\x02", "\x02"), italic=("\x1d", "\x1d"), toggles=True))
    document = (Paragraph((Strong((Text("a "), Emphasis((Text("b"), Break(), Text("c"))))),)),)
    assert marks.write(document) == "\x02a \x1db\n\x02\x1dc"


def test_a_row_with_a_typing_error_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="bolt"):
        msgspec.convert({"bolt": ["*", "*"]}, MarkupRow)


_HOSTILE = st.sampled_from(
    [
        *("*", "**", "_", "__", "~", "~~", "`", "```", "|", "||", "\\", "[", "]", "(", ")", "<", ">"),
        *("@everyone", "@here", "<@1>", "<#2>", "<!channel>", "[w](x)", "# ", "> ", "- ", "1. ", "-# "),
        *("a", "word", " ", "é", "漢", "👍🏽", ".", "!", ":", "snake_case", "a*b*c", "¯\\_(ツ)_/¯"),
    ]
)  # fmt: skip
_TEXTS = st.lists(_HOSTILE, min_size=1, max_size=6).map("".join)
_LEAVES = _TEXTS.map(Text) | _TEXTS.map(Code)
_SPANS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        *(
            st.lists(inner, min_size=1, max_size=3).map(tuple).map(style)
            for style in (Strong, Emphasis, Strike)
        )
    ),
    max_leaves=6,
)


def _meant(
    spans: Iterable[Span], marks: str, styles: frozenset[str] = frozenset()
) -> Iterator[Styled]:
    names = {Strong: "bold", Emphasis: "italic", Strike: "strike"}
    for span in spans:
        match span:
            case Text(text):
                yield from ((char, styles) for char in text)
            case Code(text):
                # A backtick would end the code: then it is written as words. Code with other marks is
                # in no style, because the app would read them.
                around = styles if "`" in text or not any(map(text.count, marks)) else frozenset()
                kind = frozenset() if "`" in text else frozenset({"code"})
                yield from ((char, around | kind) for char in text)
            case Strong(inner) | Emphasis(inner) | Strike(inner):
                yield from _meant(inner, marks, styles | {names[type(span)]})


def _seen(styled: Iterable[Styled]) -> list[Styled]:
    return [
        (_LIKE.get(char, char), styles)
        for char, styles in styled
        if not char.isspace() and char != "\u200b"
    ]


@pytest.mark.parametrize("name", READERS)
@given(st.lists(_SPANS, min_size=1, max_size=4).map(tidy).filter(bool))
@settings(max_examples=400, deadline=None)
@example((Strike((Text("a~"),)),))
@example((Text("a"), Strong((Text("b"),)), Emphasis((Text("c"),)), Text("d")))
@example((Text("#"), Strong((Text("x"),))))
def test_no_text_makes_a_mark_and_nothing_is_lost(name: str, spans: tuple[Span, ...]) -> None:
    row = DIALECTS[name].row
    shown = DIALECTS[name].write((Paragraph(spans),))
    marks = "".join((row.escaped, *row.literal))
    assert _seen(READERS[name](shown)) == _seen(_meant(spans, marks))


@pytest.mark.parametrize("name", DIALECTS)
@given(_TEXTS, _TEXTS)
@settings(max_examples=100, deadline=None)
def test_no_word_of_any_block_is_lost(name: str, first: str, second: str) -> None:
    document = (
        Heading(1, (Text(first),)),
        CodeBlock(second),
        Paragraph((Link("https://x.org", (Text("l" + first),)), Picture("https://y.org", "p"))),
    )
    shown = DIALECTS[name].write(document)
    for said in (first, second):
        wanted = [char for char in said if char.isalnum()]
        places = iter(shown)
        assert all(char in places for char in wanted)

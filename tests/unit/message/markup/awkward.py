"""Text that is hard to format: generated Markdown, and raw text full of marks."""

from hypothesis import strategies as st

PIECES = (
    *"*_~`[]()<>!#|\\&-+=:.\"'1a b\n\t",
    *("**", "__", "~~", "```", "\n\n", "  \n", "\n- ", "\n  - ", "\n    ", "\n1. ", "\n12) "),
    *("\n> ", "\n# ", "\n---\n", "\n===\n", "\n| a | b |\n| --- | --- |\n| ", " | ", "\n```py\n"),
    *(
        "[w](http://a.b/c)",
        "](http://x.y)",
        "![p](https://p.q/r.png)",
        "[j](javascript:x)",
        "[](mailto:a@b)",
    ),
    *(
        "<http://auto.link>",
        "<b>",
        "</b>",
        "&amp;",
        "&#32;",
        "&#10;",
        "&nbsp;",
        "&#42;",
        "\\*",
        "\n[x]: http://z\n",
    ),
    *(
        "word ",
        "snake_case_word",
        "2 * 3",
        "é",
        "e\u0301",
        "日本語",
        "👩‍👩‍👧",
        "🇩🇪",
        "שלום",
        "مرحبا",
        "\u200f",
    ),
    *("\u00a0", "\u2028", "\x00", "\ud800", "\x1b", "\ufeff", "x" * 40),
)
raw = st.lists(st.sampled_from(PIECES), max_size=24).map("".join) | st.text(max_size=60)

_plain = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=30)
_words = st.lists(
    st.sampled_from(
        ("alpha", "beta", "a_b", "x*y", "**", "日本", "👍🏽", "1.", "-", "#", "[z]", "end.")
    ),
    min_size=1,
    max_size=12,
)
_leaf = _words.map(" ".join) | _plain.map(lambda text: text.replace("`", "'").replace("\n", " "))


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>&~#|!-+.()" else char for char in text)


_span = st.one_of(
    _leaf.map(_escaped),
    _leaf.map(lambda text: f"**{_escaped(text.strip() or 'x')}**"),
    _leaf.map(lambda text: f"*{_escaped(text.strip() or 'x')}*"),
    _leaf.map(lambda text: f"~~{_escaped(text.strip() or 'x')}~~"),
    _leaf.map(lambda text: f"***{_escaped(text.strip() or 'x')}** tail*"),
    _leaf.map(lambda text: f"[{_escaped(text)}](https://example.org/a?b=1&c=(d))"),
    _leaf.map(lambda text: f"`` {text} ``"),
    st.just("![a picture](https://example.org/p.png)"),
    st.just("\n"),
)
_paragraph = st.lists(_span, min_size=1, max_size=8).map(" ".join)
_row = st.lists(_leaf.map(_escaped), min_size=2, max_size=2).map(
    lambda cells: f"| {' | '.join(cells)} |"
)
_table = st.lists(_row, min_size=1, max_size=6).map(
    lambda rows: "\n".join((rows[0], "| --- | --- |", *rows[1:]))
)
_leaf_block = st.one_of(
    _paragraph,
    _leaf.map(lambda text: f"## {_escaped(text)}"),
    st.lists(_leaf, max_size=8).map(lambda lines: "\n".join(("```python", *lines, "```"))),
    st.just("---"),
)


def _inside(first: str, rest: str) -> "st.SearchStrategy[str]":
    def shifted(text: str) -> str:
        head, *others = text.split("\n")
        return "\n".join((first + head, *(rest + line for line in others)))

    return _document.map(shifted)


_block: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        _leaf_block,
        _leaf_block,
        _inside("> ", "> "),
        st.lists(_inside("- ", "  "), min_size=1, max_size=4).map("\n".join),
        st.lists(_inside("3. ", "   "), min_size=1, max_size=4).map("\n".join),
    )
)
_document: st.SearchStrategy[str] = st.lists(_block, min_size=1, max_size=3).map("\n\n".join)
prose = st.lists(_block, min_size=1, max_size=6).map("\n\n".join)
markdown = st.lists(st.one_of(_block, _table), min_size=1, max_size=6).map("\n\n".join)

"""What was rewritten to be linear does what the expression before it did, on all short texts that matter."""

import re
from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.email.compose import reply_subject
from hermes.channels.email.mime import leaves_of
from hermes.channels.matrix.wire import MAX_EVENT_BYTES, read_answer, read_event
from hermes.errors import BadRequest
from hermes.memory.visible import visible
from hermes.message.markup.html_reader import read_mail_html
from hermes.ops.masker import MASK, Masker
from hermes.providers.anthropic.traits import traits_of
from hermes.schema.unfinished_json import is_unfinished
from tests.unit.patterns.javascript import Node, node
from tests.unit.patterns.walk import SOURCE

MANY = settings(max_examples=400, deadline=None)
LOOKS = (
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\d{6,}:AA[A-Za-z0-9_-]{20,}"), MASK),
    (re.compile(r"(://)[^/@\s\"']+:[^/@\s\"']+(?=@)"), r"\1" + MASK),
)
JSON_PIECES = st.sampled_from(['"', "\\", "{", "}", "[", "]", "a", ":", ",", "1"])
MASKED_PIECES = st.sampled_from(
    ["eyJ", "aB3-_xyz", ".", "-", "://", ":", "@", "/", " ", "a", "123456", "7", ":AA", "k" * 20]
)


@pytest.fixture(scope="module")
def page() -> Iterator[Node]:
    with node("page.mjs", str(SOURCE / "channels/web/static")) as running:
        yield running


@MANY
@given(st.lists(JSON_PIECES, max_size=12).map("".join))
def test_unfinished_json(text: str) -> None:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL)
    opened = sum(map(bare.count, "{[")) - sum(map(bare.count, "}]"))
    # What can be read is finished, and has nothing open.
    assert is_unfinished(text) == ('"' in bare or opened > 0)


@MANY
@given(st.lists(MASKED_PIECES, max_size=12).map("".join))
def test_masked_lines(line: str) -> None:
    expected = line
    for look, shown in LOOKS:
        expected = look.sub(shown, expected)
    assert Masker(()).line(line) == expected


@MANY
@given(st.text(" \n\v\t\u2028ab", max_size=12))
def test_visible_text(text: str) -> None:
    blanks = re.sub(r"[^\S\n\v\f\r\x85\u2028\u2029]{2,}|[^\S\n ]|\u2800", " ", text)
    expected = re.sub(r"\s*[\n\v\f\r\x85\u2028\u2029]\s*", "\n", blanks)
    assert visible(text, 100) == expected.strip()


@MANY
@given(
    st.lists(st.sampled_from(["re", "Aw", "s", ":", " ", "[1]", "[", "x"]), max_size=9).map("".join)
)
def test_subjects(text: str) -> None:
    line = " ".join(text.split())
    old = r"(?:\s*(?:re|aw|sv|antw|odp|rif|res|vs)\s*(?:\[\d+\])?\s*:)+\s*"
    found = re.match(old, line, re.IGNORECASE)
    bare = line[found.end() :] if found else line
    assert reply_subject(text) == (f"Re: {bare}" if bare else "Re: your message")


@MANY
@given(st.lists(st.sampled_from(["1", "0", ".", "px", " ", "+", "pt"]), max_size=9).map("".join))
def test_sizes_of_text_that_is_seen(size: str) -> None:
    old = r"font-size\s*:\s*\+?[\d.]*[1-9][\d.]*\s*(?:px|pt)"
    # In an element of size zero only text with a size of its own is seen.
    page = f"<div style='font-size:0'><i style='font-size:{size}'>x</i></div>"
    is_hidden = re.search(r"font-size:\+?\.?0(?![.\d]*[1-9])", f"font-size:{size}") is not None
    is_seen = re.search(old, f"font-size:{size}") is not None and not is_hidden
    assert read_mail_html(page).strip() == ("x" if is_seen else "")


@MANY
@given(
    st.lists(st.sampled_from(["claude", "-", "a", "3", "4", ".", "7"]), max_size=10).map("".join)
)
def test_versions_of_models(name: str) -> None:
    found = re.search(r"claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?", name)
    version = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    is_known = "claude" in name
    assert traits_of(name).adaptive == (is_known and version >= (4, 6))
    assert traits_of(name).sampling == (not is_known or version < (4, 7))


@MANY
@given(
    st.lists(
        st.sampled_from(["--b", "\n--b", "\r\n--b", "--", "\n", "\r\n", "\r", " ", "\t", "x", "-"]),
        max_size=12,
    ).map("".join)
)
def test_boundaries_of_mails(text: str) -> None:
    body = text.encode()
    parts = parts_of(body)
    inside = [] if parts is None else [re.sub(rb"^\r?\n", b"", one) for one in parts]
    expected = [leaf.data for one in inside for leaf in leaves_of(one)]
    found = leaves_of(b"Content-Type: multipart/mixed; boundary=b\n\n" + body)
    assert [leaf.data for leaf in found] == ([body] if parts is None else expected)


def parts_of(body: bytes) -> list[bytes] | None:
    """Return what stands between boundaries, as an expression finds them; None without any."""
    parts: list[bytes] = []
    begin = None
    for found in re.finditer(rb"(?:\A|\r?\n)--b(--)?[ \t]*(?=\r?\n|\Z)", body):
        parts += [] if begin is None else [body[begin : found.start()]]
        begin = found.end()
        if found[1]:
            return parts
    return None if begin is None else [*parts, body[begin:]]


@MANY
@given(rest=st.text("#a \t", max_size=8))
def test_headings(rest: str, page: Node) -> None:
    found = re.match(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$", f"#{rest}")
    (block,) = page.ask(f"#{rest}")
    assert block[0] == f"H{len(found[1])}" if found else block[0] == "P"
    assert not found or "".join(block[1:]) == found[2]


@MANY
@given(rule=st.text(" |:-", max_size=9))
def test_rules_of_tables(rule: str, page: Node) -> None:
    old = r"^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$"
    is_table = "-" in rule and "|" in rule and re.match(old, rule) is not None
    assert (page.ask(f"a|b\n{rule}")[0][0] == "DIV") == is_table


@MANY
@given(code=st.text(" a\t", min_size=1, max_size=6))
def test_code_in_a_line(code: str, page: Node) -> None:
    expected = re.sub(r"^ (.*\S.*) $", r"\1", code)
    assert page.ask(f"`{code}`") == [["P", ["CODE", expected]]]


@MANY
@given(end=st.text(".,;:!?)]a", max_size=6))
def test_ends_of_addresses(end: str, page: Node) -> None:
    address = re.sub(r"[.,;:!?*_~)\]]+$", "", f"http://x.test/{end}")
    rest = f"http://x.test/{end}"[len(address) :]
    assert page.ask(f"http://x.test/{end}") == [["P", ["A", address], *([rest] if rest else [])]]


@MANY
@given(
    text=st.lists(st.sampled_from(["[a](", "mailto:h", "(", ")", " ", "x"]), max_size=12).map(
        "".join
    )
)
def test_ends_of_links(text: str, page: Node) -> None:
    links, at = 0, text.find("[a](")
    while at >= 0:
        depths = list(accumulate((one == "(") - (one == ")") for one in text[at + 3 :]))
        end = at + 3 + depths.index(0) if 0 in depths else -1
        is_link = end >= 0 and text[at + 4 : end].strip().startswith("mailto:")
        links += is_link
        at = text.find("[a](", end + 1 if is_link else at + 1)
    # A link of many that do not end is still text.
    drawn = page.ask(f"x{text}" + "[a](" * 10)
    assert str(drawn).count("['A'") == links


@pytest.mark.req("A8", "W9")
def test_a_table_has_no_more_cells_than_its_text(page: Node) -> None:
    rows = [["TR", ["TD", "c"]], ["TR", ["TD", "d"], ["TD", "e"]]]
    head = ["THEAD", ["TR", ["TH", "a"], ["TH", "b"]]]
    drawn = [["DIV", ["TABLE", head, ["TBODY", *rows]]]]
    assert page.ask("a|b\n-|-\n|c\nd|e|more") == drawn


@pytest.mark.req("A8", "W9")
def test_what_is_too_much_for_a_table_stays_text(page: Node) -> None:
    wide = "|" + "a|" * 65 + "\n" + "-|" * 65
    assert page.ask(wide) == [["P", "|" + "a|" * 65, ["BR"], "-|" * 65]]
    assert page.ask(wide.replace("a|", "", 1).replace("-|", "", 1))[0][0] == "DIV"
    ((_, (_, _, body), rest),) = page.ask("a|b\n-|-" + "\nc|d" * 2502)
    assert len(body[1:]) == 2500
    assert rest == ["P", "c|d", ["BR"], "c|d"]


@pytest.mark.req("A8", "W9")
def test_a_list_may_have_very_many_lines(page: Node) -> None:
    (((_, first, *lines),),) = [[one[1]] for one in page.ask("- a\n" + "  b\n" * 130_000)]
    assert (first, lines.count("b")) == ("a", 130_000)


@pytest.mark.req("W9")
def test_line_separators_end_a_line_and_a_label_has_no_bracket(page: Node) -> None:
    blank = "# " + " " * 1000
    assert page.ask(f"{blank}\u2028x\u2029y") == [["H1"], ["P", "x", ["BR"], "y"]]
    assert page.ask("[a [b](http://x.test/ 'title') ](") == [["P", "[a ", ["A", "b"], " ]("]]


@pytest.mark.req("W9")
def test_a_very_long_reply_is_shown_as_it_is(page: Node) -> None:
    long = "- **a**\n" * 131_072
    assert page.ask(long + "b") == [["P", long + "b"]]
    assert page.ask(long)[0][0] == "UL"


@pytest.mark.req("A8")
def test_an_event_larger_than_the_api_allows_is_refused() -> None:
    event = b'{"type":"m.room.message","content":{"body":"%s"}}'
    assert read_event(event % (b"x" * 65_536)).content["body"] == "x" * 65_536
    with pytest.raises(BadRequest, match="the most are 262144"):
        read_event(event % (b"x" * MAX_EVENT_BYTES))


@pytest.mark.req("A8")
def test_surrogates_are_mended_in_every_piece_of_a_long_answer() -> None:
    filler = b'"' + b"a" * 200 + b'",'
    body = b'{"a":[' + (filler * 1000 + rb'"\ud83d\ude00 \ud83d",') * 3 + b'"x"]}'
    texts = read_answer(body, dict)["a"]
    assert [one for one in texts if not one.startswith("a")] == ["😀 \ufffd"] * 3 + ["x"]


def test_json_that_does_not_end_is_refused() -> None:
    deep = b"[" * 100 + b'{"a":"' + rb"\"" * 1000
    with pytest.raises(BadRequest):
        read_answer(deep, dict)
    assert read_answer(b'{"a":[' + b"[" * 100 + b"]" * 100 + rb',"]\"["]}', dict)["a"][1] == ']"['

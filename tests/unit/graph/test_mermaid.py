"""Conversations as Mermaid charts: whole, small enough, and nothing in a message is markup."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.graph import MessageGraph
from hermes.graph.mermaid import MOST_ARROWS, MOST_LETTERS, escaped, mermaid
from hermes.graph.sketch import Drawing, draw
from tests.unit.graph.said import assistant, system, tool_call, user

# Every line that a chart may have; labels hold letters, digits, spaces, entities and our own breaks.
LABEL = r'"(?:[^\W_]| |#\d+;|<br/>)*"'
BOX = rf"(?:\[{LABEL}\]|\(\[{LABEL}\]\)|\[\[{LABEL}\]\]|\[/{LABEL}/\])(?::::(?:answer|former|folded))?"
NAME = r"(?:b\d+[smfcbr\d]*|more)"
LINE = re.compile(
    rf"flowchart TD|classDef [\w:#,\- ]+|{NAME}{BOX}|{NAME} (?:-->|-\. \w+ \.-) {NAME}"
)


def read(text: str) -> str:
    """Return an escaped text as a page shows it."""
    return html.unescape(re.sub(r"#(\d+);", r"&#\1;", text))


def rich_graph(text: str, *, name: str = "other") -> list[MessageGraph]:
    """A graph with everything that is drawn, and `text` wherever a text can be."""
    graph = MessageGraph([user(text), {"role": f"x{text}", "content": text}])
    call = graph.record_call(tool_call("t"), model=f"m{text}", call_id=f"c{text}")
    graph.link("t", call=call, child=f"g{text}")
    with graph.editing(text, text):
        graph[0]["content"] = f"{text}!"
        graph[2] = assistant(f"{text}?")
    other = graph.branch(name)
    other.append(user(text))
    graph.squish(0, 2, system(f"{text}."), call=call)
    graph.pop()
    return [graph, other]


@pytest.mark.req("G7")
def test_a_chart_has_boxes_for_messages_versions_summaries_chats_and_branches():
    graph = MessageGraph([user("Tea or coffee?")])
    call = graph.record_call(tool_call("t", "{}"), model="small-1", call_id="c1")
    graph.link("t", call=call, child="scout")
    other = graph.branch("coffee")
    other[1] = assistant("Coffee.")

    assert mermaid(draw([graph, other])).splitlines()[4:] == [
        'b0s(["main"])',
        'b0m0["user#58; Tea or coffee#63;"]',
        "b0s --> b0m0",
        'b0m1["assistant#58; #45;#62; weather#40;#123;#125;#41;<br/>c1<br/>small#45;1"]:::answer',
        "b0m0 --> b0m1",
        'b0m1c0[["chat scout"]]',
        "b0m1 --> b0m1c0",
        'b1s(["coffee"])',
        "b0m0 --> b1s",
        'b1m1["assistant#58; Coffee#46;"]',
        "b1s --> b1m1",
        'b1m1b0["assistant#58; #45;#62; weather#40;#123;#125;#41;<br/>c1<br/>small#45;1"]:::former',
        "b1m1 -. before .- b1m1b0",
    ]


@pytest.mark.req("G7")
@given(st.text())
def test_any_text_is_escaped_and_reads_as_it_was(text):
    told = escaped(text)

    assert re.fullmatch(r"(?:[^\W_]| |#\d+;)*", told)
    assert read(told) == "".join(filter(str.isprintable, " ".join(text.split())))


HOSTILE = st.text() | st.sampled_from(
    [
        '"]\nclick b0s "javascript:alert(1)"',
        "`]); end\n%%{init: {}}%%",
        "<img src=x onerror=alert(1)>",
        "style x:#35;y;",
        "classDef a:#b;",
        "#quot;#35;#",
        "\u202e\u2028\x1b]0;taken over\x07",
    ]
)


@pytest.mark.req("G7")
@given(HOSTILE)
def test_no_text_anywhere_is_more_than_a_label(text):
    chart = mermaid(draw(rich_graph(text, name=f"b{text}")))

    odd = [line for line in chart.removesuffix("\n").split("\n") if not LINE.fullmatch(line)]
    assert odd == []
    boxes = set(re.findall(rf"^({NAME})[\[(]", chart, re.MULTILINE))
    arrows = re.findall(rf"^({NAME}) (?:-->|-\. \w+ \.-) ({NAME})$", chart, re.MULTILINE)
    assert {name for arrow in arrows for name in arrow} <= boxes


@pytest.mark.req("G7")
@pytest.mark.parametrize("letter", ["a", "\U0001f600"])
@pytest.mark.parametrize(("messages", "branches"), [(2_000, 1), (300, 12), (3, 700)])
def test_a_chart_is_never_larger_than_mermaid_draws(letter, messages, branches):
    text = letter * 200
    graphs = []
    graph = MessageGraph([user(text)] * messages)
    for number in range(messages // 4):
        graph.record_call(assistant(f"{text}{number}"), model=text, call_id=f"{text}{number}")
        graph[-1]["content"] = f"{letter}{number}"
    for number in range(branches - 1):
        other = graph.branch(f"{number}{text}")
        other.append(user(text))
        graphs.append(other)

    chart = mermaid(draw([graph, *graphs]))

    arrows = [line for line in chart.splitlines() if "-->" in line or ".-" in line]
    assert len(chart) <= MOST_LETTERS
    assert 0 < len(arrows) <= MOST_ARROWS
    assert "older messages" in chart
    assert ("more branches" in chart) == (branches > 90)


@pytest.mark.req("G7")
def test_a_branch_that_begins_among_folded_messages_begins_at_the_fold():
    graph = MessageGraph([user(f"{number}") for number in range(200)])
    other = graph.branch("other")
    other[10:] = [user("else")]

    chart = mermaid(draw([graph, other]))

    assert 'b0f["155 older messages"]:::folded' in chart
    assert "b0f --> b1s" in chart


@pytest.mark.req("G7")
def test_a_graph_without_messages_is_a_chart_with_its_branch():
    drawing: Drawing = draw([MessageGraph([])])

    assert mermaid(drawing).splitlines()[4:] == ['b0s(["main"])']

"""What a graph shows of itself at a prompt and in a notebook, and what it says to wrong habits."""

import re

import pytest

from hermes.errors import BadRequest, HermesError
from hermes.graph import MemoryStorage, MessageGraph
from tests.unit.graph.said import assistant, tool_call, user


def answered() -> MessageGraph:
    graph = MessageGraph([user("Name a colour.")], name="talk", now=lambda: 5.0)
    graph.record_call(assistant("Blue."), model="m", sampling={"temperature": 0.5}, call_id="c1")
    with graph.editing("ann", "she likes green"):
        graph[1]["content"] = "Green."
    return graph


@pytest.mark.req("G2")
def test_the_text_of_a_graph_shows_its_messages() -> None:
    assert repr(answered()) == (
        "<MessageGraph 'talk', branch 'main', version 2: 2 messages>\n"
        "    0  user       Name a colour.\n"
        "    1  assistant  Green."
    )


@pytest.mark.req("G2")
def test_the_text_of_a_long_graph_is_short() -> None:
    graph = MessageGraph([user(f"{n} " + "x" * 500) for n in range(1_000)])

    lines = repr(graph).splitlines()

    assert [line[:9] for line in lines[1:]] == [
        "    0  us", "    1  us", "    2  us", "    …  99", "  995  us", "  996  us", "  997  us",
        "  998  us", "  999  us",
    ]  # fmt: skip
    assert max(map(len, lines)) < 100


@pytest.mark.req("G2")
def test_characters_that_a_terminal_obeys_are_not_printed() -> None:
    graph = MessageGraph([user("\x1b[31mred \u202e turned")], name="a\x1b]0;b\x07")

    shown = repr(graph) + repr(graph.draw())

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[31mred" in shown


@pytest.mark.req("G2")
def test_a_graph_that_cannot_be_read_shows_this() -> None:
    class Empty(MemoryStorage):
        def get_blobs(self, ids: object) -> dict[bytes, bytes]:
            return {}

    storage = Empty()
    MessageGraph([user("hi")], name="talk", storage=storage).save()

    assert repr(MessageGraph.open("talk", storage)).splitlines()[1].split() == [
        "0",
        "?",
        "(missing)",
    ]


@pytest.mark.req("G2")
def test_the_table_of_a_notebook_escapes_what_people_write() -> None:
    graph = answered()
    graph.user("<script>alert(1)</script>")

    for table in (graph._repr_html_(), graph.draw()._repr_html_()):
        assert "<script" not in table
        assert "&lt;script&gt;alert(1)" in table
        assert "Green." in table
        assert re.search(r"was:</b>.*?Blue\.", table)
        assert "c1 m temperature=0.5" in table
        assert "set at version 2 by ann: she likes green" in table


@pytest.mark.req("G2")
def test_a_table_of_a_long_past_shows_its_end() -> None:
    graph = MessageGraph()
    for number in range(2_100):
        graph.append(user(f"word {number}"))

    table = graph._repr_html_()

    assert "word 2099" in table
    assert "2050 earlier, not shown" in table
    assert len(table) < 40_000


@pytest.mark.req("G2", "G7")
def test_a_drawing_has_all_branches() -> None:
    graph = answered()
    graph.branch("other").user("Why?")

    assert str(graph.draw()).splitlines() == [
        "main: 2 messages, version 2",
        "    0  user       Name a colour.",
        "    1  assistant  Green.",
        "       ┆ was: assistant  Blue.  [c1 m temperature=0.5]  (set at version 2 by ann: she likes green)",
        "       ├─ branch other begins here",
        "",
        "other: 3 messages, version 1, begins after message 1 of main",
        "    2  user       Why?",
    ]
    assert graph.draw().mermaid().startswith("flowchart TD")
    assert "earlier, not shown" in str(graph.draw(last=1))


@pytest.mark.req("G2")
def test_versions_and_calls_print_no_bytes_and_no_addresses() -> None:
    graph = answered()

    shown = [*map(repr, graph.versions()), *map(repr, graph.calls()), *map(repr, graph.edges())]

    assert shown[:3] == [
        "<Version 0: start at 0, -0 +1, length 1>",
        "<Version 1: answer at 1, -0 +1, length 2>",
        "<Version 2: set at 1, -1 +1 by 'ann', 'she likes green', length 2>",
    ]
    assert re.fullmatch(
        r"Call\(id='c1', graph='talk', branch='main', version=0, context=<[0-9a-f]{12}>, length=1, "
        r"shared=1, model='m', response=<[0-9a-f]{12}>, sampling=\{'temperature': 0.5\}, at=5.0\)",
        shown[3],
    )
    assert not any("0x" in one or "\\x" in one for one in shown)


@pytest.mark.req("G2")
@pytest.mark.parametrize("index", ["role", None, 1.0])
def test_an_index_that_is_no_number_says_what_to_write(index: object) -> None:
    graph = MessageGraph([user("hi")])

    for reading in (graph, graph.at(0)):
        with pytest.raises(
            TypeError, match=r"messages have numbers, as in h\[0\].* h\[0\]\['role'\]"
        ):
            reading[index]  # type: ignore[call-overload]


@pytest.mark.req("G2")
def test_helpers_add_messages() -> None:
    graph = MessageGraph()

    said = graph.system("Be brief."), graph.user("Hi"), graph.assistant("Hello.")
    graph.append(tool_call("c1"))
    graph.tool("c1", "12")

    assert [one["role"] for one in graph] == ["system", "user", "assistant", "assistant", "tool"]
    said[1]["content"] = "Hey"
    assert graph[1] == user("Hey")
    with pytest.raises(BadRequest, match="no message before this one makes the call 'c9'"):
        graph.tool("c9", "12")


@pytest.mark.req("G1", "G2")
def test_what_was_cannot_be_written_to() -> None:
    graph = MessageGraph([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    graph.user("more")
    writes = [
        lambda past: past[0].update(content="x"),
        lambda past: past[0].pop("role"),
        lambda past: past[0]["content"].append("x"),
        lambda past: past[0]["content"][0].__setitem__("text", "x"),
        lambda past: next(iter(past)).clear(),
        lambda past: past[0:1][0].setdefault("name", "x"),
    ]

    for past in (graph.at(0), graph.context(), graph.at(graph.versions()[1])):
        before = past.to_list()
        for write in writes:
            with pytest.raises(BadRequest, match=r"does not change\. Write into the graph"):
                write(past)
        assert past == before
    assert graph.version == 1
    graph.at(0).to_list()[0]["content"] = "mine"


@pytest.mark.req("G7")
def test_saving_without_a_place_says_so() -> None:
    graph = MessageGraph([user("hi")])

    with pytest.raises(BadRequest, match=r"only in memory.*save\('talk.db'\)"):
        graph.save()


@pytest.mark.req("G7")
def test_a_branch_that_nobody_holds_is_still_there() -> None:
    graph = MessageGraph([user("hi")])
    graph.branch("other").user("Why?")

    assert graph.branches() == ["main", "other"]
    assert graph.checkout("other").to_list() == [user("hi"), user("Why?")]
    other = graph.checkout("other")
    del graph
    assert other.checkout("main").to_list() == [user("hi")]
    with pytest.raises(HermesError, match="no branch 'third'; its branches are: main, other"):
        other.checkout("third")

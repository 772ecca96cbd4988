"""Conversations drawn as text: who wrote what, what stood there before, where branches begin."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hermes.errors import PersonErased
from hermes.graph import PLAIN, MemoryStorage, MessageGraph
from hermes.graph.blob import freeze
from hermes.graph.growth import CallView, grow, no_tip
from hermes.graph.mermaid import mermaid
from hermes.graph.message_text import first_line, lines_of
from hermes.graph.reader import ObjectReader
from hermes.graph.sketch import Child, SketchAuthor, SketchSummary, draw
from hermes.graph.text_drawing import rows
from tests.unit.graph.said import (
    assistant,
    pictured,
    system,
    thinking,
    tool_call,
    tool_result,
    user,
)


def answered(graph: MessageGraph, text: str, call_id: str) -> None:
    graph.record_call(assistant(text), model="small-1", call_id=call_id)


def drawn(*branches: MessageGraph) -> list[str]:
    return [row.text.rstrip() for row in rows(draw(branches))]


@pytest.mark.req("G7")
def test_messages_stand_with_their_role_and_the_call_that_wrote_them():
    graph = MessageGraph([system("Be brief."), user("Name a colour.\nAny.")])
    answered(graph, "Blue.", "c1")

    assert drawn(graph) == [
        "main: 3 messages, version 1",
        "    0  system     Be brief.",
        "    1  user       Name a colour. …",
        "    2  assistant  Blue.  [c1 small-1]",
    ]


@pytest.mark.req("G4")
def test_a_call_stands_with_its_sampling_and_why_it_stopped():
    graph = MessageGraph([user("Name a colour.")])
    graph.record_call(
        assistant("Bl"),
        model="small-1",
        call_id="c1",
        sampling={"temperature": 0.2, "seed": 7},
        metadata={"stop_reason": "length"},
    )
    graph.record_call(
        assistant("Red."), model="small-1", call_id="c2", metadata={"stop_reason": "end"}
    )

    assert drawn(graph)[2:] == [
        "    1  assistant  Bl  [c1 small-1 temperature=0.2 seed=7 stopped: length]",
        "    2  assistant  Red.  [c2 small-1]",
    ]


@pytest.mark.req("G1")
def test_a_rewritten_answer_shows_what_was_sampled_who_changed_it_and_why():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    with graph.editing("ann", "she likes green"):
        graph[1]["content"] = "Green."

    told = drawn(graph)

    assert told[2:] == [
        "    1  assistant  Green.",
        "       ┆ was: assistant  Blue.  [c1 small-1]  (set at version 2 by ann: she likes green)",
    ]


@pytest.mark.req("G1")
def test_what_no_call_knew_leaves_no_trace_in_the_drawing():
    graph = MessageGraph([user("Helo.")])
    graph[0]["content"] = "Hello."
    graph.append(user("gone soon"))
    graph.pop()

    assert drawn(graph) == ["main: 1 message, version 3", "    0  user       Hello."]


@pytest.mark.req("G1")
def test_an_answer_taken_away_stands_before_what_took_its_place():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    graph.pop()
    at_the_end = drawn(graph)
    answered(graph, "Red.", "c2")

    removed = "       ┆ removed: assistant  Blue.  [c1 small-1]  (delete at version 2)"
    assert at_the_end[2:] == [removed]
    assert drawn(graph)[2:] == [removed, "    1  assistant  Red.  [c2 small-1]"]


@pytest.mark.req("G1")
def test_undo_brings_back_a_message_with_its_writer_and_without_itself_as_its_past():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    graph[1]["content"] = "Green."
    graph.undo()
    assert drawn(graph)[2:] == ["    1  assistant  Blue.  [c1 small-1]"]

    del graph[1]
    graph.undo()

    assert drawn(graph)[2:] == ["    1  assistant  Blue.  [c1 small-1]"]


@pytest.mark.req("G1")
def test_equal_answers_keep_their_own_calls_when_messages_move():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    graph.append(user("Again."))
    answered(graph, "Blue.", "c2")
    graph.insert(0, system("Be brief."))

    written = [line.by for line in draw([graph]).branches[0].lines]

    assert written == [
        None,
        None,
        SketchAuthor("c1", "small-1"),
        None,
        SketchAuthor("c2", "small-1"),
    ]


@pytest.mark.req("G1")
def test_an_answer_given_twice_in_one_place_has_two_calls():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    graph.pop()
    answered(graph, "Blue.", "c2")

    assert drawn(graph)[2:] == [
        "       ┆ removed: assistant  Blue.  [c1 small-1]  (delete at version 2)",
        "    1  assistant  Blue.  [c2 small-1]",
    ]


@pytest.mark.req("G7")
def test_equal_answers_of_one_turn_which_is_one_version_keep_their_own_calls():
    storage = MemoryStorage()
    reader = ObjectReader(storage, PLAIN)
    said = [user("Look."), assistant("Blue."), user("Again."), assistant("Blue.")]
    blobs = [freeze(message, PLAIN) for message in said]
    calls = [
        CallView(id=name, lead=(), start=0, stop=at, response=blobs[at], model="small-1")
        for name, at in (("c1", 1), ("c2", 3))
    ]
    turn = grow(no_tip("talk", "main", reader), blobs, views=calls, actor="", reason="", at=0.0)
    storage.write(turn.batch)

    lines = draw([MessageGraph.open("talk", storage)]).branches[0].lines

    assert [line.by and line.by.call for line in lines] == [None, "c1", None, "c2"]


@pytest.mark.req("G5")
def test_a_summary_says_how_much_it_stands_for_and_expanding_brings_the_calls_back():
    graph = MessageGraph([user("Name a colour.")])
    answered(graph, "Blue.", "c1")
    graph.append(user("And now?"))
    call = graph.record_call(
        system("They spoke of blue."), model="small-1", call_id="c2", append=False
    )
    graph.squish(0, 2, system("They spoke of blue."), call=call)
    squished = draw([graph]).branches[0].lines
    text = drawn(graph)
    graph.expand(0)

    assert [line.summary for line in squished] == [SketchSummary(2, "c2"), None]
    assert text[2] == "       ≡ replaces 2 messages, written by c2"
    assert drawn(graph)[1:] == [
        "    0  user       Name a colour.",
        "    1  assistant  Blue.  [c1 small-1]",
        "    2  user       And now?",
    ]


@pytest.mark.req("G4")
def test_a_subagents_chat_hangs_on_the_message_that_asked_for_it():
    graph = MessageGraph([user("Weather?")])
    call = graph.record_call(tool_call("t1"), model="small-1", call_id="c1")
    graph.link("t1", call=call, child="agent:scout#0")
    graph.append(tool_result("t1"))

    lines = draw([graph]).branches[0].lines

    assert [line.children for line in lines] == [(), (Child("t1", "agent:scout#0"),), ()]
    assert "       └─ tool call t1: chat agent:scout#0" in drawn(graph)


@pytest.mark.req("G1")
def test_branches_are_marked_where_they_begin_and_drawn_from_there():
    graph = MessageGraph([user("Tea or coffee?")])
    answered(graph, "Tea.", "c1")
    other = graph.branch("coffee")
    other[1]["content"] = "Coffee."
    empty = graph.branch("later")
    graph.append(user("Thanks."))

    assert drawn(other, empty, graph) == [
        "main: 3 messages, version 2",
        "    0  user       Tea or coffee?",
        "       ├─ branch coffee begins here",
        "    1  assistant  Tea.  [c1 small-1]",
        "       ├─ branch later begins here",
        "    2  user       Thanks.",
        "",
        "coffee: 2 messages, version 1, begins after message 0 of main",
        "    1  assistant  Coffee.",
        "       ┆ was: assistant  Tea.  [c1 small-1]  (set at version 1)",
        "",
        "later: 2 messages, version 0, begins after message 1 of main and adds nothing yet",
    ]


@pytest.mark.req("G1")
def test_a_branch_of_nothing_begins_where_its_origin_begins():
    graph = MessageGraph([])
    other = graph.branch("other")
    other.append(user("Hello."))

    assert drawn(graph, other) == [
        "main: 0 messages, version 0",
        "       ├─ branch other begins here",
        "",
        "other: 1 message, version 1, begins where main begins",
        "    0  user       Hello.",
    ]


@pytest.mark.req("G7")
def test_a_saved_graph_is_drawn_like_the_one_in_memory():
    storage = MemoryStorage()
    graph = MessageGraph([user("Name a colour.")], name="talk", storage=storage)
    answered(graph, "Blue.", "c1")
    graph[1]["content"] = "Green."
    graph.save()
    other = graph.branch("other")
    other.append(user("Thanks."))
    other.save()
    graph.pop()
    graph.save()

    opened = [MessageGraph.open("talk", storage, branch=name) for name in ("main", "other")]

    assert drawn(*opened) == drawn(graph, other)
    assert draw(opened) == draw([graph, other])


class Partly(MemoryStorage):
    """A storage that cannot give some messages."""

    erased: bytes = b""
    lost: bytes = b""
    spoiled: bytes = b""

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found = dict(super().get_blobs(ids))
        if any(self.erased and self.erased in data for data in found.values()):
            raise PersonErased("The data key of this person was destroyed.")
        return {
            name: b"no json" if self.spoiled and self.spoiled in data else data
            for name, data in found.items()
            if not self.lost or self.lost not in data
        }


@pytest.mark.req("J24")
def test_what_cannot_be_read_is_named_in_its_place():
    storage = Partly()
    said = [user("kept"), user("erased"), user("lost"), user("spoiled")]
    MessageGraph(said, name="talk", storage=storage).save()
    storage.erased, storage.lost, storage.spoiled = b"erased", b"lost", b"spoiled"

    assert drawn(MessageGraph.open("talk", storage))[1:] == [
        "    0  user       kept",
        "    1  ?          (erased)",
        "    2  ?          (missing)",
        "    3  ?          (damaged)",
    ]


@pytest.mark.req("G7")
def test_every_dialect_says_something_in_one_line():
    parts = {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "text": "Let me see."},
            {"type": "tool_call", "id": "t", "name": "look", "arguments": '{"a":\n 1}'},
        ],
    }
    result = {"role": "tool", "parts": [{"type": "tool_result", "call_id": "t", "text": "12"}]}

    assert lines_of(parts) == ["(thought) Let me see.", '-> look({"a": 1})']
    assert lines_of(result) == ["<- 12"]
    assert lines_of(pictured("Look")) == ["Look", "[image_url]"]
    assert lines_of(thinking("Yes")) == ["(thought) Let me see.", "Yes"]
    assert lines_of(tool_call("t", "{}")) == ["-> weather({})"]
    assert lines_of({"role": "user", "content": None, "name": "ann"}) == ['name: "ann"']
    assert first_line(user("  much   too long "), width=6) == "much…"
    assert first_line(user(""), width=6) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "content", "function", "name", "arguments", "thinking"]
            )
            | st.text(),
            inner | st.sampled_from(["text", "tool_call", "tool_result", "thinking", "image"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.req("G7")
@given(st.dictionaries(st.sampled_from(["content", "parts", "tool_calls", "x"]), json_values))
def test_no_message_is_too_odd_for_one_line(message):
    line = first_line({"role": "user", **message}, width=20)

    assert len(line) <= 20
    assert len(line.splitlines()) <= 1


@pytest.mark.req("G7")
@given(st.text(min_size=1), st.text(), st.text())
def test_no_name_and_no_reason_can_begin_a_line_of_its_own(role, actor, reason):
    graph = MessageGraph([{"role": role, "content": "a"}])
    answered(graph, "Blue.", "c1")
    with graph.editing(actor, reason):
        graph[0]["content"] = "b"

    told = [row.text for row in rows(draw([graph]))]

    assert len(told) == 4
    assert all(len(text.splitlines()) <= 1 for text in told)


class Drawings(RuleBasedStateMachine):
    """Whatever is done to a graph, its drawing has every message in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs = [MessageGraph([user("start")])]
        self.count = 0
        self.wrote: dict[str, str] = {}

    def some(self, number: int) -> MessageGraph:
        return self.graphs[number % len(self.graphs)]

    def text(self) -> str:
        self.count += 1
        return f"text {self.count}"

    @rule(number=st.integers(0, 3))
    def say(self, number):
        self.some(number).append(user(self.text()))

    @rule(number=st.integers(0, 3))
    def answer(self, number):
        text = self.text()
        self.wrote[f"call of {text}"] = text
        answered(self.some(number), text, f"call of {text}")

    @rule(number=st.integers(0, 3), at=st.integers(0, 20))
    def change(self, number, at):
        graph = self.some(number)
        if graph:
            graph[at % len(graph)] = user(self.text())

    @rule(number=st.integers(0, 3), at=st.integers(0, 20), size=st.integers(0, 3))
    def splice(self, number, at, size):
        graph = self.some(number)
        start = at % (len(graph) + 1)
        graph[start : start + 2] = [user(self.text()) for _ in range(size)]

    @rule(number=st.integers(0, 3), at=st.integers(0, 20))
    def squish(self, number, at):
        graph = self.some(number)
        if len(graph) > 1:
            start = at % (len(graph) - 1)
            graph.squish(start, start + 2, system(self.text()))

    @rule(number=st.integers(0, 3))
    def expand(self, number):
        graph = self.some(number)
        for index in list(graph.summaries())[:1]:
            graph.expand(index)

    @rule(number=st.integers(0, 3))
    def undo(self, number):
        graph = self.some(number)
        if graph.version and graph.versions()[graph.versions()[-1].content].number:
            graph.undo()

    @rule(number=st.integers(0, 3))
    def branch(self, number):
        if len(self.graphs) < 4:
            self.graphs.append(self.some(number).branch(f"b{len(self.graphs)}"))

    @invariant()
    def every_message_has_its_line_and_its_call(self):
        sketches = {sketch.branch: sketch for sketch in draw(self.graphs).branches}
        assert len(sketches) == len(self.graphs)
        for graph in self.graphs:
            sketch = sketches[graph.branch_name]
            own = list(range(sketch.begins, len(graph)))
            assert [line.index for line in sketch.lines] == own
            assert [line.text for line in sketch.lines] == [graph[at]["content"] for at in own]
            assert [line.by is not None for line in sketch.lines] == [
                graph.is_sampled(at) for at in own
            ]
            assert all(self.wrote[line.by.call] == line.text for line in sketch.lines if line.by)
            told = [one for line in sketch.lines for one in (*line.was, *line.gone)]
            assert all(one.text for one in told)


@pytest.mark.req("G1", "G7")
def test_whatever_is_done_to_a_graph_its_drawing_has_every_message_in_its_place():
    run_state_machine_as_test(
        Drawings, settings=settings(max_examples=40, stateful_step_count=25, deadline=None)
    )


@pytest.mark.req("G7")
def test_of_a_long_conversation_only_the_end_may_be_drawn():
    graph = MessageGraph([user(f"{number}") for number in range(50)])
    other = graph.branch("other")
    other.append(user("more"))

    told = [row.text for row in rows(draw([graph, other], last=2))]

    assert told == [
        "main: 50 messages, version 0",
        "       … 48 earlier, not shown",
        "   48  user       48",
        "   49  user       49",
        "       ├─ branch other begins here",
        "",
        "other: 51 messages, version 1, begins after message 49 of main",
        "   50  user       more",
    ]
    assert '"48 older messages"' in mermaid(draw([graph, other], last=2))

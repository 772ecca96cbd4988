"""Squishing: a summary stands for a range, is cut cleanly, and gives it back."""

from typing import Any

import pytest

from hermes.errors import BadRequest
from hermes.graph import MemoryStorage, MessageGraph, message_id
from tests.unit.graph.said import assistant, system, tool_call, tool_result, user

SUMMARY = system("So far: the weather in Bonn was asked for and told.")
TALK = [
    system("be kind"),
    user("weather?"),
    tool_call("c1"),
    tool_result("c1"),
    assistant("12 degrees"),
    user("thanks"),
]


def two_calls(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"tool_calls": message["tool_calls"] + tool_call("c2")["tool_calls"]}


@pytest.mark.req("G5")
def test_a_summary_names_what_it_stands_for_and_who_wrote_it() -> None:
    graph = MessageGraph(TALK)
    asked = graph.context([user("Sum this up.")])
    call = graph.record_call(SUMMARY, model="m", context=asked, append=False)
    source = graph.root

    version = graph.squish(1, 5, SUMMARY, call=call)

    assert graph == [TALK[0], SUMMARY, TALK[5]]
    told = graph.summaries()[1]
    assert (told.blob, told.source) == (message_id(SUMMARY), source)
    assert (told.start, told.stop, told.call) == (1, 5, call.id)
    assert (version.kind, version.parallel, len(graph.edges())) == ("squish", True, 4)
    assert {edge.after for edge in graph.edges()} == {message_id(SUMMARY)}
    assert graph.originals(1) == TALK[1:5]
    assert graph.at(0) == TALK


@pytest.mark.req("G5")
def test_a_summary_gives_back_what_it_stands_for() -> None:
    graph = MessageGraph(TALK[:4])
    graph.record_call(assistant("12 degrees"), model="m")
    graph.squish(1, -1, SUMMARY)
    graph.insert(0, user("earlier"))
    graph.append(user("later"))

    graph.expand(2)

    assert graph == [user("earlier"), *TALK[:5], user("later")]
    assert graph.summaries() == {}
    assert [graph.is_sampled(n) for n in range(7)] == [False] * 5 + [True, False]
    graph[2]["content"] = "a call saw this"
    assert graph.versions()[-1].parallel
    assert graph.verify().ok


@pytest.mark.req("G5")
def test_a_summary_is_undone_like_any_edit() -> None:
    graph = MessageGraph(TALK)
    graph.squish(1, 5, SUMMARY)

    graph.undo()

    assert graph == TALK


@pytest.mark.req("G5")
def test_summaries_of_summaries_give_back_step_by_step() -> None:
    graph = MessageGraph(TALK)
    graph.squish(1, 5, SUMMARY)
    graph.squish(0, 2, system("all of it"))

    graph.expand(0)
    assert graph == [TALK[0], SUMMARY, TALK[5]]
    graph.expand(1)

    assert graph == TALK


@pytest.mark.req("G5")
@pytest.mark.parametrize(("start", "stop", "hint"), [(1, 3, "2 or 4"), (3, 5, "2 or 4"), (3, 4, "2 or 4")])  # fmt: skip
def test_a_tool_call_is_not_parted_from_its_result(start: int, stop: int, hint: str) -> None:
    graph = MessageGraph(TALK)

    with pytest.raises(BadRequest, match=f"would separate a tool call from its result. Cut before {hint}"):  # fmt: skip
        graph.squish(start, stop, SUMMARY)

    assert (graph.to_list(), graph.version) == (TALK, 0)


@pytest.mark.req("G5")
@pytest.mark.parametrize(
    ("messages", "cuts"),
    [
        ([], [0]),
        (TALK, [0, 1, 2, 4, 5, 6]),
        ([tool_call("c1")], [0]),
        ([tool_call("c1"), user("never mind")], [0, 1, 2]),
        ([two_calls(tool_call("c1")), tool_result("c2"), tool_result("c1")], [0, 3]),
        ([two_calls(tool_call("c1")), tool_result("c2")], [0]),
        ([tool_call("c1"), user("by the way"), tool_result("c1"), user("x")], [0, 3, 4]),
        (
            [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "u1"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1"}]},
            ],
            [0, 2],
        ),
    ],
)
def test_cuts_fall_between_complete_groups(messages: list[dict[str, Any]], cuts: list[int]) -> None:
    assert MessageGraph(messages).cuts() == cuts


@pytest.mark.req("G5")
@pytest.mark.parametrize(("start", "stop"), [(2, 2), (4, 1), (9, 12)])
def test_an_empty_range_has_no_summary(start: int, stop: int) -> None:
    graph = MessageGraph(TALK)

    with pytest.raises(BadRequest, match="at least one of the 6 messages"):
        graph.squish(start, stop, SUMMARY)


@pytest.mark.req("G5")
def test_a_message_is_no_summary_of_itself_and_no_summary_cannot_be_expanded() -> None:
    graph = MessageGraph(TALK)

    with pytest.raises(BadRequest, match="reads exactly like one of them"):
        graph.squish(0, 2, TALK[0])
    with pytest.raises(BadRequest, match="Message 0 is not a summary"):
        graph.expand(0)

    assert graph.version == 0


@pytest.mark.req("G5", "G7")
def test_a_saved_summary_gives_back_after_opening() -> None:
    storage = MemoryStorage()
    graph = MessageGraph(TALK, storage=storage)
    graph.squish(1, 5, SUMMARY)
    graph.save()

    opened = MessageGraph.open("graph", storage)
    opened.expand(1)

    assert opened == TALK
    assert opened.verify().ok

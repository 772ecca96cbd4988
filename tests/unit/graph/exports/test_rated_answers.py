"""What thumbs do to training data: rows with a label, pairs, and answers that are left out."""

import pytest

from hermes.graph import MessageGraph
from hermes.graph.exports import FormatName, verify_row
from tests.unit.graph.exports.taken import take, weights
from tests.unit.graph.said import assistant, tool_call, tool_result, user, with_objects

TOOLS = [{"name": "weather"}]


def talk() -> MessageGraph:
    """Two answers to one question, then another that was made with a tool."""
    graph = MessageGraph([user("Name a colour.")], name="talk")
    seen = graph.context()
    graph.record_call(assistant("Blue."), model="m", context=seen, call_id="blue")
    graph.record_call(assistant("Mud."), model="m", context=seen, call_id="mud", append=False)
    graph.user("Weather?")
    graph.record_call(tool_call("c1"), model="m", tools=TOOLS, call_id="asks")
    graph.append(tool_result("c1"))
    graph.record_call(assistant("Cool."), model="m", tools=TOOLS, call_id="cool")
    return graph


def rate(graph: MessageGraph, **ratings: str) -> None:
    calls = {call.id: call for call in graph.calls()}
    for name, rating in ratings.items():
        graph.rate(calls[name], rating)  # type: ignore[arg-type]


@pytest.mark.req("G6")
def test_each_rated_answer_has_its_label() -> None:
    graph = talk()
    rate(graph, blue="up", mud="down", asks="up")

    rows, report = take(graph, "trl-kto")

    assert [verify_row(row) for row in rows] == [None, None, None]
    assert [(row["prompt"], row["completion"], row["label"], row.get("tools")) for row in rows] == [
        ([user("Name a colour.")], [assistant("Blue.")], True, None),
        ([user("Name a colour.")], [assistant("Mud.")], False, None),
        (
            [user("Name a colour."), assistant("Blue."), user("Weather?")],
            [with_objects(tool_call("c1"))],
            True,
            TOOLS,
        ),
    ]
    assert (report.rows, report.trained, report.refused) == (3, 3, {})
    assert take(talk(), "trl-kto")[0] == []


@pytest.mark.req("G6")
def test_a_changed_label_is_found() -> None:
    graph = talk()
    rate(graph, blue="up")
    (row,), _ = take(graph, "trl-kto")

    problem = verify_row(row | {"label": False})

    assert problem is not None
    assert problem.where == "certificate"


@pytest.mark.req("G6")
def test_a_liked_and_a_rejected_answer_to_one_context_are_a_pair() -> None:
    graph = talk()
    rate(graph, blue="up", mud="down", cool="down")

    (row,), report = take(graph, "trl-preference")

    assert verify_row(row) is None
    assert (row["prompt"], row["chosen"], row["rejected"]) == (
        [user("Name a colour.")], [assistant("Blue.")], [assistant("Mud.")]
    )  # fmt: skip
    assert (report.rows, report.trained, report.refused) == (1, 1, {})


@pytest.mark.req("G6")
def test_a_thumb_against_an_edit_makes_no_pair() -> None:
    graph = MessageGraph([user("hi")], name="talk")
    graph.record_call(assistant("Hello."), model="m", call_id="c1")
    graph[1]["content"] = "Go away."
    assert len(take(graph, "trl-preference")[0]) == 1

    rate(graph, c1="up")

    rows, report = take(graph, "trl-preference")
    assert (rows, report.refused) == ([], {"rated_down": 1})


@pytest.mark.req("G6")
def test_a_rejected_answer_is_shown_and_not_trained() -> None:
    graph = MessageGraph([user("a")], name="talk")
    for text in ("one", "two", "three"):
        graph.record_call(assistant(text), model="m", call_id=text)
        graph.user("more")
    rate(graph, two="down")

    (row,), report = take(graph, "openai")

    assert weights(row) == [("one", 1), ("two", 0), ("three", 1)]
    assert row["certificate"]["trained"] == [1, 5]
    assert verify_row(row) is None
    assert (report.rows, report.trained, report.refused) == (1, 2, {"rated_down": 1})


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ["trl-prompt-completion", "openai", "trl-messages"])
def test_an_answer_that_is_all_there_is_gives_no_row(format_name: FormatName) -> None:
    graph = MessageGraph([user("a")], name="talk")
    graph.record_call(assistant("one"), model="m", call_id="one")
    rate(graph, one="down")

    rows, report = take(graph, format_name)

    assert (rows, report.rows, report.trained, report.refused) == ([], 0, 0, {"rated_down": 1})
    rate(graph, one="none")
    assert len(take(graph, format_name)[0]) == 1


@pytest.mark.req("G6")
def test_equal_answers_to_equal_contexts_share_a_thumb_down() -> None:
    graph = MessageGraph([user("a")], name="talk")
    seen = graph.context()
    for name in ("one", "two"):
        graph.record_call(assistant("x"), model="m", context=seen, call_id=name, append=False)
    rate(graph, one="down", two="up")

    assert take(graph)[0] == []
    ((row,), _) = take(graph, "trl-kto")
    assert row["label"] is False

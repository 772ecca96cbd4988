"""Preference pairs: the edit is chosen, the sampled original rejected, the prompt is the same."""

from collections.abc import Callable

import pytest

from hermes.graph import MessageGraph, canonical
from hermes.graph.exports import verify_row
from tests.unit.graph.exports.taken import Spoiled, take
from tests.unit.graph.said import assistant, system, tool_call, user, with_objects

TOOLS = [{"name": "weather"}]


def answered(said: str = "sampled") -> MessageGraph:
    graph = MessageGraph([system("be kind"), user("hi")], name="talk")
    graph.record_call(assistant(said), model="m", tools=TOOLS)
    return graph


@pytest.mark.req("G1", "G6")
def test_an_edited_answer_is_chosen_over_the_sampled_one() -> None:
    graph = answered()
    graph[2]["content"] = "edited"

    (row,), report = take(graph, "trl-preference")

    certificate = row.pop("certificate")
    assert row == {
        "prompt": [system("be kind"), user("hi")],
        "chosen": [assistant("edited")],
        "rejected": [assistant("sampled")],
        "tools": TOOLS,
    }
    assert certificate["trained"] == [2]
    assert verify_row(row | {"certificate": certificate}) is None
    assert (report.rows, report.trained, report.refused) == (1, 1, {})


@pytest.mark.req("G6")
def test_what_counts_is_how_the_edit_was_left() -> None:
    graph = answered()
    graph[2]["content"] = "edi"
    graph[2]["content"] = "edited"
    graph.append(user("thanks"))
    graph[2]["content"] = "edited twice"

    (row,), _ = take(graph, "trl-preference")

    assert row["chosen"] == [assistant("edited twice")]


@pytest.mark.req("G6")
def test_an_edit_that_was_taken_back_is_none() -> None:
    graph = answered()
    graph[2]["content"] = "edited"
    graph.undo()

    assert take(graph, "trl-preference")[0] == []

    graph[2]["content"] = "edited again"
    (row,), _ = take(graph, "trl-preference")
    assert row["chosen"] == [assistant("edited again")]


@pytest.mark.req("G6")
def test_an_edit_that_was_deleted_later_is_none() -> None:
    graph = answered()
    graph[2]["content"] = "edited"
    del graph[2]

    assert take(graph, "trl-preference")[0] == []


@pytest.mark.req("G6")
def test_an_edit_counts_for_the_prompt_that_it_answered() -> None:
    graph = answered()
    graph[2]["content"] = "edited"
    graph[1]["content"] = "ho"
    graph[2]["content"] = "an answer to ho"

    (row,), _ = take(graph, "trl-preference")

    assert (row["prompt"][1], row["chosen"]) == (user("hi"), [assistant("edited")])


@pytest.mark.req("G6")
def test_an_edit_after_the_prompt_changed_is_refused() -> None:
    graph = answered()
    graph[1]["content"] = "ho"
    graph[2]["content"] = "an answer to ho"

    rows, report = take(graph, "trl-preference")

    assert (rows, report.refused) == ([], {"prompt_changed": 1})


@pytest.mark.req("G6")
def test_the_prompt_is_what_the_call_saw_with_what_was_not_kept() -> None:
    graph = MessageGraph([user("hi")])
    context = graph.context([system("likes tea")])
    graph.record_call(assistant("tea?"), model="m", context=context)
    graph[1]["content"] = "coffee?"

    (row,), _ = take(graph, "trl-preference")

    assert row["prompt"] == [user("hi"), system("likes tea")]


@pytest.mark.req("G6")
@pytest.mark.parametrize("kind", ["seen", "unsampled", "summary", "deleted", "sampled again"])
def test_what_is_no_rewriting_of_a_sampled_answer_is_no_pair(kind: str) -> None:
    graph = answered()
    acts: dict[str, Callable[[], object]] = {
        "seen": lambda: graph[1].update(content="ho"),
        "unsampled": lambda: (
            graph.record_call(assistant("cached"), model="m", sampled=False),
            graph[3].update(content="edited"),
        ),
        "summary": lambda: graph.squish(2, 3, system("they said hello")),
        "deleted": graph.pop,
        "sampled again": lambda: (
            graph.record_call(assistant("b"), model="m", context=graph.at(0), append=False),
            graph[2].update(content="b"),
        ),
    }
    acts[kind]()

    assert take(graph, "trl-preference")[0] == []


@pytest.mark.req("G1", "G6")
def test_an_edit_on_a_branch_is_a_pair_once() -> None:
    main = answered()
    other = main.branch("other")
    for graph in (main, other):
        graph[2]["content"] = "edited"

    (row,), report = take([main, other], "trl-preference")

    assert (row["chosen"], report.rows) == ([assistant("edited")], 1)


@pytest.mark.req("G6")
def test_changed_arguments_of_a_tool_call_are_an_edit_too() -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1", '{"city":"Bon"}'), model="m")
    graph[1]["tool_calls"][0]["function"]["arguments"] = '{"city":"Bonn"}'

    (row,), _ = take(graph, "trl-preference")

    assert row["chosen"] == [with_objects(tool_call("c1", '{"city":"Bonn"}'))]
    assert row["rejected"] == [with_objects(tool_call("c1", '{"city":"Bon"}'))]


@pytest.mark.req("G6")
def test_the_same_words_at_two_places_are_two_answers() -> None:
    graph = MessageGraph([user("tea?")])
    graph.extend([assistant("hm"), user("well?")])
    graph.record_call(assistant("yes"), model="m")
    graph.undo()
    graph.undo()
    graph.record_call(assistant("yes"), model="m")
    graph[1]["content"] = "no"

    (row,), _ = take(graph, "trl-preference")

    assert row["prompt"] == [user("tea?")]


@pytest.mark.req("G6")
def test_an_edit_that_is_not_kept_as_it_was_made_is_refused() -> None:
    storage = Spoiled(canonical(assistant("edited")), canonical(assistant("forged")))
    graph = MessageGraph([user("hi")], name="talk", storage=storage)
    graph.record_call(assistant("sampled"), model="m")
    graph[1]["content"] = "edited"
    graph.save()

    rows, report = take(MessageGraph.open("talk", storage), "trl-preference")

    assert (rows, report.refused) == ([], {"differs": 1})


@pytest.mark.req("G6")
def test_an_answer_rewritten_into_another_role_is_refused() -> None:
    graph = answered()
    graph[2] = user("not an answer")

    rows, report = take(graph, "trl-preference")

    assert (rows, report.refused) == ([], {"unfit": 1})

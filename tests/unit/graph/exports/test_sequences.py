"""Which calls become which rows, and which of their messages are trained."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import BadRequest
from hermes.graph import MemoryStorage, MessageGraph, context_root, message_id
from hermes.graph.exports import Report, export_rows, hashed_name, verify_row
from tests.unit.graph.exports.taken import SALT, take, weights
from tests.unit.graph.said import assistant, system, user

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]


def answer(graph: MessageGraph, question: str, said: str, **more: Any) -> None:
    graph.append(user(question))
    graph.record_call(assistant(said), model=more.pop("model", "m"), **more)


@pytest.mark.req("G6")
def test_calls_that_share_a_prefix_become_one_sequence_with_loss_on_each_answer() -> None:
    graph = MessageGraph([system("be kind")])
    answer(graph, "one", "1")
    answer(graph, "two", "2")

    (row,), report = take(graph)

    assert row["messages"] == [
        system("be kind"),
        user("one"),
        {"role": "assistant", "content": "1", "weight": 1},
        user("two"),
        {"role": "assistant", "content": "2", "weight": 1},
    ]
    assert (report.graphs, report.rows, report.trained, report.refused) == (1, 1, 2, {})


@pytest.mark.req("G6", "G7")
def test_a_branch_gives_a_row_of_its_own_and_what_it_shares_is_trained_once() -> None:
    main = MessageGraph([user("start")], name="talk")
    main.record_call(assistant("shared"), model="m")
    other = main.branch("other")
    answer(main, "left", "l")
    answer(other, "right", "r")
    answer(other, "more", "r2")

    rows, report = take([main, other])

    assert [weights(row) for row in rows] == [
        [("shared", 1), ("r", 1), ("r2", 1)],
        [("shared", 0), ("l", 1)],
    ]
    assert (report.rows, report.trained) == (2, 4)


@pytest.mark.req("G6")
def test_an_answer_that_was_rewritten_by_a_human_is_shown_and_not_trained() -> None:
    graph = MessageGraph([user("one")])
    graph.record_call(assistant("sampled"), model="m")
    graph[1]["content"] = "rewritten"
    answer(graph, "two", "2")

    rows, _ = take(graph)

    assert [weights(row) for row in rows] == [[("rewritten", 0), ("2", 1)], [("sampled", 1)]]


@pytest.mark.req("G6")
def test_an_answer_is_trained_only_after_what_the_call_saw() -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(assistant("tea?"), model="m", context=graph.context([system("likes tea")]))
    answer(graph, "yes", "here")

    rows, _ = take(graph)

    assert [weights(row) for row in rows] == [[("tea?", 0), ("here", 1)], [("tea?", 1)]]
    assert rows[1]["messages"][:2] == [user("hi"), system("likes tea")]


@pytest.mark.req("G6")
def test_a_role_makes_no_message_sampled() -> None:
    graph = MessageGraph([user("2+2"), assistant("4"), user("3+3")])
    graph.record_call(assistant("6"), model="m")

    (row,), _ = take(graph)

    assert weights(row) == [("4", 0), ("6", 1)]


@pytest.mark.req("G6")
def test_another_model_or_other_tools_never_share_a_row() -> None:
    graph = MessageGraph()
    answer(graph, "one", "1", model="small")
    answer(graph, "two", "2", model="large")
    answer(graph, "three", "3", model="large", tools=TOOLS)

    rows, _ = take(graph)

    told = [(row["certificate"]["model"], "tools" in row, weights(row)) for row in rows]
    assert told == [
        ("small", False, [("1", 1)]),
        ("large", False, [("1", 0), ("2", 1)]),
        ("large", True, [("1", 0), ("2", 0), ("3", 1)]),
    ]


@pytest.mark.req("G6", "G7")
def test_what_was_undone_or_not_kept_is_a_row_too_and_equal_calls_are_one() -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(assistant("a"), model="m")
    graph.undo()
    for _ in range(2):
        graph.record_call(assistant("b"), model="m", append=False)

    rows, report = take(graph)

    assert [weights(row) for row in rows] == [[("a", 1)], [("b", 1)]]
    assert report.trained == 2


@pytest.mark.req("G5", "G6")
def test_after_a_summary_the_rows_show_what_the_models_saw_before_and_after() -> None:
    graph = MessageGraph()
    answer(graph, "one", "1")
    writing = graph.record_call(assistant("they counted"), model="m", append=False)
    graph.squish(0, 2, system("they counted"), call=writing)
    answer(graph, "two", "2")

    rows, report = take(graph)

    assert [[line["content"] for line in row["messages"]] for row in rows] == [
        ["one", "1", "they counted"],
        ["they counted", "two", "2"],
    ]
    assert [weights(row) for row in rows] == [[("1", 1), ("they counted", 1)], [("2", 1)]]
    assert report.refused == {}


@pytest.mark.req("G6")
def test_prompt_and_completion_come_once_for_each_sampled_answer() -> None:
    graph = MessageGraph()
    answer(graph, "one", "1", tools=TOOLS)
    answer(graph, "two", "2", tools=TOOLS)

    rows, report = take(graph, "trl-prompt-completion")

    told = [{key: row[key] for key in row if key != "certificate"} for row in rows]
    asked = [user("one"), assistant("1"), user("two")]
    assert told == [
        {"prompt": asked, "completion": [assistant("2")], "tools": TOOLS},
        {"prompt": asked[:1], "completion": [assistant("1")], "tools": TOOLS},
    ]
    assert report.trained == 2


@pytest.mark.req("G6")
def test_trl_messages_refuses_a_row_in_which_an_answer_must_not_be_trained() -> None:
    graph = MessageGraph([user("one")])
    graph.record_call(assistant("sampled"), model="m")
    graph[1]["content"] = "rewritten"
    answer(graph, "two", "2")

    (row,), report = take(graph, "trl-messages")

    assert row["messages"] == [user("one"), assistant("sampled")]
    assert (report.rows, report.trained, report.refused) == (1, 1, {"weights": 1})


@pytest.mark.req("G6")
def test_without_consent_nothing_is_exported_and_consent_is_asked_by_name() -> None:
    ann, bob = MessageGraph(name="ann"), MessageGraph(name="bob")
    answer(ann, "hi", "hello ann")
    answer(bob, "hi", "hello bob")
    report = Report()

    rows = list(
        export_rows([ann, bob], "openai", may_train={"bob"}.__contains__, salt=SALT, report=report)
    )

    assert [weights(row) for row in rows] == [[("hello bob", 1)]]
    assert (report.graphs, report.rows, report.refused) == (2, 1, {"no_consent": 1})


@pytest.mark.req("W26")
def test_a_row_names_its_graph_only_by_a_salted_hash() -> None:
    graph = MessageGraph(name="whatsapp:4915112345678")
    answer(graph, "hi", "hello")

    (row,), _ = take(graph)

    shown = row["certificate"]["graph"]
    assert shown == hashed_name(graph.name, SALT)
    assert len(shown) == 12
    assert hashed_name(graph.name, SALT + b"2") != shown
    assert "4915112345678" not in str(row)


@pytest.mark.req("G6")
def test_bad_settings_are_said_at_once() -> None:
    wanted: Any = "parquet"
    with pytest.raises(BadRequest, match="no export format 'parquet'"):
        take([], wanted)
    with pytest.raises(BadRequest, match="needs a tokenizer"):
        take([], "tokens")
    with pytest.raises(BadRequest, match="at least 16 bytes, this one has 5"):
        export_rows([], "openai", may_train=lambda _: True, salt=b"short", report=Report())


@pytest.mark.req("G6")
def test_branches_that_are_given_apart_are_refused() -> None:
    main, between = MessageGraph(name="talk"), MessageGraph(name="other")

    with pytest.raises(BadRequest, match="one after another"):
        take([main, between, main.branch("b")])


def act(graph: MessageGraph, what: str) -> None:
    if what == "undo" and graph.versions()[-1].content:
        graph.undo()
    elif what == "rewrite" and len(graph):
        graph[-1]["content"] = "rewritten"
    elif what == "delete" and len(graph):
        del graph[0]
    elif what in {"a", "b"}:
        graph.record_call(assistant(what), model="m")
    elif what == "ask":
        graph.append(user("q"))


@pytest.mark.req("G6", "G7")
@given(st.lists(st.sampled_from(["ask", "a", "b", "undo", "rewrite", "delete"]), max_size=14))
def test_whatever_was_done_every_sampled_answer_is_trained_once_after_what_its_call_saw(
    acts: list[str],
) -> None:
    graph = MessageGraph()
    for what in acts:
        act(graph, what)

    rows, report = take(graph)

    trained = [
        (context_root(messages[:index]), message_id(messages[index]))
        for row in rows
        for messages in [[{"role": m["role"], "content": m["content"]} for m in row["messages"]]]
        for index in row["certificate"]["trained"]
    ]
    wanted = {(call.context, call.response) for call in graph.calls()}
    assert len(trained) == len(set(trained)) == report.trained
    assert set(trained) == wanted
    assert [verify_row(row) for row in rows] == [None] * len(rows)


@pytest.mark.req("G6")
def test_an_export_reads_each_row_once_and_lets_it_go() -> None:
    class Counting(MemoryStorage):
        reads = 0

        def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
            self.reads += len(ids)
            return super().get_blobs(ids)

    def reads(turns: int) -> float:
        storage = Counting()
        graph = MessageGraph(name="talk", storage=storage)
        for turn in range(turns):
            graph.append(user(f"{turn}"))
            # Each prompt is another, so that no two calls share a row.
            context = graph.context(lead=[system(f"Prompt {turn}")], start=max(0, turn * 2 - 10))
            graph.record_call(assistant(f"to {turn}"), model="m", context=context)
        graph.save()
        opened = MessageGraph.open("talk", storage)
        rows, report = take(opened)
        assert (len(rows), report.with_rows) == (turns, 1)
        assert all(isinstance(version.kept, bytes) for version in opened.versions()[:-1])
        return storage.reads

    assert reads(200) < 2.2 * reads(100)

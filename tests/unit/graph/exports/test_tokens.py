"""Token rows: loss on the sampled tokens alone, or no row."""

import pytest

from hermes.graph import MessageGraph
from hermes.graph.exports import verify_row
from tests.unit.graph.exports.taken import Forgetful, Letters, spelled, take
from tests.unit.graph.said import assistant, system, user


def talk() -> MessageGraph:
    graph = MessageGraph([system("s"), user("one")])
    graph.record_call(assistant("1"), model="m")
    graph[2]["content"] = "uno"
    graph.append(user("two"))
    graph.record_call(assistant("2!"), model="m")
    return graph


@pytest.mark.req("G6")
def test_loss_is_on_sampled_answers_alone() -> None:
    rows, report = take(talk(), "tokens", tokenizer=Letters())

    shown = "<system>s</><user>one</><assistant>uno</><user>two</><assistant>2!</>"
    assert [spelled(row["input_ids"]) for row in rows] == [
        shown,
        "<system>s</><user>one</><assistant>1</>",
    ]
    assert [spelled(row["labels"]) for row in rows] == [
        "." * (len(shown) - 5) + "2!</>",
        "." * 35 + "1</>",
    ]
    assert (report.trained, report.refused) == (2, {})
    assert list(rows[0]) == ["input_ids", "labels", "certificate"]


@pytest.mark.req("G6")
def test_where_the_sampled_tokens_are_known_the_loss_is_on_exactly_those() -> None:
    graph = MessageGraph([user("one")])
    graph.record_call(assistant("1!"), model="m", token_ids=[ord("1"), ord("!")])

    (row,), _ = take(graph, "tokens", tokenizer=Letters())

    assert spelled(row["labels"]).strip(".") == "1!"
    assert verify_row(row, tokenizer=Letters()) is None


@pytest.mark.req("G6")
def test_tokens_that_were_not_sampled_are_refused() -> None:
    graph = MessageGraph([user("one")])
    graph.record_call(assistant("1!"), model="m", token_ids=[7, 8])

    rows, report = take(graph, "tokens", tokenizer=Letters())

    assert (rows, report.refused) == ([], {"tokens": 1})


@pytest.mark.req("G6")
def test_a_template_that_rewrites_what_came_before_is_refused_and_noticed() -> None:
    graph = MessageGraph([user("one")])
    graph.record_call(assistant("1"), model="m")
    graph.append(user("two"))
    graph.record_call(assistant("2"), model="m")

    rows, report = take(graph, "tokens", tokenizer=Forgetful())

    assert [row["certificate"]["trained"] for row in rows] == [[1]]
    assert report.refused == {"tokens": 1}


@pytest.mark.req("G6")
def test_a_token_row_is_checked_without_its_tokenizer_and_better_with_it() -> None:
    row = take(talk(), "tokens", tokenizer=Letters())[0][0]
    other = Letters()
    other.template = "another"

    assert verify_row(row) is None
    assert verify_row(row, tokenizer=Letters()) is None
    found = verify_row(row, tokenizer=other)
    assert found is not None
    assert found.where == "template"


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"labels": [-100]}, "two lists of the same length"),
        ({"input_ids": [1, 2], "labels": [-100, 3]}, "one label is neither"),
        ({"input_ids": [1, 2], "labels": [-100, -100]}, "no token is trained"),
        ({"input_ids": [1, 2], "labels": [-100, 2]}, "seal"),
    ],
)
def test_a_changed_token_row_is_noticed(changed: dict[str, list[int]], text: str) -> None:
    row = take(talk(), "tokens", tokenizer=Letters())[0][0]

    found = verify_row(row | changed)

    assert found is not None
    assert text in found.text


@pytest.mark.req("G6")
def test_with_the_tokenizer_other_tokens_are_noticed_before_the_seal() -> None:
    row = take(talk(), "tokens", tokenizer=Letters())[0][0]
    row["labels"][0] = row["input_ids"][0]

    found = verify_row(row, tokenizer=Letters())

    assert found is not None
    assert found.text == "its messages and weights give another row"

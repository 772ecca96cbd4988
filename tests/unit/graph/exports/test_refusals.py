"""What cannot be reproduced gives no row, and the report says why."""

import pytest

from hermes.graph import MemoryStorage, MessageGraph, canonical, keyed_hasher
from hermes.graph.exports import Refusal
from tests.unit.graph.exports.taken import Holed, Spoiled, take, weights
from tests.unit.graph.said import assistant, pictured, system, tool_call, tool_result, user


@pytest.mark.req("G6", "J24")
@pytest.mark.parametrize(
    ("spoiled", "found", "erased", "reason"),
    [
        (user("one"), None, True, "erased"),
        (assistant("1"), None, True, "erased"),
        (user("one"), None, False, "missing"),
        (user("one"), canonical(user("0ne")), False, "differs"),
        (assistant("1"), canonical(assistant("2")), False, "differs"),
        (assistant("1"), b"{", False, "differs"),
    ],
)
def test_what_is_not_kept_as_it_was_recorded_is_refused(
    spoiled: dict[str, object], found: bytes | None, erased: bool, reason: str
) -> None:
    storage = Spoiled(canonical(spoiled), found, erased=erased)
    graph = MessageGraph([user("one")], name="talk", storage=storage)
    call = graph.record_call(assistant("1"), model="m")
    graph.save()

    rows, report = take(MessageGraph.open("talk", storage))

    assert rows == []
    assert (report.refused, report.refusals[0].call) == ({reason: 1}, call.id)


@pytest.mark.req("G6")
def test_tools_that_are_not_kept_as_they_were_given_are_refused() -> None:
    storage = Spoiled(b'[{"name":"a"}]', b'[{"name":"b"}]')
    graph = MessageGraph([user("one")], name="talk", storage=storage)
    graph.record_call(assistant("1"), model="m", tools=[{"name": "a"}])
    graph.save()

    rows, report = take(MessageGraph.open("talk", storage))

    assert (rows, report.refused) == ([], {"differs": 1})


@pytest.mark.req("G6")
def test_what_is_lost_costs_only_the_calls_that_saw_it() -> None:
    storage = Spoiled(canonical(user("two")), None)
    graph = MessageGraph([user("one")], name="talk", storage=storage)
    graph.record_call(assistant("1"), model="m")
    graph.append(user("two"))
    graph.record_call(assistant("2"), model="m")
    graph.save()

    rows, report = take(MessageGraph.open("talk", storage))

    assert [weights(row) for row in rows] == [[("1", 1)]]
    assert report.refused == {"missing": 1}


@pytest.mark.req("G6")
@pytest.mark.parametrize(("lost", "trained"), [(0, [[62]]), (1, [[61]])])
def test_a_lost_chunk_costs_only_the_calls_that_need_it(
    lost: int, trained: list[list[int]]
) -> None:
    storage = Holed()
    graph = MessageGraph([user(f"{n}") for n in range(60)], name="talk", storage=storage)
    calls = [
        graph.record_call(assistant("yes"), model="m", append=False, context=graph.context(extra))
        for extra in ([user("a")], [user("b"), assistant("c")])
    ]
    leaves = [list(graph.at(call).sequence.leaves()) for call in calls]
    graph.save()
    storage.lost = leaves[lost][-1].id

    rows, report = take(MessageGraph.open("talk", storage))

    assert [row["certificate"]["trained"] for row in rows] == trained
    assert report.refusals[0].call == calls[lost].id
    assert report.refused == {"missing": 1}


@pytest.mark.req("G6")
def test_a_lost_chunk_that_all_calls_need_costs_them_all() -> None:
    storage = Holed()
    graph = MessageGraph([user(f"{n}") for n in range(60)], name="talk", storage=storage)
    for said in ("yes", "no"):
        graph.record_call(assistant(said), model="m")
    graph.save()
    storage.lost = next(graph.at(0).sequence.leaves()).id

    rows, report = take(MessageGraph.open("talk", storage))

    assert (rows, report.refused) == ([], {"missing": 2})


@pytest.mark.req("G6")
def test_a_call_that_cannot_be_read_does_no_harm_to_a_longer_one_that_looks_like_it() -> None:
    storage = Holed()
    graph = MessageGraph([user(f"{n}") for n in range(60)], name="talk", storage=storage)
    graph.record_call(assistant("yes"), model="m", append=False)
    first = next(graph.at(0).sequence.leaves())
    graph[0]["content"] = "another beginning"
    graph.extend([assistant("yes"), user("so?")])
    graph.record_call(assistant("so."), model="m")
    graph.save()
    storage.lost = first.id

    rows, report = take(MessageGraph.open("talk", storage))

    assert [row["certificate"]["trained"] for row in rows] == [[62]]
    assert report.refused == {"missing": 1}


@pytest.mark.req("G6")
def test_a_tool_call_without_a_result_is_refused_in_the_middle_and_fine_at_the_end() -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1"), model="m")
    graph.append(user("never mind"))
    late = graph.record_call(assistant("fine"), model="m")

    (row,), report = take(graph)

    assert [line["role"] for line in row["messages"]] == ["user", "assistant"]
    text = "Message 3 is an answer, but the tool call 'c1' before it has no result."
    assert report.refusals == [Refusal("open_tool_call", late.id, text)]


@pytest.mark.req("G6")
def test_a_tool_call_with_its_result_is_a_row() -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1"), model="m")
    graph.append(tool_result("c1"))
    graph.record_call(assistant("cool"), model="m")

    (row,), report = take(graph)

    assert (row["certificate"]["trained"], report.trained) == ([1, 3], 2)


@pytest.mark.req("G6")
def test_answers_that_no_model_wrote_are_refused() -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(None, model="m")
    graph.record_call(assistant("from the cache"), model="m", sampled=False)

    rows, report = take(graph)

    assert (rows, report.refused) == ([], {"no_answer": 1, "not_sampled": 1})


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ["sharegpt", "trl-messages"])
def test_what_a_format_cannot_hold_is_refused_and_the_calls_before_it_are_not(
    format_name: str,
) -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(assistant("hello"), model="m")
    graph.append(pictured("what is this?"))
    graph.record_call(assistant("a cat"), model="m")

    rows, report = take(graph, format_name)  # type: ignore[arg-type]

    assert [row["certificate"]["trained"] for row in rows] == [[1]]
    assert report.refused == {"unfit": 1}


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "odd",
    [
        {"role": "narrator", "content": "meanwhile"},
        {"role": "user", "content": [{"type": "hologram"}]},
        {"role": "user", "content": {"text": "hi"}},
        {"role": "user", "parts": [{"type": "image", "media": {"mime": "a/b", "path": "x"}}]},
    ],
)
def test_what_no_format_knows_is_refused(odd: dict[str, object]) -> None:
    graph = MessageGraph([odd])
    graph.record_call(assistant("hm"), model="m")

    rows, report = take(graph)

    assert (rows, report.refused) == ([], {"unfit": 1})


@pytest.mark.req("G6")
def test_an_answer_in_the_role_of_somebody_else_is_refused() -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(system("hello"), model="m")

    rows, report = take(graph)

    assert (rows, report.refused) == ([], {"unfit": 1})


@pytest.mark.req("G6", "J24")
def test_a_saved_graph_under_keyed_names_gives_the_rows_of_a_plain_one() -> None:
    hasher, storage = keyed_hasher(b"a secret of at least 16 bytes"), MemoryStorage()
    plain = MessageGraph([user("hi")], name="talk")
    keyed = MessageGraph([user("hi")], name="talk", storage=storage, hasher=hasher)
    for graph in (plain, keyed):
        graph.record_call(assistant("hello"), model="m", tools=[{"name": "a"}])
    keyed.save()

    rows, _ = take(MessageGraph.open("talk", storage, hasher=hasher))

    assert rows == take(plain)[0]
    assert rows[0]["certificate"]["messages"][0] == plain.at(0).sequence.blob(0).id.hex()

"""A call in a `with` block: what is sent is pinned, and the end of the block records it."""

import pytest

from hermes.errors import BadRequest, Conflict
from hermes.graph import MessageGraph
from tests.unit.graph.said import assistant, system, user


@pytest.mark.req("G4", "G6")
def test_a_call_is_recorded_when_its_block_ends() -> None:
    graph = MessageGraph([user("Name a colour.")])
    tools = [{"name": "f"}]

    with graph.call(
        model="m", sampling={"temperature": 0.5}, tools=tools, lead=[system("Be brief.")]
    ) as call:
        assert call.messages == [system("Be brief."), user("Name a colour.")]
        assert graph.calls() == []
        call.answer("Blue.", usage={"tokens_out": 2}, stop_reason="end", token_ids=[7], model="m-2")

    assert graph.to_list() == [user("Name a colour."), assistant("Blue.")]
    (made,) = graph.calls()
    assert made == call.record
    assert (made.model, made.sampling, made.usage, made.metadata, made.token_ids, made.lead) == (
        "m-2", {"temperature": 0.5}, {"tokens_out": 2}, {"stop_reason": "end", "asked_for": "m"}, (7,), 1
    )  # fmt: skip
    assert (graph.tools_of(made), graph.is_sampled(1)) == (tools, True)


@pytest.mark.req("G4")
def test_a_call_that_fails_is_recorded_without_an_answer() -> None:
    graph = MessageGraph([user("hi")])

    with pytest.raises(TimeoutError), graph.call(model="m"):
        raise TimeoutError("a secret")

    (made,) = graph.calls()
    assert (made.response, made.metadata, made.model) == (None, {"error": "TimeoutError"}, "m")
    assert "secret" not in repr(made)
    assert graph.to_list() == [user("hi")]


@pytest.mark.req("G4")
def test_an_answer_before_an_error_is_kept() -> None:
    graph = MessageGraph([user("hi")])

    def fails() -> None:
        with graph.call(model="m") as call:
            call.answer("Hello.")
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        fails()

    assert graph.to_list() == [user("hi"), assistant("Hello.")]


@pytest.mark.req("G4")
def test_a_block_without_an_answer_is_an_error() -> None:
    graph = MessageGraph([user("hi")])

    with pytest.raises(BadRequest, match="ended without an answer"), graph.call(model="m"):
        pass

    assert (graph.calls(), graph.version) == ([], 0)


@pytest.mark.req("G6")
def test_what_was_sent_must_be_what_is_recorded() -> None:
    graph = MessageGraph([user("hi")])

    def sends_more() -> None:
        with graph.call(model="m") as call:
            call.messages.append(user("and this"))
            call.answer("Hello.")

    with pytest.raises(Conflict, match="differs from the graph from message 1"):
        sends_more()

    assert (graph.calls(), graph.version) == ([], 0)


@pytest.mark.req("G6")
def test_an_edit_during_a_call_does_not_change_what_it_saw() -> None:
    graph = MessageGraph([user("hi")])

    with graph.call(model="m", append=False) as call:
        graph[0]["content"] = "bye"
        call.answer(assistant("Hello."))

    (made,) = graph.calls()
    assert graph.at(made) == [user("hi")]
    assert (graph.to_list(), graph.answer_of(made)) == ([user("bye")], assistant("Hello."))

"""Thumbs: they belong to calls, the latest of each person counts, and storages keep them."""

import pytest

from hermes.errors import BadRequest
from hermes.graph import MemoryStorage, MessageGraph
from hermes.graph.ratings import verdicts
from tests.unit.graph.said import assistant, user


def answered(storage: MemoryStorage | None = None) -> MessageGraph:
    graph = MessageGraph([user("hi")], name="talk", storage=storage, now=lambda: 7.0)
    graph.record_call(assistant("Hello."), model="m", call_id="c1")
    return graph


@pytest.mark.req("G4")
def test_a_thumb_is_for_the_call_that_wrote_a_message() -> None:
    graph = answered()
    graph.user("again")
    graph.record_call(assistant("Hello."), model="m", call_id="c2")

    thumb = graph.rate(-1, "down", actor="ann", reason="the same again")

    assert graph.feedback() == [thumb]
    assert (thumb.call, thumb.rating, thumb.actor, thumb.reason, thumb.at) == (
        "c2", "down", "ann", "the same again", 7.0
    )  # fmt: skip
    assert graph.rate(1, "up").call == "c1"
    assert graph.rate(graph.calls()[0], "up").call == "c1"
    with graph.editing("bob"):
        assert graph.rate(1, "up").actor == "bob"


@pytest.mark.req("G4")
def test_a_thumb_stays_with_the_words_that_were_rated() -> None:
    graph = answered()
    graph.rate(1, "down")
    graph[1]["content"] = "Good day."

    with pytest.raises(BadRequest, match="No recorded call wrote message 1 as it is now"):
        graph.rate(1, "up")
    assert verdicts(graph.feedback()) == {"c1": False}


@pytest.mark.req("G4")
def test_what_several_people_say_together() -> None:
    graph = answered()
    graph.rate(1, "up", actor="ann")
    graph.rate(1, "down", actor="bob")
    assert verdicts(graph.feedback()) == {}
    graph.rate(1, "up", actor="bob")
    assert verdicts(graph.feedback()) == {"c1": True}
    graph.rate(1, "none", actor="ann")
    graph.rate(1, "none", actor="bob")
    graph.rate(1, "down", actor="eve")
    assert verdicts(graph.feedback()) == {"c1": False}


@pytest.mark.req("G4")
def test_what_cannot_be_rated() -> None:
    graph, other = answered(), answered()
    failed = graph.record_call(None, model="m")
    foreign = other.record_call(assistant("x"), model="m")

    with pytest.raises(BadRequest, match="A rating is 'up', 'down' or 'none'"):
        graph.rate(1, "great")  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="No recorded call wrote message 0"):
        graph.rate(0, "up")
    for call in (failed, foreign):
        with pytest.raises(BadRequest, match="is not a call of graph 'talk' with an answer"):
            graph.rate(call, "up")
    assert graph.feedback() == []


@pytest.mark.req("G4", "G7")
def test_thumbs_are_saved_once_and_found_by_all_branches() -> None:
    storage = MemoryStorage()
    graph = answered(storage)
    graph.rate(1, "up")
    graph.save()
    graph.rate(1, "down")
    graph.save()
    graph.save()

    opened = MessageGraph.open("talk", storage)

    assert [thumb.rating for thumb in opened.feedback()] == ["up", "down"]
    assert opened.branch("other").feedback() == opened.feedback()
    assert opened.verify().ok

"""The end of a stored branch that is replaced: which messages a model had seen or made."""

import pytest

from hermes.graph import MemoryStorage, MessageGraph
from hermes.graph.growth import Tip
from hermes.graph.marks import SEEN
from hermes.graph.rewind import ChangeAuthor, marks_from, replace_end
from tests.unit.graph.said import assistant, user

ANN = ChangeAuthor("p_ann", "m_1", 1.0)


@pytest.mark.req("G1", "G5")
def test_a_message_that_a_model_was_shown_is_marked_as_seen() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    graph.record_call(assistant("b"), model="m")
    graph.append(user("c"))
    graph.save()
    moves, calls = storage.moves("talk", "main"), storage.calls("talk")
    tip = Tip("talk", "main", graph.sequence, len(moves) - 1)

    marks = marks_from(
        0, tip, log=lambda version: reversed(moves[: version + 1]), calls=reversed(calls)
    )

    assert (marks[0], marks[2]) == (SEEN, 0)
    assert marks[1]


@pytest.mark.req("G1", "G5")
@pytest.mark.parametrize("was", [bytes(1), bytes([SEEN])])
def test_a_replaced_message_is_an_alternative_only_if_a_model_saw_or_made_it(was: bytes) -> None:
    sequence = MessageGraph([user("a"), assistant("b")]).sequence
    other = MessageGraph([assistant("another")]).sequence.blob(0)

    grown = replace_end(Tip("talk", "main", sequence, 0), 1, [other], who=ANN, was=was)

    assert grown.batch.moves[0].edit.parallel is (was == bytes([SEEN]))

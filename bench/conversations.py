"""Conversations of a given length for the group `graph`: their texts, and graphs that grew turn by
turn with one recorded call a turn, as a session's does.
"""

from collections.abc import Iterator

from hermes.graph import GraphStorage, Message, MessageGraph, keyed_hasher

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
TEXT_LENGTH = 200
NAME = "bench"
MODEL = "bench-1"
# As in a store; the key is no secret here.
HASHER = keyed_hasher(b"of the bench, which hides nothing")
SAMPLING = {"temperature": 0.7, "max_tokens": 1024}
USAGE = {"in": 1900, "out": 48}

# What one save writes is in memory at once.
_SAVED_TOGETHER = 2_000
_PROSE = (
    "We run a small library in a harbour town. People return books late, the reading room is cold "
    "in winter, and the cellar floods when the river is high. Our helpers, who have been here "
    "since 1998, would like to keep the evening hours; the council would rather not."
)


def text(name: str) -> str:
    """Return a text that no other name has, always of the same length."""
    return f"{name}: {_PROSE}"[:TEXT_LENGTH]


def question(name: str) -> Message:
    """Return a message of a person."""
    return {"role": "user", "content": text(name)}


def answer(name: str) -> Message:
    """Return a message of a model."""
    return {"role": "assistant", "content": text(name)}


def messages(size: int) -> Iterator[Message]:
    """Iterate over a conversation of `size` messages, questions and answers in turn."""
    return (answer(f"{n}") if n % 2 else question(f"{n}") for n in range(size))


def grown(size: int, storage: GraphStorage) -> MessageGraph:
    """Return the graph of that conversation, saved: a version per message, a call per answer.

    `size` is even, as every question has its answer.
    """
    graph = MessageGraph(name=NAME, storage=storage, hasher=HASHER)
    for number in range(0, size, 2):
        graph.append(question(f"{number}"))
        graph.record_call(answer(f"{number + 1}"), model=MODEL, sampling=SAMPLING, usage=USAGE)
        if number % _SAVED_TOGETHER == 0:
            graph.save()
    graph.save()
    return graph


def open_grown(storage: GraphStorage) -> MessageGraph:
    """Return the saved graph as another process would open it."""
    return MessageGraph.open(NAME, storage, hasher=HASHER)

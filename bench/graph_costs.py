"""What single operations on a message graph cost, in CPU of this process: some rounds, before which
one is thrown away. The garbage collector runs as it does in any program.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from time import process_time

import msgspec

from bench.calm import Rounds, cpu_numbers
from bench.conversations import MODEL, TEXT_LENGTH, messages, open_grown, question, text
from bench.fixed_piece import fixed_piece_ms
from bench.naive_list import CopyingList
from hermes.graph import Batch, GraphStorage, MemoryStorage, Message, MessageGraph

ROUNDS, OPERATIONS = 11, 100
LOADS = 11
_BYTE_EDITS = 1_000
# A copy of 100,000 messages takes 0.2 s and 25 MB, which stay.
_NAIVE_CHANGES, _NAIVE_MESSAGES = 4, 20_000
_SEED = 4


class CountingStorage(MemoryStorage):
    """A storage in memory that counts the bytes of everything that is saved."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def write(self, batch: Batch) -> None:
        """Keep the batch and add its size."""
        super().write(batch)
        self.written += batch_size(batch)


def batch_size(batch: Batch) -> int:
    """Return the bytes of a batch: blobs and chunks with their names, and the rows of the rest.

    A row is its values as MessagePack, without the names of its fields: a table keeps them once.
    """
    named = (*batch.blobs.items(), *batch.chunks.items())
    rows = [_row(record) for record in (*batch.moves, *batch.calls, *batch.links)]
    kept = sum(len(name) + len(data) for name, data in named)
    return kept + sum(len(msgspec.msgpack.encode(row)) for row in rows)


def timed_rounds(
    one_round: Callable[[int], float],
    rounds: int = ROUNDS,
    *,
    piece: Callable[[], float] = fixed_piece_ms,
) -> Rounds[float]:
    """Return what the rounds return, after one more to warm up."""
    one_round(0)
    timed: Rounds[float] = Rounds(piece)
    for number in range(1, rounds + 1):
        timed.run(partial(one_round, number))
    return timed


def expect(what: str, found: int, expected: int) -> None:
    """Raise `RuntimeError` if something else was measured than is said."""
    if found != expected:
        raise RuntimeError(f"{what}: expected {expected}, found {found}; the numbers mean nothing")


def append_us(graph: MessageGraph) -> Rounds[float]:
    """Time `graph.append(message)`; the messages are taken away again after each round."""
    size = len(graph)

    def one_round(number: int) -> float:
        new = [question(f"append {number}.{n}") for n in range(OPERATIONS)]
        began = process_time()
        for message in new:
            graph.append(message)
        used = process_time() - began
        expect("messages after the appends", len(graph), size + OPERATIONS)
        del graph[size:]
        return _us_each(used)

    return timed_rounds(one_round)


def root_us(graph: MessageGraph) -> Rounds[float]:
    """Time `graph.context().root` after an append, which is not timed."""
    size = len(graph)

    def one_round(number: int) -> float:
        used, roots = 0.0, set()
        for n in range(OPERATIONS):
            graph.append(question(f"root {number}.{n}"))
            began = process_time()
            root = graph.context().root
            used += process_time() - began
            roots.add(root)
        expect("different roots", len(roots), OPERATIONS)
        del graph[size:]
        return _us_each(used)

    return timed_rounds(one_round)


def edit_us(graph: MessageGraph) -> Rounds[float]:
    """Time `graph[index]["content"] = text` all over a conversation that calls have seen."""
    random, edges = Random(_SEED), len(graph.edges())

    def one_round(number: int) -> float:
        graph.record_call(None, model=MODEL)
        edits = _edits(f"edit {number}", len(graph), random)
        began = process_time()
        for index, content in edits:
            graph[index]["content"] = content
        return _us_each(process_time() - began)

    timed = timed_rounds(one_round)
    expect("parallel edges", len(graph.edges()) - edges, (ROUNDS + 1) * OPERATIONS)
    return timed


def bytes_per_version(graph: MessageGraph, storage: CountingStorage) -> float:
    """Return what saving one edit writes, on average; the storage is that of the graph."""
    graph.record_call(None, model=MODEL)
    graph.save()
    before, versions = storage.written, graph.version
    for index, content in _edits("bytes", len(graph), Random(_SEED), count=_BYTE_EDITS):
        graph[index]["content"] = content
        graph.save()
    return (storage.written - before) / (graph.version - versions)


def load_ms(storage: GraphStorage, size: int) -> Rounds[float]:
    """Time opening a saved graph and reading all of its messages."""

    def one_round(_: int) -> float:
        began = process_time()
        graph = open_grown(storage)
        found = graph.to_list()
        used = process_time() - began
        expect("messages read", len(found), size)
        expect("characters of the last one", len(found[-1]["content"]), TEXT_LENGTH)
        return used * 1e3

    return timed_rounds(one_round, LOADS)


def first_edit_ms(storage: GraphStorage) -> Rounds[float]:
    """Time the first edit after opening a graph, which looks up what earlier calls saw."""

    def one_round(number: int) -> float:
        graph = open_grown(storage)
        began = process_time()
        graph[0]["content"] = text(f"first {number}")
        return (process_time() - began) * 1e3

    return timed_rounds(one_round, LOADS)


def naive_costs(label: str, size: int) -> dict[str, float]:
    """Time the same changes on a list that copies itself; each change is a round."""
    naive, random = CopyingList(list(messages(size))), Random(_SEED)
    rounds = max(_NAIVE_CHANGES, _NAIVE_MESSAGES // size)

    def append(number: int) -> float:
        message = question(f"append {number}")
        began = process_time()
        naive.append(message)
        return (process_time() - began) * 1e6

    def edit(number: int) -> float:
        index, content = random.randrange(size), text(f"edit {number}")
        began = process_time()
        naive.edit(index, content)
        return (process_time() - began) * 1e6

    return {
        **cpu_numbers(f"naive_append_us_{label}", timed_rounds(append, rounds)),
        **cpu_numbers(f"naive_edit_us_{label}", timed_rounds(edit, rounds)),
        f"naive_bytes_per_version_{label}": _encoded_size(naive.versions[-1]),
    }


def _edits(
    name: str, size: int, random: Random, *, count: int = OPERATIONS
) -> list[tuple[int, str]]:
    places = random.sample(range(size), min(size, count))
    return [(place, text(f"{name}.{n}")) for n, place in enumerate(places)]


def _row(record: msgspec.Struct) -> tuple[object, ...]:
    values = msgspec.structs.astuple(record)
    return tuple(_row(one) if isinstance(one, msgspec.Struct) else one for one in values)


def _us_each(used_s: float) -> float:
    return used_s * 1e6 / OPERATIONS


def _encoded_size(version: list[Message]) -> int:
    return len(msgspec.msgpack.encode(version))

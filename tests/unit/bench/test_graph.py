"""The group `graph`: conversations as long as they say, honest sizes, and measurements that notice
when they measured something else.
"""

import pytest

from bench.conversations import (
    SIZES,
    TEXT_LENGTH,
    answer,
    grown,
    messages,
    open_grown,
    question,
    text,
)
from bench.fixed_piece import cpu_figures
from bench.graph_costs import (
    OPERATIONS,
    ROUNDS,
    CountingStorage,
    append_us,
    batch_size,
    bytes_per_version,
    edit_us,
    load_ms,
    root_us,
    timed_rounds,
)
from bench.graph_store import (
    RECORD_ROUNDS,
    SAVES,
    TRANSACTIONS,
    call_record_us,
    fresh_file,
    grown_in,
)
from bench.groups.graph import GROUP, measure_sizes
from bench.naive_list import CopyingList
from hermes.graph import Batch, Edit, MemoryStorage, MessageGraph, Move

SIZE = 240


def quiet(_: str) -> None:
    """Say nothing."""


def test_a_conversation_has_texts_of_one_length_and_none_twice() -> None:
    found = list(messages(SIZE))

    assert {message["role"] for message in found} == {"user", "assistant"}
    assert {len(message["content"]) for message in found} == {TEXT_LENGTH}
    assert len({message["content"] for message in found}) == SIZE


def test_a_grown_graph_has_a_version_per_message_and_a_call_per_answer() -> None:
    storage = MemoryStorage()

    grown(SIZE, storage)

    found = open_grown(storage)
    assert found == list(messages(SIZE))
    assert (found.version, len(found.calls())) == (SIZE, SIZE // 2)
    assert found.verify().ok


def test_the_naive_list_reads_like_the_graph_and_keeps_every_version() -> None:
    graph, naive = MessageGraph(messages(4)), CopyingList(list(messages(4)))

    graph.append(question("new"))
    naive.append(question("new"))
    graph[1]["content"] = text("edited")
    naive.edit(1, text("edited"))

    assert [graph.at(version).to_list() for version in graph.versions()] == naive.versions


def test_the_size_of_a_batch_is_names_data_and_rows_without_field_names() -> None:
    move = Move("g", "main", 1, None, b"r" * 16, 1, 1, Edit("append", 0, 0, 1))

    named = batch_size(Batch(blobs={b"b" * 16: b"12345"}, chunks={b"c" * 16: b"1234567"}))
    with_move = batch_size(Batch(blobs={b"b" * 16: b"12345"}, moves=[move]))

    assert named == 16 + 5 + 16 + 7
    assert 16 + 5 + 16 + len("gmainappend") < with_move < 16 + 5 + 16 + 45


def test_a_saved_edit_counts_its_message_and_the_chunks_above_it() -> None:
    storage = CountingStorage()
    graph = grown(SIZE, storage)

    found = bytes_per_version(graph, storage)

    assert TEXT_LENGTH + 16 * 16 < found < 2_000
    assert open_grown(storage) == graph


def test_appends_and_roots_leave_the_conversation_as_it_was() -> None:
    graph = grown(SIZE, MemoryStorage())

    assert min(append_us(graph).all) > 0
    assert min(root_us(graph).all) > 0

    assert graph == list(messages(SIZE))
    assert graph.version > SIZE + 2 * ROUNDS * OPERATIONS


def test_every_measured_edit_changes_what_a_call_saw() -> None:
    graph = grown(SIZE, MemoryStorage())

    assert min(edit_us(graph).all) > 0

    assert len(graph.edges()) == (ROUNDS + 1) * OPERATIONS


def test_a_conversation_that_was_not_read_whole_is_no_number() -> None:
    storage = MemoryStorage()
    grown(SIZE - 2, storage)

    with pytest.raises(RuntimeError, match="messages read: expected 240, found 238"):
        load_ms(storage, SIZE)


def test_the_round_that_warms_up_does_not_count() -> None:
    timed = timed_rounds(lambda number: [1000.0, 3.0, 1.0, 2.0][number], 3, piece=lambda: 1.0)

    assert timed.calm == [3.0, 1.0, 2.0]


def test_a_conversation_in_the_database_is_sealed_and_reads_back() -> None:
    with fresh_file() as opened:
        grown_in(opened, SIZE)

        found = open_grown(opened.storage)
        assert found == list(messages(SIZE))
        assert found.verify().ok
        said = found[0]["content"].encode()
        assert said not in b"".join(row[0] for row in opened.db.rows("SELECT sealed FROM blobs"))
        assert opened.db.pragma("synchronous") == 2


def test_every_measured_call_is_in_the_database() -> None:
    with fresh_file() as opened:
        graph = grown_in(opened, SIZE)

        assert min(call_record_us(opened, graph).all) > 0

        calls = (RECORD_ROUNDS + 1) * TRANSACTIONS * SAVES
        found = open_grown(opened.storage)
        assert len(found.calls()) == SIZE // 2 + calls
        assert found[-1] == answer(f"call {calls - 1}")


def test_the_targets_are_those_that_were_promised() -> None:
    per_size = {"graph_append_us": 25, "graph_edit_us": 100, "graph_bytes_per_version": 2_000}
    stored = {"call_record_us": 200}

    promised = {
        **{f"{name}_{size}": most for name, most in (per_size | stored).items() for size in SIZES},
        **stored,
        "load_100k_ms": 200,
    }

    assert {name: target.at_most for name, target in GROUP.targets.items()} == promised


def test_the_group_yields_every_number_that_has_a_target() -> None:
    found: dict[str, float] = {}
    for numbers in measure_sizes({"100k": 200}, quiet):
        found |= numbers

    targeted = {name for name in GROUP.targets if not name.endswith(("_1k", "_10k"))}
    beside_ratios = found.keys() - cpu_figures(found).values()
    assert targeted <= found.keys()
    assert beside_ratios - targeted == {
        "context_root_us_100k",
        "first_edit_100k_ms",
        "load_100k_sqlite_ms",
        "naive_append_us_100k",
        "naive_bytes_per_version_100k",
        "naive_edit_us_100k",
        "turn_record_us_100k",
    }
    # Only bytes are no CPU.
    assert {name for name in beside_ratios if "bytes" not in name} == cpu_figures(found).keys()
    assert all(value > 0 for value in found.values())

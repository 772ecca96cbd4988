"""Graph: what appending, editing, naming, recording and loading cost in message graphs of 1,000 to
100,000 messages, beside a list that copies itself; all of it in this process.
"""

from collections.abc import Iterable, Iterator, Mapping

from bench.calm import cpu_numbers
from bench.conversations import SAMPLING, SIZES, TEXT_LENGTH, USAGE, grown
from bench.fixed_piece import ratio_name
from bench.graph_costs import (
    LOADS,
    OPERATIONS,
    ROUNDS,
    CountingStorage,
    append_us,
    bytes_per_version,
    edit_us,
    first_edit_ms,
    load_ms,
    naive_costs,
    root_us,
)
from bench.graph_store import (
    RECORD_ROUNDS,
    SAVES,
    SYNCHRONOUS,
    TRANSACTIONS,
    call_record_us,
    fresh_file,
    grown_in,
    turn_record_us,
)
from bench.registry import Group, Say, Settings, Target
from hermes.graph import GraphStorage


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    return measure_sizes(SIZES, say)


def measure_small(say: Say) -> Iterator[dict[str, float]]:
    """Measure all but the largest conversation."""
    return measure_sizes(dict(list(SIZES.items())[:-1]), say)


def measure_sizes(sizes: Mapping[str, int], say: Say) -> Iterator[dict[str, float]]:
    """Measure conversations of these sizes; only the last is loaded."""
    last = list(sizes)[-1]
    for label, size in sizes.items():
        yield _measure_graph(label, size, say=say, with_load=label == last)
    stored: dict[str, float] = {}
    for label, size in sizes.items():
        numbers = _measure_store(label, size, say=say, with_load=label == last)
        stored |= numbers
        yield numbers
    yield _dearest("call_record_us", stored, labels=sizes)
    for label, size in sizes.items():
        say(f"the same changes to a list that copies itself, {size} messages")
        yield naive_costs(label, size)


def _dearest(
    figure: str, numbers: Mapping[str, float], *, labels: Iterable[str]
) -> dict[str, float]:
    """Return the largest of a figure of all sizes, and of its ratio."""
    names = [f"{figure}_{label}" for label in labels]
    return {
        figure: max(numbers[name] for name in names),
        ratio_name(figure): max(numbers[ratio_name(name)] for name in names),
    }


def _measure_graph(label: str, size: int, *, say: Say, with_load: bool) -> dict[str, float]:
    say(f"a conversation of {size} messages, turn by turn")
    storage = CountingStorage()
    graph = grown(size, storage)
    loaded = _measure_load(label, size, storage=storage, say=say) if with_load else {}
    say(f"changes among {size} messages")
    return {
        **cpu_numbers(f"graph_append_us_{label}", append_us(graph)),
        **cpu_numbers(f"graph_edit_us_{label}", edit_us(graph)),
        f"graph_bytes_per_version_{label}": bytes_per_version(graph, storage),
        **cpu_numbers(f"context_root_us_{label}", root_us(graph)),
        **loaded,
    }


def _measure_load(label: str, size: int, *, storage: GraphStorage, say: Say) -> dict[str, float]:
    say(f"loading {size} messages")
    return {
        **cpu_numbers(f"load_{label}_ms", load_ms(storage, size)),
        **cpu_numbers(f"first_edit_{label}_ms", first_edit_ms(storage)),
    }


def _measure_store(label: str, size: int, *, say: Say, with_load: bool) -> dict[str, float]:
    with fresh_file() as opened:
        say(f"a conversation of {size} messages into a database")
        graph = grown_in(opened, size)
        numbers: dict[str, float] = {}
        if with_load:
            say(f"loading {size} messages from the database")
            numbers |= cpu_numbers(f"load_{label}_sqlite_ms", load_ms(opened.storage, size))
        say(f"recording calls after {size} messages")
        numbers |= cpu_numbers(f"call_record_us_{label}", call_record_us(opened, graph))
        numbers |= cpu_numbers(f"turn_record_us_{label}", turn_record_us(opened, graph))
    return numbers


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "messages": f"{TEXT_LENGTH} characters of English prose each, person and model in turn; "
        "every message is a version, every answer a recorded call",
        "calls": f"with sampling {SAMPLING} and usage {USAGE}",
        "names": "keyed, 16 bytes, as in a store",
        "edits": 'graph[index]["content"] = text at random places, all seen by a recorded call',
        "bytes": "blob, chunks and the row of the move, as save() hands them to the storage",
        "store": f"a SQLite file, synchronous = {SYNCHRONOUS}, bodies sealed, {SAVES} saves a commit; "
        f"median of the calm of {RECORD_ROUNDS} rounds of {SAVES * TRANSACTIONS} with their commits",
        "CPU": f"of this process, median of the calm of {ROUNDS} rounds of {OPERATIONS} ({LOADS} for loading) "
        "after one to warm up; the garbage collector runs",
    }


_COPIES = "deep copies: naive_"
GROUP = Group(
    name="graph",
    about="the message graph as a library and over the store, beside a list that copies itself",
    targets={
        **{
            f"graph_append_us_{label}": Target(at_most=25, peer=f"{_COPIES}append_us_{label}")
            for label in SIZES
        },
        **{
            f"graph_edit_us_{label}": Target(at_most=100, peer=f"{_COPIES}edit_us_{label}")
            for label in SIZES
        },
        **{
            f"graph_bytes_per_version_{label}": Target(
                at_most=2_000, peer=f"{_COPIES}bytes_per_version_{label}"
            )
            for label in SIZES
        },
        "call_record_us": Target(at_most=200),
        **{f"call_record_us_{label}": Target(at_most=200) for label in SIZES},
        "load_100k_ms": Target(at_most=200),
    },
    settings=effective_settings,
    run=measure,
    run_small=measure_small,
    library_figures=("",),
    has_gateway_cpu=False,
)

"""An index of a million messages, filled directly in batches, and what searches of it take."""

import statistics
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from bench.registry import Say
from bench.said import Talk
from hermes.ports.search import SearchAsk, Searcher
from hermes.store.search.file import index_bytes, open_index
from hermes.store.search.graph_reader import Addition, IndexMessage
from hermes.store.search.index_writer import Pen
from hermes.store.search.lookup import Finder
from hermes.store.sqlite.connection import Database

MESSAGES = 1_000_000
SEARCHES = 100
_BATCH = 400
_TOLD_EVERY = 50_000
_KEY = b"of the bench, hides nothing.    "
_LONGEST_S = 5.0


def measure_search(say: Say, messages: int = MESSAGES) -> Iterator[dict[str, float]]:
    """Fill an index and ask it: what operators ask of everybody, and people of themselves."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-search-") as folder:
        path, talk = Path(folder) / "search.db", Talk()
        db = open_index(path, _KEY)
        yield {"search_fill_us_per_message": _fill(db, talk, count=messages, say=say)}
        yield {"search_1m_index_mb": index_bytes(path) / 1e6}
        yield from _ask_all(db, talk, say=say)
        db.close()


def _fill(db: Database, talk: Talk, *, count: int, say: Say) -> float:
    """Return the CPU for each message, without that for making them up."""
    pen, said, used, done = Pen(db), talk.messages(count), 0.0, 0
    while batch := list(islice(said, _BATCH)):
        began = process_time()
        with db:
            for person, text in batch:
                done += 1
                graph = int(person[2:]) + 1
                addition = Addition(float(done), graph, "main", done, b"", done, 1, person, "m")
                name = f"agent:main:rest:dm:{person}#0"
                pen.put(addition, [IndexMessage(person, "user", text)], name=name)
        used += process_time() - began
        if done % _TOLD_EVERY < _BATCH:
            say(f"an index of {count:,} messages: {done:,} are in it")
    return used / done * 1e6


def _ask_all(db: Database, talk: Talk, *, say: Say) -> Iterator[dict[str, float]]:
    finder = Finder(db, is_erased=lambda _: False, monotonic=perf_counter)
    times: dict[str, list[float]] = {}
    say(f"{SEARCHES} searches of each kind, by the operator and by a person")
    for number, (kind, text) in enumerate(talk.searches(SEARCHES)):
        person = f"p_{number % 5_000}"
        asker = Searcher(person, f"agent:main:rest:dm:{person}", is_private=True)
        for who, ask in (
            ("operator", SearchAsk(text=text)),
            ("person", SearchAsk(text=text, asker=asker)),
        ):
            began = perf_counter()
            hits = finder.find(ask, seconds=_LONGEST_S)
            taken = (perf_counter() - began) * 1000
            if not hits.is_complete:
                raise RuntimeError(f"the search for {text!r} took longer than {_LONGEST_S} s")
            times.setdefault(who, []).append(taken)
            times.setdefault(kind, []).append(taken)
    every = sorted([*times["operator"], *times["person"]])
    yield {
        "search_1m_p50_ms": statistics.median(every),
        "search_1m_p99_ms": every[len(every) * 99 // 100],
    }
    yield {f"search_1m_p50_ms_{name}": statistics.median(some) for name, some in times.items()}

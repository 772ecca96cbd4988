"""An index of a million messages, filled directly in batches, and what searches of it take."""

import statistics
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from bench.calm import Rounds, ratio_number
from bench.registry import Say
from bench.said import Talk
from hermes.ports.search import SearchAsk, Searcher
from hermes.store.search.file import index_bytes, open_index
from hermes.store.search.graph_reader import Addition, IndexMessage
from hermes.store.search.index_writer import IndexWriter
from hermes.store.search.lookup import Finder
from hermes.store.sqlite.connection import Database

MESSAGES = 1_000_000
SEARCHES = 100
_BATCH = 400
_ROUND_BATCHES = 125
_FILL = "search_fill_us_per_message"
_KEY = b"of the bench, hides nothing.    "
_LONGEST_S = 5.0


def measure_search(say: Say, messages: int = MESSAGES) -> Iterator[dict[str, float]]:
    """Fill an index and ask it: what operators ask of everybody, and people of themselves."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-search-") as folder:
        path, talk = Path(folder) / "search.db", Talk()
        db = open_index(path, _KEY)
        yield _fill(db, talk, count=messages, say=say)
        yield {"search_1m_index_mb": index_bytes(path) / 1e6}
        yield from _ask_all(db, talk, say=say)
        db.close()


def _fill(db: Database, talk: Talk, *, count: int, say: Say) -> dict[str, float]:
    """Return the CPU for each message, without that for making them up; a round is many batches."""
    filling, rounds = _Filling(db, talk.messages(count)), Rounds[float]()
    while filling.done < count:
        rounds.run(filling.one_round)
        say(f"an index of {count:,} messages: {filling.done:,} are in it")
    return {
        _FILL: filling.used_s / filling.done * 1e6,
        **ratio_number(_FILL, rounds, pick=statistics.mean),
    }


class _Filling:
    """An index while it is filled."""

    def __init__(self, db: Database, said: Iterator[tuple[str, str]]) -> None:
        self._db, self._pen, self._said = db, IndexWriter(db), said
        self.done, self.used_s = 0, 0.0

    def one_round(self) -> float:
        """Put some batches in; returns the CPU for each of their messages in microseconds."""
        done, used_s = self.done, self.used_s
        for _ in range(_ROUND_BATCHES):
            batch = list(islice(self._said, _BATCH))
            began = process_time()
            with self._db:
                for person, text in batch:
                    self._put(person, text)
            self.used_s += process_time() - began
        return (self.used_s - used_s) / (self.done - done) * 1e6

    def _put(self, person: str, text: str) -> None:
        self.done += 1
        at, graph = self.done, int(person[2:]) + 1
        addition = Addition(float(at), graph, "main", at, b"", at, 1, person, "m")
        name = f"agent:main:rest:dm:{person}#0"
        self._pen.put(addition, [IndexMessage(person, "user", text)], name=name)


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

"""Kills a process at every statement that it gives the search index, and looks what is left.

`python -m tests.contract.journal.search_kills FOLDER` forks once for each statement: the child talks
to a core whose index follows, and ends itself before that statement. What the next process finds
must be every message, once. It prints how many places it tried, and fails with the first problem.
"""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import apsw

from hermes.ports.search import SearchAsk
from tests.contract.journal.rig import Rig, open_rig
from tests.stores.opening import new_keys

_TURNS = 3
_EVERY = 7
# More than are left out: so the loops over them are all cut somewhere.
_UNSEEN = 8
_MOST = 2_000


def _die_at(nth: int) -> None:
    """End this process as a power switch would, before the index gets its `nth` statement."""
    passed = 0

    def count(_cursor: object, _sql: str, _bindings: object) -> bool:
        nonlocal passed
        passed += 1
        if passed == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def follow(db: apsw.Connection) -> None:
        if db.filename.endswith("search.db"):
            db.exec_trace = count

    apsw.connection_hooks.append(follow)


async def _talk(home: Path, keys: bytes) -> None:
    """Live a life: turns that are noted, a restart that reads, and somebody who is erased."""
    async with open_rig(home, search=True, keys=keys) as rig:
        for number in range(_TURNS):
            await rig.answer(f"needle {number}", chat="ann")
            await rig.answer(f"needle {number}", chat="bob")
        await _take_in(rig)
    async with open_rig(home, keys=keys) as rig:
        for number in range(_UNSEEN):
            await rig.answer(f"needle unseen {number}", chat="ann")
    async with open_rig(home, search=True, keys=keys) as rig:
        await _take_in(rig)
        bob = await rig.store.people.find("rest", "bob")
        assert bob is not None
        await rig.store.people.erase(bob.id, at=rig.clock.now())
        assert rig.core.search is not None
        await rig.core.search.erased(bob.id)


async def _take_in(rig: Rig) -> None:
    assert rig.core.search is not None
    while await rig.core.search.fill():
        pass


async def _check(home: Path, keys: bytes) -> str:
    """Return what is wrong with what a search finds now; it must be what the graphs hold."""
    # No turn goes on meanwhile.
    async with open_rig(home, search=True, keys=keys, start=False) as rig:
        assert rig.core.search is not None
        await _take_in(rig)
        result = await rig.core.search.find(SearchAsk(text="needle", limit=200))
        said = [(one.message_id, one.role) for one in result.found]
        kept = await _kept(rig)
    if sorted(said) != sorted(kept):
        return f"found {sorted(said)}, the graphs hold {sorted(kept)}"
    return ""


async def _kept(rig: Rig) -> list[tuple[str, str]]:
    """Return every message of those who were not erased, read from the graphs."""
    found = []
    for entry in rig.store.graphs.graphs():
        people = [await rig.store.people.get(person) for person in entry.people]
        if any(person is None or person.is_erased for person in people):
            continue
        graph = rig.store.graphs.open(entry.name)
        for version in graph.versions():
            found += [(version.edit.reason, role) for role in ("user", "assistant")]
    return found


def _run(home: Path, keys: bytes, nth: int) -> bool:
    """Return whether the child lived to its end."""
    child = os.fork()
    if child == 0:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        _die_at(nth)
        asyncio.run(_talk(home, keys))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"statement {nth}: the child failed")
    return os.WIFEXITED(status)


def _verify(home: Path, keys: bytes, nth: int) -> None:
    child = os.fork()
    if child == 0:
        problem = asyncio.run(_check(home, keys))
        if problem:
            sys.stderr.write(f"killed before statement {nth}: {problem}\n")
            sys.stderr.flush()
        os._exit(1 if problem else 0)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(1)


def main(folder: Path) -> int:
    """Try every few statements, until a child ends by itself; returns how many places."""
    keys, home = new_keys(), folder / "home"
    home.mkdir(parents=True)
    # What is made once in a process is made here, for all the children.
    asyncio.run(_check(home, keys))
    for tried, nth in enumerate(range(1, _MOST, _EVERY)):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        has_ended = _run(home, keys, nth)
        _verify(home, keys, nth)
        if has_ended:
            return tried
    raise SystemExit("there is no end of statements")


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]))}\n")

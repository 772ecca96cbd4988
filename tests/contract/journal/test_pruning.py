"""W24: conversations that ended long ago are deleted whole, once a day, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.control.graph_check import check_graphs
from hermes.errors import NotFound, StoreError
from hermes.message.session_key import graph_name
from hermes.ports.search import SearchAsk
from hermes.ports.sessions import OldConversation, PruningStore
from hermes.schedule.pruning import SessionPruner
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.stores.opening import tables

DAY = 86_400.0
# Conversations end only by /new here, so that each test says which are over.
NEVER = {"SESSIONS__RESET__MODE": "none"}
TABLES = (
    "graphs", "refs", "moves", "chunks", "calls", "links", "feedback", "souls", "steps", "inbox"
)  # fmt: skip


def pruning(rig: Rig, *, days: int = 90) -> SessionPruner:
    search = rig.core.search
    return SessionPruner(
        rig.store.pruning,
        days=days,
        forget=None if search is None else search.pruned,
        clock=rig.clock,
    )


def names(rig: Rig) -> set[str]:
    return {entry.name for entry in rig.store.graphs.graphs()}


def counts(home: Path) -> dict[str, int]:
    with tables(home) as db:
        found = {name: db.one(f"SELECT count(*) FROM {name}") for name in TABLES}
        found["blobs"] = db.one("SELECT count(*) FROM blobs WHERE graph <> 0")
        found["bodies"] = db.one("SELECT count(*) FROM blobs WHERE name IS NULL")
        return found


def damage(rig: Rig) -> list[str]:
    """Return what `hermes graph verify` would find."""
    reader = rig.store.graphs
    report = check_graphs(reader, reader.graphs(), progress=lambda _done, _of: None, whole=True)
    return [one.text for one in report.damage]


async def found(rig: Rig, text: str) -> int:
    assert rig.core.search is not None
    return len((await rig.core.search.find(SearchAsk(text=text, limit=50))).found)


@pytest.mark.req("W24")
async def test_w24_an_old_conversation_goes_whole_and_its_session_goes_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("who am I", chat="bob")
        before = counts(tmp_path)
        for text in ("my secret is xylophone", "and more", "/new"):
            await rig.answer(text)
        rig.clock.advance(91 * DAY)
        await rig.answer("a new beginning")
        after_new = counts(tmp_path)

        assert await pruning(rig).round() == 1

        assert names(rig) == {graph_name(rig.lane("bob"), 0), graph_name(rig.lane(), 1)}
        left = counts(tmp_path)
        assert left["graphs"] == before["graphs"] + 1
        for table in ("moves", "chunks", "calls", "blobs", "bodies", "inbox", "steps"):
            assert left[table] < after_new[table], table
        assert damage(rig) == []
        with pytest.raises(NotFound):
            rig.store.graphs.open(graph_name(rig.lane(), 0))
        assert await rig.answer("still there?") == "#2 still there?"


@pytest.mark.req("W24")
async def test_w24_what_is_current_young_or_under_way_stays(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("current, and never ended", chat="bob")
        await rig.answer("ended, and young")
        rig.clock.advance(80 * DAY)
        await rig.answer("/new")
        hanging = await rig.say("[[hang]]", chat="cid")
        await rig.until(lambda: any("hang" in str(call.request) for call in rig.model.calls))
        rig.clock.advance(9 * DAY)
        await rig.answer("the newest", chat="dee")

        assert await pruning(rig).round() == 0
        rig.clock.advance(2 * DAY)

        assert await pruning(rig).round() == 1
        assert names(rig) == {graph_name(rig.lane(chat), 0) for chat in ("bob", "dee")}
        assert await rig.store.inbox.get(hanging) is not None


@pytest.mark.req("W24")
async def test_w24_it_is_done_once_a_day_over_restarts_and_not_unless_switched_on(
    tmp_path: Path,
) -> None:
    clock = ManualClock()

    async def talk(rig: Rig) -> None:
        for text in ("one", "/new", "two"):
            await rig.answer(text)
        rig.clock.advance(10 * DAY)

    async with open_rig(tmp_path, settings=NEVER, clock=clock) as rig:
        await talk(rig)
        assert await pruning(rig, days=0).round() == 0
        assert await pruning(rig, days=9).round() == 1
        await talk(rig)
    async with open_rig(tmp_path, settings=NEVER, clock=clock) as rig:
        clock.advance(-9.5 * DAY)
        assert await pruning(rig, days=0).round() == 0
        assert await rig.store.pruning.begin(clock.now(), every_s=DAY) is False
        clock.advance(9.5 * DAY)
        assert await pruning(rig, days=9).round() == 1
        assert await pruning(rig, days=1).round() == 0


@pytest.mark.req("W24", "J14")
async def test_w24_the_work_of_subagents_goes_with_the_conversation(tmp_path: Path) -> None:
    task = json.dumps({"task": "small question"})
    async with open_rig(tmp_path, own_tools=True, settings=NEVER) as rig:
        await rig.answer(f"please [[tool:delegate {task}]]")
        await rig.answer(f"once more [[tool:delegate {task}]]", chat="bob")
        assert len(names(rig)) == 4
        rig.clock.advance(91 * DAY)
        assert await pruning(rig).round() == 0

        rig.clock.advance(DAY)
        await rig.answer("/new")
        assert await pruning(rig).round() == 2

        assert all(name.startswith(rig.lane("bob")) for name in names(rig))
        assert damage(rig) == []


@pytest.mark.req("W24", "W25")
async def test_w24_a_search_finds_nothing_of_it_any_more(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER, search=True) as rig:
        for text in ("needle one", "/new", "needle two"):
            await rig.answer(text)
        assert await found(rig, "needle") == 4
        rig.clock.advance(91 * DAY)

        assert await pruning(rig).round() == 1

        assert await found(rig, "needle one") == 0
        assert await found(rig, "needle two") == 2


@pytest.mark.req("W24", "W25")
async def test_w24_a_crash_before_the_index_heard_of_it_is_made_up_for(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=NEVER, clock=clock, search=True) as rig:
        for text in ("needle one", "/new", "needle two"):
            await rig.answer(text)
        assert await found(rig, "needle") == 4
        clock.advance(91 * DAY)
        unheard = SessionPruner(rig.store.pruning, days=90, forget=None, clock=clock)
        assert await unheard.round() == 1
    async with open_rig(tmp_path, settings=NEVER, clock=clock, search=True) as rig:
        assert await found(rig, "needle one") == 0
        assert await found(rig, "needle two") == 2


class FailingOnce:
    """Fits `ports.sessions.PruningStore`: the real one, on a disk that fails once."""

    def __init__(self, real: PruningStore) -> None:
        self._real = real
        self.begin, self.old, self.find = real.begin, real.old, real.find
        self.collect = real.collect
        self._failures = 1

    async def prune(self, old: OldConversation, *, before: float) -> bool:
        if self._failures:
            self._failures -= 1
            raise StoreError("the disk has a bad day")
        return await self._real.prune(old, before=before)


@pytest.mark.req("W24")
async def test_w24_one_that_fails_keeps_nobody_else_and_is_tried_the_next_day(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        for chat in ("ann", "bob"):
            for text in ("one", "/new"):
                await rig.answer(text, chat=chat)
        rig.clock.advance(91 * DAY)
        await rig.answer("here", chat="cid")
        task = SessionPruner(FailingOnce(rig.store.pruning), days=90, forget=None, clock=rig.clock)

        assert await task.round() == 1
        assert await task.round() == 0
        rig.clock.advance(DAY)
        assert await task.round() == 1
        assert names(rig) == {graph_name(rig.lane("cid"), 0)}


def kept_tools(home: Path) -> int:
    with tables(home) as db:
        assert db.one("SELECT count(*) FROM blobs WHERE graph < 0") == 0
        return int(db.one("SELECT count(*) FROM blobs WHERE graph = 0 AND name IS NOT NULL"))


@pytest.mark.req("W24", "G7")
async def test_w24_tools_that_no_call_refers_to_any_more_go_too(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER, tools=(RunTool("look"),)) as rig:
        await rig.answer("with one tool")
        await rig.answer("/new")
    async with open_rig(
        tmp_path, settings=NEVER, tools=(RunTool("look"), RunTool("go"))
    ) as rig:  # fmt: skip
        await rig.answer("with two tools", chat="bob")
        assert kept_tools(tmp_path) == 2
        rig.clock.advance(91 * DAY)
        await rig.answer("a new beginning")

        assert await pruning(rig).round() == 1

        assert kept_tools(tmp_path) == 1
        graph = rig.store.graphs.open(graph_name(rig.lane("bob"), 0))
        tools = graph.tools_of(graph.calls()[0])
        assert tools is not None
        assert {tool["function"]["name"] for tool in tools} >= {"look", "go"}
        assert damage(rig) == []
        await rig.answer("and again", chat="bob")
        assert (kept_tools(tmp_path), damage(rig)) == (1, [])


@pytest.mark.req("W24", "G7")
async def test_w24_tools_that_were_put_aside_before_a_crash_are_still_found(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER, tools=(RunTool("look"),)) as rig:
        await rig.answer("with a tool")
    with tables(tmp_path) as db:
        db.execute("UPDATE blobs SET graph = -1 WHERE graph = 0 AND name IS NOT NULL")
    async with open_rig(tmp_path, settings=NEVER, tools=(RunTool("look"),)) as rig:
        assert damage(rig) == []
        await rig.answer("once more", chat="bob")

        assert await rig.store.pruning.collect() == 0

        assert (kept_tools(tmp_path), damage(rig)) == (1, [])


@pytest.mark.req("W24", "G4")
async def test_w24_thumbs_go_with_their_conversation(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("rate me")
        (call,) = rig.store.graphs.open(graph_name(rig.lane(), 0)).calls()
        thumb: dict[str, Any] = {"actor": "ann", "reason": "xylophone", "at": 1.0}
        assert await rig.store.transcripts.rate_call(call.id, "down", **thumb)
        assert counts(tmp_path)["feedback"] == 1
        await rig.answer("/new")
        rig.clock.advance(91 * DAY)
        await rig.answer("a new beginning")

        assert await pruning(rig).round() == 1

        assert (counts(tmp_path)["feedback"], damage(rig)) == (0, [])
        assert not await rig.store.transcripts.rate_call(call.id, "up", **thumb)

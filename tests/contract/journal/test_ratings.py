"""G4, G6: thumbs for answers of the gateway are kept with the conversation, sealed and checked."""

from pathlib import Path

import pytest

from hermes.control.graph_check import check_graphs
from hermes.control.ratings import MAX_NOTE, RatingOperations, RatingOrder
from hermes.errors import BadRequest, NotFound
from hermes.graph import MessageGraph
from hermes.graph.exports import Report, export_rows
from hermes.message.session_key import graph_name
from tests.contract.journal.rig import Rig, open_rig
from tests.stores.opening import tables


def graph_of(rig: Rig) -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0))


def orders(rig: Rig) -> RatingOperations:
    return RatingOperations(rig.store.transcripts, rig.store.ids, clock=rig.clock)


def content_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.req("G4", "G6", "G7")
async def test_a_thumb_is_kept_and_exports_use_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("first")
        await rig.answer("second")
        first, second = graph_of(rig).calls()

        await orders(rig).rate(RatingOrder(call=first.id, rating="up", by="olga"))
        order = RatingOrder(call=second.id, rating="down", note="xylophone", by="olga")
        done = await orders(rig).rate(order)
        await rig.answer("third")

        assert (done.call, done.rating) == (second.id, "down")
        assert [
            (one.call, one.rating, one.actor, one.reason) for one in graph_of(rig).feedback()
        ] == [
            (first.id, "up", "operator:olga", ""),
            (second.id, "down", "operator:olga", "xylophone"),
        ]
        assert graph_of(rig).verify().problems == ()
        assert rig.store.graphs.check(graph_of(rig).name) == []
        report = Report()
        rows = export_rows(
            [graph_of(rig)], "trl-prompt-completion", may_train=lambda _: True,
            salt=bytes(16), report=report,
        )  # fmt: skip
        assert (len(list(rows)), report.refused) == (2, {"rated_down": 1})
    assert b"xylophone" not in content_of(tmp_path)


@pytest.mark.req("G4")
async def test_a_thumb_for_what_nobody_wrote_is_refused(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("first")
        (call,) = graph_of(rig).calls()

        with pytest.raises(NotFound, match=r"No answer was written by a call 'm_none\.1'"):
            await orders(rig).rate(RatingOrder(call="m_none.1", rating="up"))
        order = RatingOrder(call=call.id, rating="up", note="x" * (MAX_NOTE + 1))
        with pytest.raises(BadRequest, match="at most 2000 are kept"):
            await orders(rig).rate(order)

        assert graph_of(rig).feedback() == []


@pytest.mark.req("G4", "W7")
async def test_a_call_is_named_by_a_part_of_its_id(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("first")
        await rig.answer("second")
        first, second = graph_of(rig).calls()

        done = await orders(rig).rate(RatingOrder(call=second.id[-6:], rating="up"))
        with pytest.raises(BadRequest, match=f"several ids: {second.id}, {first.id}"):
            await orders(rig).rate(RatingOrder(call=first.id[:5], rating="up"))

        assert done.call == second.id
        assert [one.call for one in graph_of(rig).feedback()] == [second.id]


@pytest.mark.req("G7", "J24")
@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM feedback WHERE number = 0",
        "UPDATE feedback SET data = (SELECT data FROM feedback WHERE number = 1) WHERE number = 0",
        "UPDATE feedback SET reason = NULL WHERE number = 1",
        "UPDATE feedback SET number = 7 WHERE number = 1",
    ],
)
async def test_a_thumb_that_was_changed_on_disk_is_found(tmp_path: Path, damage: str) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("first")
        (call,) = graph_of(rig).calls()
        for rating in ("up", "down"):
            note = f"because {rating}"
            await orders(rig).rate(RatingOrder(call=call.id, rating=rating, note=note))
        name = graph_of(rig).name
        assert rig.store.graphs.check(name) == []
    with tables(tmp_path) as db:
        db.execute(damage)
    async with open_rig(tmp_path) as rig:
        reader = rig.store.graphs
        found = check_graphs(reader, reader.graphs(), progress=lambda _done, _of: None, whole=True)
        assert found.damage != []

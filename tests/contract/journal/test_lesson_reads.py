"""A turn is committed between two reads of a graph, which SQLite's own storage is held up for."""

from pathlib import Path

import msgspec
import pytest

from hermes.graph.records import Ref
from hermes.store.sql.graph_storage import SqlGraphStorage
from tests.contract.journal.rig import open_rig

pytestmark = pytest.mark.sqlite_only


@pytest.mark.req("A14")
async def test_what_is_committed_between_two_reads_is_learnt_by_the_next_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"MEMORY__EXTRACT": "true"}
    async with open_rig(tmp_path, settings=settings) as rig:
        await rig.answer("one")
        heads: dict[str, Ref | None] = {}
        look = SqlGraphStorage.ref

        def as_before(storage: SqlGraphStorage, branch: str) -> Ref | None:
            return heads.setdefault(branch, look(storage, branch))

        (job,) = await rig.store.jobs.due(rig.clock.now() + 1e6, limit=9, kinds=("extract",))
        monkeypatch.setattr(SqlGraphStorage, "ref", as_before)
        await rig.store.jobs.lessons(job, limit=50)
        monkeypatch.setattr(SqlGraphStorage, "ref", look)
        await rig.answer("two")
        # The second turn is committed after the head was read, and before the log is.
        monkeypatch.setattr(SqlGraphStorage, "ref", as_before)
        lessons = await rig.store.jobs.lessons(job, limit=50)
        monkeypatch.setattr(SqlGraphStorage, "ref", look)
        assert [one.text for one in lessons.heard] == ["one"]
        later = msgspec.structs.replace(job, covered=lessons.covered)

        heard = (await rig.store.jobs.lessons(later, limit=50)).heard

        assert [one.text for one in heard] == ["two"]

"""Upkeep deletes stored responses whose time is over."""

from pathlib import Path

import pytest

from hermes.ports.responses import NewResponse, ResponseOwner
from tests.contract.journal.rig import open_rig
from tests.contract.store.people import person
from tests.stores.opening import tables


@pytest.mark.req("M1")
async def test_upkeep_deletes_responses_that_have_expired(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        owner, now = ResponseOwner("k_ann", await person(rig.store)), rig.clock.now()
        for name, ends_at in (("resp_1", now + 10), ("resp_2", now + 30)):
            new = NewResponse(
                id=name, owner=owner, items=b"[]", answer=b"{}", at=now, expires_at=ends_at
            )
            await rig.store.responses.put(new, keep=9, keep_bytes=99)
        rig.clock.advance(20)

        await rig.core.maintenance.upkeep.round()

        with tables(tmp_path) as found:
            assert found.rows("SELECT id FROM stored_responses") == [("resp_2",)]

"""What people have said once and for all, and that it concerns nothing else."""

from pathlib import Path

import pytest

from hermes.store.sqlite.inspection import inspect
from tests.stores.opening import KEYS, opened


@pytest.mark.req("J9")
async def test_an_always_that_is_taken_back_leaves_all_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for what, who in (("send", "ann"), ("send", "bob"), ("fetch", "ann")):
            await store.approvals.stand(what, who, is_standing=True)

        await store.approvals.stand("send", "ann", is_standing=False)

        found = [
            await store.approvals.is_standing(what, who)
            for what, who in (("send", "ann"), ("send", "bob"), ("fetch", "ann"), ("fetch", "bob"))
        ]
        assert found == [False, True, True, False]


@pytest.mark.req("W7")
@pytest.mark.sqlite_only
async def test_a_healthy_database_has_no_faults(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.users.add("rest", "ann", name="Ann", at=1.0)

    found = inspect(tmp_path / "hermes.db", KEYS, alive=lambda: None)

    assert (found.faults, found.key_problem, found.version) == ((), None, found.newest)

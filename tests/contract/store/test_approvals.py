"""What people have said once and for all, and that it concerns nothing else."""

from pathlib import Path

import pytest

from tests.stores.opening import opened


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

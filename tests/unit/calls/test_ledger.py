"""The ledger of calls that are no turns: a line that the store refuses holds up no other."""

import asyncio
from pathlib import Path

import pytest

from hermes.calls.ledger import CallLedger
from hermes.message.reply import Usage
from hermes.ports.spend import PLATFORM, Account, CallLine, Meter, SpendEntry
from tests.stores.opening import opened


def spent(person: str, *, tokens: int = 10) -> SpendEntry:
    account = Account(person_id=person, channel="v1")
    return SpendEntry(day="2026-11-15", account=account, model="one", usage=Usage(tokens, 5))


@pytest.mark.req("J21")
async def test_a_line_that_the_store_never_takes_is_dropped_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ledger = CallLedger(store.spend, lag_s=0.0)
        for person, tokens in (("p_ann", 10), ("p_bad", 2**70), ("p_bob", 10)):
            line = CallLine(id=f"c_{person}", at=1.0, data={})
            ledger.note((spent(person, tokens=tokens),), line)
        async with asyncio.timeout(20):
            while await store.timeline("c_p_bob") is None:  # noqa: ASYNC110  written by a task of its own
                await asyncio.sleep(0)
        await ledger.close()

        total = await store.spend.total(Meter("platform", PLATFORM, "tokens"))
        day = await store.spend.report("person", first_day="2026-11-15", last_day="2026-11-15")

    assert ([row.name for row in day], total) == (["p_ann", "p_bob"], 30.0)


@pytest.mark.req("J21")
@pytest.mark.parametrize("steps", range(1, 12))
async def test_a_stop_at_any_step_of_a_write_loses_no_line(tmp_path: Path, steps: int) -> None:
    async with opened(tmp_path) as store:
        ledger = CallLedger(store.spend, lag_s=0.0)
        for person, tokens in (("p_bad", 2**70), ("p_ann", 10), ("p_bob", 10)):
            line = CallLine(id=f"c_{person}", at=1.0, data={})
            ledger.note((spent(person, tokens=tokens),), line)
        for _ in range(steps):
            await asyncio.sleep(0)
        await ledger.close()

        day = await store.spend.report("person", first_day="2026-11-15", last_day="2026-11-15")

    assert [row.name for row in day] == ["p_ann", "p_bob"]

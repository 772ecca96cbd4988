"""J21: the ledger is the truth of spending: what budgets ask of it, what is in it, what survives."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.errors import StoreRejected
from hermes.message.reply import Usage
from hermes.ports.spend import (
    PLATFORM,
    Account,
    CallLine,
    CostBy,
    CostRow,
    KillSwitch,
    Meter,
    SpendEntry,
    Unit,
    Whose,
)
from hermes.ports.store import Store
from tests.stores.opening import opened

DAYS = ("2026-10-31", "2026-11-01", "2026-11-15", "2026-11-30", "2026-12-01")
PERIODS = (*DAYS, "2026-10", "2026-11", "2026-12", "2027-01", "")
PEOPLE = ("p_ann", "p_bob", PLATFORM)
AGENTS = ("", "main", "cook")
KEYS = ("", "k_1", "k_2")
COUNTS = st.integers(0, 10_000)
DOLLARS = st.floats(0, 100, allow_nan=False)

spents = st.builds(
    SpendEntry,
    day=st.sampled_from(DAYS),
    account=st.builds(
        Account,
        person_id=st.sampled_from(PEOPLE),
        agent=st.sampled_from(AGENTS),
        channel=st.sampled_from(("rest", "v1")),
        key=st.sampled_from(KEYS),
    ),
    model=st.sampled_from(("one", "two")),
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, DOLLARS, COUNTS),
    assumed_usd=DOLLARS,
    is_cached=st.booleans(),
)
NAMES: dict[Whose, tuple[str, ...]] = {
    "person": (*PEOPLE, "p_unknown"),
    "agent": (*AGENTS, "unknown"),
    "key": ("k_1", "k_2", "k_unknown"),
    "platform": (PLATFORM,),
}
METERS = tuple(
    Meter(whose, name, unit, period)
    for whose, names in NAMES.items()
    for name in names
    for unit in get_args(Unit)
    for period in PERIODS
)
WHOSE: dict[Whose, Callable[[SpendEntry], str]] = {
    "person": lambda call: call.account.person_id,
    "agent": lambda call: call.account.agent,
    "key": lambda call: call.account.key,
    "platform": lambda call: PLATFORM,
}
TOOK: dict[Unit, Callable[[SpendEntry], float]] = {
    "tokens": lambda call: call.usage.tokens_in + call.usage.tokens_out,
    "usd": lambda call: call.usage.cost_usd + call.assumed_usd,
}
BY: dict[CostBy, Callable[[SpendEntry], str]] = {
    "person": WHOSE["person"],
    "agent": WHOSE["agent"],
    "key": WHOSE["key"],
    "channel": lambda call: call.account.channel,
    "model": lambda call: call.model,
    "day": lambda call: call.day,
}


def spent(person: str = "p_ann", *, day: str = "2026-11-15", **other: object) -> SpendEntry:
    account = Account(person_id=person, agent="main", channel="v1", key="k_1")
    # Any field of the struct, which checks the names.
    return SpendEntry(
        **{"day": day, "account": account, "model": "one", "usage": Usage(10, 5, 0, 0, 0.5)} | other  # type: ignore[arg-type]
    )


def folded(calls: Sequence[SpendEntry], meter: Meter) -> float:
    """Return where a meter stands by the calls themselves."""
    return sum(
        TOOK[meter.unit](call)
        for call in calls
        if WHOSE[meter.whose](call) == meter.name and call.day.startswith(meter.period)
    )


def by_name(calls: Sequence[SpendEntry], by: CostBy) -> dict[str, tuple[object, ...]]:
    """Return what a report has to say, by the calls themselves."""
    rows: dict[str, tuple[object, ...]] = {}
    for name in {BY[by](call) for call in calls}:
        mine = [call for call in calls if BY[by](call) == name]
        usage = Usage()
        for call in mine:
            usage = usage.plus(call.usage)
        rows[name] = (
            len(mine),
            sum(call.is_cached for call in mine),
            usage.tokens_in,
            usage.tokens_out,
            usage.cached_in,
            usage.reasoning_out,
            pytest.approx(usage.cost_usd),
            usage.unpriced,
            pytest.approx(sum(call.assumed_usd for call in mine)),
        )
    return rows


def numbers(row: CostRow) -> tuple[object, ...]:
    return (
        row.calls,
        row.cached_calls,
        row.tokens_in,
        row.tokens_out,
        row.cached_in,
        row.reasoning_out,
        row.cost_usd,
        row.unpriced_tokens,
        row.assumed_usd,
    )


def usd(row: CostRow) -> float:
    return row.cost_usd + row.assumed_usd


@pytest.mark.req("J21", "A20", "A22")
@settings(max_examples=40, deadline=None)
@given(batches=st.lists(st.lists(spents, max_size=8), min_size=1, max_size=4))
def test_every_meter_stands_where_the_calls_put_it(batches: list[list[SpendEntry]]) -> None:
    async def story() -> dict[Meter, float]:
        with TemporaryDirectory() as folder:
            async with opened(Path(folder)) as store:
                await asyncio.gather(*(store.spend.add(batch) for batch in batches))
                return {meter: await store.spend.total(meter) for meter in METERS}

    totals = asyncio.run(story())

    calls = [call for batch in batches for call in batch]
    assert totals == {meter: pytest.approx(folded(calls, meter)) for meter in METERS}


@pytest.mark.req("A20")
@settings(max_examples=30, deadline=None)
@given(calls=st.lists(spents, min_size=3, max_size=20))
def test_the_report_says_what_the_calls_took_the_most_expensive_first(
    calls: list[SpendEntry],
) -> None:
    async def story() -> dict[CostBy, tuple[CostRow, ...]]:
        with TemporaryDirectory() as folder:
            async with opened(Path(folder)) as store:
                await store.spend.add(calls)
                return {
                    by: await store.spend.report(by, first_day="2026-11-01", last_day="2026-11-30")
                    for by in BY
                }

    reports = asyncio.run(story())

    november = [call for call in calls if call.day.startswith("2026-11")]
    for by, rows in reports.items():
        assert {row.name: numbers(row) for row in rows} == by_name(november, by)
        assert len({row.name for row in rows}) == len(rows)
        assert [usd(row) for row in rows] == sorted((usd(row) for row in rows), reverse=True)


@pytest.mark.req("J21")
async def test_what_was_added_is_there_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.spend.add([spent(), spent(), spent("p_bob")])

    async with opened(tmp_path) as store:
        month = [
            await store.spend.total(Meter("person", "p_ann", "usd", "2026-11")),
            await store.spend.total(Meter("key", "k_1", "tokens")),
            await store.spend.total(Meter("platform", PLATFORM, "usd", "2026-11-15")),
        ]

    assert month == [1.0, 45.0, 1.5]


@pytest.mark.req("J21")
async def test_a_thousand_equal_calls_are_one_row_of_the_ledger(
    store: Store,
) -> None:
    await store.spend.add([spent()] * 1_000)

    (row,) = await store.spend.report("person", first_day="2026-11-15", last_day="2026-11-15")

    assert (row.name, row.calls, row.tokens_in) == ("p_ann", 1_000, 10_000)


@pytest.mark.req("J21", "J19")
async def test_a_unit_that_fails_leaves_its_good_neighbours(store: Store) -> None:
    unprintable = CallLine(id="c_bad", at=1.0, data={"thing": object()})

    results = await asyncio.gather(
        store.spend.add([spent("p_ann")]),
        store.spend.add([spent("p_bad")], lines=[unprintable]),
        store.spend.add([spent("p_bob")]),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [type(None), StoreRejected, type(None)]
    day = await store.spend.report("person", first_day="2026-11-15", last_day="2026-11-15")
    assert [row.name for row in day] == ["p_ann", "p_bob"]
    assert await store.spend.total(Meter("platform", PLATFORM, "tokens")) == 30.0


@pytest.mark.req("A22")
async def test_the_kill_switch_stays_on_until_it_is_released(tmp_path: Path) -> None:
    pulled = KillSwitch(is_on=True, at=5.0, by="ops", reason="a loop")
    async with opened(tmp_path) as store:
        before = await store.spend.kill_switch()
        await store.spend.set_kill_switch(pulled)
        at_once = await store.spend.kill_switch()

    async with opened(tmp_path) as store:
        reopened = await store.spend.kill_switch()
        await store.spend.set_kill_switch(KillSwitch(is_on=False, at=6.0, by="ops"))
        released = await store.spend.kill_switch()

    assert (before.is_on, at_once, reopened) == (False, pulled, pulled)
    assert released == KillSwitch(is_on=False, at=6.0, by="ops")

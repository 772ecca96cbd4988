"""The kill switch and the cost report as the operator sees them, over the real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.calls.days import Calendar
from hermes.control.keys import NewKey
from hermes.control.operations import Operations
from hermes.control.spending import CostAsk, SwitchOrder, SwitchReport, costs, days_of
from hermes.errors import BadRequest
from hermes.message.ids import make_id
from hermes.message.reply import Usage
from hermes.ports.spend import Account, CostRow, SpendEntry
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

# 2023-11-14 22:13:20 UTC, which is the 15th in Tokyo.
NOW = 1_700_000_000.0
TODAY = "2023-11-14"
ANN = Account(person_id="p_1")
USUAL = Usage(10, 2, cost_usd=0.5)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


def desk_in(store: Store, zone: str = "UTC", *, clock: ManualClock | None = None) -> Operations:
    return Operations(
        store,
        calendar=Calendar(zone),
        clock=clock or ManualClock(NOW),
        make_id=make_id,
        address="http://127.0.0.1:8080",
    )


def spent(
    day: str = TODAY,
    *,
    account: Account = ANN,
    model: str = "a:one",
    usage: Usage = USUAL,
    assumed_usd: float = 0.0,
    is_cached: bool = False,
) -> SpendEntry:
    return SpendEntry(
        day=day,
        account=account,
        model=model,
        usage=usage,
        assumed_usd=assumed_usd,
        is_cached=is_cached,
    )


@pytest.mark.req("A22", "J21")
async def test_the_kill_switch_stays_on_with_who_and_why_until_it_is_released(tmp_path):
    clock = ManualClock(NOW)
    async with opened(tmp_path) as store:
        operations = desk_in(store, clock=clock)
        before = await operations.spending.kill_switch()
        with capture_logs() as logs:
            turned = await operations.spending.set_kill_switch(
                SwitchOrder(is_on=True, by="olga", reason="the bill")
            )
    async with opened(tmp_path) as store:
        after_restart = await desk_in(store).spending.kill_switch()

    on = SwitchReport(is_on=True, at=NOW, by="olga", reason="the bill")
    assert before == SwitchReport(is_on=False)
    assert turned == SwitchReport(is_on=True, at=NOW, by="olga", reason="the bill", changed=True)
    assert after_restart == on
    assert logs == [
        {
            "event": "kill_switch",
            "is_on": True,
            "by": "olga",
            "reason": "the bill",
            "log_level": "warning",
        }
    ]


@pytest.mark.req("A22")
async def test_the_same_order_again_changes_nothing_and_is_not_logged(store):
    clock = ManualClock(NOW)
    operations = desk_in(store, clock=clock)
    await operations.spending.set_kill_switch(SwitchOrder(is_on=True, by="olga", reason="the bill"))
    clock.advance(60)

    with capture_logs() as logs:
        again = await operations.spending.set_kill_switch(SwitchOrder(is_on=True, by="ben"))
    off = await operations.spending.set_kill_switch(SwitchOrder(is_on=False, by="ben"))
    still_off = await operations.spending.set_kill_switch(SwitchOrder(is_on=False, by="olga"))

    assert again == SwitchReport(is_on=True, at=NOW, by="olga", reason="the bill")
    assert off == SwitchReport(is_on=False, at=NOW + 60, by="ben", changed=True)
    assert still_off == SwitchReport(is_on=False, at=NOW + 60, by="ben")
    assert logs == []


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("ask", "days"),
    [
        (CostAsk(), ("2023-10-16", TODAY)),
        (CostAsk(days=1), (TODAY, TODAY)),
        (CostAsk(month="2024-02"), ("2024-02-01", "2024-02-29")),
        (CostAsk(first_day="2023-01-01"), ("2023-01-01", TODAY)),
        (CostAsk(first_day="2023-01-01", last_day="2023-01-02"), ("2023-01-01", "2023-01-02")),
    ],
)
def test_days_are_the_last_ones_a_month_or_from_one_to_another(ask, days):
    assert days_of(ask, today=TODAY) == days


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    "ask",
    [
        CostAsk(days=0),
        CostAsk(days=36_501),
        CostAsk(month="2023-13"),
        CostAsk(month="2023-1"),
        CostAsk(month="0000-01"),
        CostAsk(first_day="2023-02-30"),
        CostAsk(first_day="2023-W46-1"),
        CostAsk(first_day="20231114"),
        CostAsk(last_day=TODAY),
        CostAsk(first_day="2023-11-14", last_day="2023-11-13"),
        CostAsk(days=3, month="2023-11"),
        CostAsk(month="2023-11", first_day=TODAY),
    ],
)
def test_days_that_cannot_be_are_refused(ask):
    with pytest.raises(BadRequest):
        days_of(ask, today=TODAY)


@pytest.mark.req("A20")
async def test_costs_are_attributed_with_a_total_and_unknown_prices_beside_it(store):
    await store.spend.add(
        [
            spent(),
            spent(usage=Usage(), is_cached=True),
            spent(model="b:odd", usage=Usage(7, 3, unpriced=10), assumed_usd=0.125),
            spent("2023-10-15", usage=Usage(1, 1, cost_usd=100.0)),
        ]
    )

    report = await desk_in(store).spending.costs(CostAsk(by="model"))

    one, odd = report.rows
    assert (one.name, one.calls, one.cached_calls, one.cost_usd) == ("a:one", 2, 1, 0.5)
    assert (odd.name, odd.cost_usd, odd.unpriced_tokens, odd.assumed_usd) == ("b:odd", 0, 10, 0.125)
    assert report.total == CostRow(
        name="total",
        calls=3,
        cached_calls=1,
        tokens_in=17,
        tokens_out=5,
        cached_in=0,
        reasoning_out=0,
        cost_usd=0.5,
        unpriced_tokens=10,
        assumed_usd=0.125,
    )


@pytest.mark.req("A20")
async def test_people_and_keys_are_named_as_the_operator_named_them(store):
    operations = desk_in(store)
    key = (await operations.keys.create(NewKey(user="ann", label="build"))).key
    by_key = Account(person_id=key.person_id, key=key.id)
    by_agent = Account(person_id="p_1", agent="main")
    await store.spend.add([spent(account=by_key), spent(account=by_agent)])

    people = (await operations.spending.costs(CostAsk(by="person"))).rows
    keys = (await operations.spending.costs(CostAsk(by="key"))).rows
    agents = (await operations.spending.costs(CostAsk(by="agent"))).rows

    assert {row.name: row.label for row in people} == {key.person_id: "ann", "p_1": ""}
    assert {row.name: row.label for row in keys} == {key.id: "build, ann", "": ""}
    assert {row.name: row.label for row in agents} == {"main": "", "": ""}


@pytest.mark.req("A20", "J21")
async def test_days_come_in_order_and_today_is_that_of_the_time_zone(store):
    await store.spend.add(
        [spent("2023-11-15", usage=Usage(1, 1, cost_usd=9.0)), spent("2023-11-14")]
    )

    in_tokyo = await desk_in(store, "Asia/Tokyo").spending.costs(CostAsk(by="day", days=2))
    in_utc = await desk_in(store, "UTC").spending.costs(CostAsk(by="day", days=2))

    assert (in_tokyo.first_day, in_tokyo.last_day) == ("2023-11-14", "2023-11-15")
    assert [row.name for row in in_tokyo.rows] == ["2023-11-14", "2023-11-15"]
    assert [row.name for row in in_utc.rows] == ["2023-11-14"]


@pytest.mark.req("A20")
async def test_without_a_ledger_nothing_was_spent():
    report = await costs(None, CostAsk(days=1), today=TODAY)

    assert (report.rows, report.total.calls, report.first_day) == ((), 0, TODAY)

"""The ledger of model calls: one row per day, person, agent, channel, key and model.

Every total that a budget needs is a few rows: a person's and a key's by the ledger's own keys, an
agent's and the platform's from daily sums that are written beside it.
"""

from collections.abc import Sequence

import msgspec

from hermes.ports.spend import (
    CallLine,
    CostBy,
    CostRow,
    KillSwitch,
    Meter,
    SpendEntry,
    Whose,
)
from hermes.ports.steps import TimelineEvent
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("spend")
_TOTALS: dict[Whose, str] = {
    "person": _SQL["person_total"],
    "agent": _SQL["agent_total"],
    "key": _SQL["key_total"],
    "platform": _SQL["platform_total"],
}
# Sorts after every key of a day.
_LAST = "~"
_decode_switch = msgspec.json.Decoder(KillSwitch).decode


def add_spent(tx: Tx, spent: Sequence[SpendEntry]) -> None:
    """Add calls to the ledger, inside a transaction."""
    for call in spent:
        account, usage = call.account, call.usage
        tx.put(
            _SQL["add"],
            call.day,
            account.person_id,
            account.agent,
            account.channel,
            account.key,
            call.model,
            call.is_cached,
            usage.tokens_in,
            usage.tokens_out,
            usage.cached_in,
            usage.reasoning_out,
            usage.cost_usd,
            usage.unpriced,
            call.assumed_usd,
        )
        tokens = usage.tokens_in + usage.tokens_out
        usd = usage.cost_usd + call.assumed_usd
        tx.put(_SQL["add_to_day"], call.day, account.agent, tokens, usd)


class SqlSpend:
    """Implements `ports.spend.SpendStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Every call reads it; every change clears it.
        self._switch: KillSwitch | None = None
        engine.feed.on("kill_switch", lambda _key: self._forget())

    async def add(self, spent: Sequence[SpendEntry], *, lines: Sequence[CallLine] = ()) -> None:
        """Write calls outside turns, and their timeline for `why`, in one transaction."""

        async def unit(tx: Tx) -> None:
            add_spent(tx, spent)
            for line in lines:
                self._engine.add_events(tx, line.id, (TimelineEvent("call", line.at, line.data),))

        await self._engine.writer.run("add_spend", unit)

    async def total(self, meter: Meter) -> float:
        """Return the value of a meter from the ledger."""
        days = (meter.period, meter.period + _LAST)
        bindings = days if meter.whose == "platform" else (*days, meter.name)
        tokens, usd = (await self._engine.reads.rows(_TOTALS[meter.whose], *bindings))[0]
        return float(tokens if meter.unit == "tokens" else usd)

    async def report(self, by: CostBy, *, first_day: str, last_day: str) -> tuple[CostRow, ...]:
        """Return what was spent on those days, the most expensive first."""
        rows = await self._engine.reads.rows(_SQL["report"], by, first_day, last_day)
        return tuple(
            CostRow(
                name=row[0],
                calls=row[1],
                cached_calls=row[2],
                tokens_in=row[3],
                tokens_out=row[4],
                cached_in=row[5],
                reasoning_out=row[6],
                cost_usd=row[7],
                unpriced_tokens=row[8],
                assumed_usd=row[9],
            )
            for row in rows
        )

    async def kill_switch(self) -> KillSwitch:
        """Return the state of the kill switch."""
        if self._switch is not None:
            return self._switch
        stamp = self._engine.feed.stamp
        row = await self._engine.reads.row(_SQL["kill_switch"])
        switch = KillSwitch(is_on=False) if row is None else _decode_switch(row[0])
        if stamp == self._engine.feed.stamp:
            self._switch = switch
        return switch

    async def set_kill_switch(self, switch: KillSwitch) -> None:
        """Turn the kill switch on or off."""

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["set_kill_switch"], encode(switch))
            self._engine.feed.put(tx, "kill_switch")

        after = self._engine.feed.telling("kill_switch")
        await self._engine.writer.run("set_kill_switch", unit, after=after)

    def _forget(self) -> None:
        self._switch = None

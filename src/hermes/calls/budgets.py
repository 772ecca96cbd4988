"""Spending limits: an amount is held before a call and settled to what the call really cost.

If the counters are down, the platform's own cap fails open and all others fail closed; the kill
switch never fails open. A call counts on the day of its hold.
"""

from collections.abc import Awaitable, Callable

import msgspec
import structlog

from hermes.calls.costs import Cost
from hermes.calls.days import Calendar
from hermes.calls.shares import ShareHolder
from hermes.config import BudgetSettings
from hermes.errors import CounterDown, ModelsStopped, OverBudget, Overloaded, StoreError
from hermes.ports.clock import Clock
from hermes.ports.keys import CallerKey
from hermes.ports.shares import way_of_key
from hermes.ports.spend import Account, KillSwitch, Meter, MeterClaim, SpendCounters, Unit

_log = structlog.get_logger(__name__)
_STOPPED_S = 60.0
_COUNTERS_S = 5.0


class Payer(msgspec.Struct, frozen=True, kw_only=True):
    """Who pays for a call, with their limits."""

    account: Account
    tier: str | None = None
    key: CallerKey | None = None
    # What the calls of the account's agent may cost per day.
    agent_day_usd: float | None = None

    @property
    def asker(self) -> ShareHolder:
        """Who asks, if the call names nobody: the key, or the person on their channel."""
        account = self.account
        if account.key:
            return ShareHolder(way_of_key(account.key), account.key)
        return ShareHolder(account.channel, account.person_id)


class BudgetHold(msgspec.Struct, frozen=True, kw_only=True):
    """The amount held for one call."""

    day: str
    claims: tuple[MeterClaim, ...] = ()


class Budgets:
    """Holds, settles and releases amounts."""

    def __init__(
        self,
        counter: SpendCounters,
        *,
        settings: BudgetSettings,
        switch: Callable[[], Awaitable[KillSwitch]],
        calendar: Calendar,
        clock: Clock,
    ) -> None:
        self._counter = counter
        self._settings = settings
        self._switch = switch
        self._calendar = calendar
        self._clock = clock

    async def hold(self, payer: Payer, ahead: Cost) -> BudgetHold:
        """Hold an amount; raises `OverBudget` or `ModelsStopped`, and then nothing is held."""
        await self.check_switch()
        at = self._clock.now()
        day = self._calendar.day(at)
        claims = self._claims(payer, ahead, day=day)
        if not claims:
            return BudgetHold(day=day)
        try:
            refused = await self._counter.take(claims)
        except CounterDown as error:
            return _without_counters(claims, error, day=day)
        if refused is not None:
            (used,) = await self._counter.read((refused.meter,))
            if refused.meter.whose == "platform":
                _log.warning("platform_budget_spent", used_usd=used, cap_usd=refused.cap, day=day)
            raise self._over(refused, used=used, at=at)
        return BudgetHold(day=day, claims=claims)

    def day(self, at: float | None = None) -> str:
        """Return the day of an instant, or today, in the ledger's format."""
        return self._calendar.day(self._clock.now() if at is None else at)

    async def settle(self, hold: BudgetHold, cost: Cost) -> None:
        """Replace the held amount by what the call cost."""
        await self._correct(hold, tokens=cost.tokens, usd=cost.counted_usd)

    async def release(self, hold: BudgetHold) -> None:
        """Release the whole amount: the call cost nothing."""
        await self._correct(hold, tokens=0, usd=0.0)

    async def waive(self, hold: BudgetHold, cost: Cost) -> None:
        """Take a settled call off the limits of the person and of the key: the platform pays."""
        theirs = tuple(one for one in hold.claims if one.meter.whose in ("person", "key"))
        # What a claim was held for is replaced: by nothing, where its whole cost is counted now.
        counted = tuple(
            msgspec.structs.replace(
                one, amount=cost.tokens if one.meter.unit == "tokens" else cost.counted_usd
            )
            for one in theirs
        )
        await self.release(BudgetHold(day=hold.day, claims=counted))

    async def check_switch(self) -> None:
        """Raise `ModelsStopped` if the kill switch is on or cannot be read."""
        try:
            switch = await self._switch()
        except StoreError as error:
            raise ModelsStopped(
                "model calls are stopped: the kill switch cannot be read", _STOPPED_S
            ) from error
        if switch.is_on:
            why = f" ({switch.reason})" if switch.reason else ""
            raise ModelsStopped(
                f"the operator has stopped all model calls{why}; `hermes kill-switch off` "
                "releases them",
                _STOPPED_S,
            )

    async def _correct(self, hold: BudgetHold, *, tokens: int, usd: float) -> None:
        if not hold.claims:
            return
        changes = {
            claim.meter: (tokens if claim.meter.unit == "tokens" else usd) - claim.amount
            for claim in hold.claims
        }
        try:
            await self._counter.add(changes)
        except CounterDown as error:
            _log.warning("counters_down", problem=str(error))

    def _claims(self, payer: Payer, ahead: Cost, *, day: str) -> tuple[MeterClaim, ...]:
        settings, account = self._settings, payer.account
        tokens, usd = float(ahead.tokens), ahead.counted_usd
        claims: list[MeterClaim] = []
        if settings.platform_day_usd is not None:
            claims.append(
                MeterClaim(Meter("platform", "", "usd", day), usd, settings.platform_day_usd)
            )
        most = settings.person_day_tokens.get(payer.tier or "") if settings.by_tier else None
        if most is not None:
            claims.append(
                MeterClaim(Meter("person", account.person_id, "tokens", day), tokens, most)
            )
        if settings.person_month_usd is not None:
            meter = Meter("person", account.person_id, "usd", day[:7])
            claims.append(MeterClaim(meter, usd, settings.person_month_usd))
        if payer.agent_day_usd is not None:
            meter = Meter("agent", account.agent, "usd", day)
            claims.append(MeterClaim(meter, usd, payer.agent_day_usd))
        if payer.key is not None:
            claims.extend(_claims_of_key(payer.key, ahead, day=day))
        return tuple(claims)

    def _over(self, claim: MeterClaim, *, used: float, at: float) -> OverBudget:
        meter = claim.meter
        limit = f"{meter.whose} {meter.name}".strip()
        per = {0: "in all", 7: "this month", 10: "today"}[len(meter.period)]
        room = _amount(claim.cap, meter.unit)
        wait = self._calendar.to_next_day(at)
        if len(meter.period) == 7:
            wait = self._calendar.to_next_month(at)
        return OverBudget(
            f"the budget of {limit} has no room for this call: it may take "
            f"{_amount(claim.amount, meter.unit)}, and {_amount(used, meter.unit)} of {room} "
            f"are used {per}; ask for fewer tokens, or come back when it renews",
            wait,
            limit=f"{limit}: {room} {per}",
        )


def _amount(value: float, unit: Unit) -> str:
    if unit == "tokens":
        return f"{value:,.0f} tokens"
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.2g}"


def _claims_of_key(key: CallerKey, ahead: Cost, *, day: str) -> list[MeterClaim]:
    period = {"day": day, "month": day[:7], "total": ""}[key.budget_period]
    claims = []
    if key.budget_usd is not None:
        meter = Meter("key", key.id, "usd", period)
        claims.append(MeterClaim(meter, ahead.counted_usd, key.budget_usd))
    if key.budget_tokens is not None:
        meter = Meter("key", key.id, "tokens", period)
        claims.append(MeterClaim(meter, float(ahead.tokens), float(key.budget_tokens)))
    return claims


def _without_counters(
    claims: tuple[MeterClaim, ...], error: CounterDown, *, day: str
) -> BudgetHold:
    """Without counters, let a call through only if just the platform's cap limits it."""
    closed = next((claim for claim in claims if claim.meter.whose != "platform"), None)
    if closed is not None:
        raise Overloaded(
            f"the budget of this {closed.meter.whose} cannot be checked right now; try again soon",
            _COUNTERS_S,
        ) from error
    _log.warning("platform_cap_not_checked", problem=str(error))
    return BudgetHold(day=day)

"""The cost of one try: held before it, settled by what it used, however it ends."""

from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType

import msgspec

from hermes.calls.budgets import Budgets, Payer
from hermes.calls.costs import Cost, Costs
from hermes.calls.events import Piece
from hermes.calls.token_estimate import input_tokens
from hermes.errors import ProviderError, is_unsent
from hermes.message.reply import Usage
from hermes.ports.pricing import estimated
from hermes.ports.provider import CallEnd, ModelName, ModelRequest, ProviderInfo, ToolCallDelta
from hermes.ports.spend import Account, SpendEntry
from hermes.routing.plan import Candidate

Waive = Callable[[], Awaitable[None]]


def never() -> bool:
    """Say of a call that Hermes does not leave it."""
    return False


class SpendLog:
    """What a call has used so far, for the ledger: one line for each try that reached a model."""

    def __init__(self) -> None:
        self._spent: list[SpendEntry] = []
        self._waives: list[Waive] = []

    def add(self, spent: SpendEntry, *, waive: Waive | None = None) -> None:
        """Record one try; `waive` takes it off the limits of who asked."""
        self._spent.append(spent)
        if waive is not None:
            self._waives.append(waive)

    def take(self) -> tuple[SpendEntry, ...]:
        """Return and forget what was recorded since the last call."""
        spent, self._spent = tuple(self._spent), []
        self._waives.clear()
        return spent

    async def waive(self, platform: Account) -> tuple[SpendEntry, ...]:
        """Like `take`, but the platform pays: it counts against no limit of who asked."""
        waives = tuple(self._waives)
        spent = self.take()
        for waive in waives:
            await waive()
        return tuple(msgspec.structs.replace(entry, account=platform) for entry in spent)


class Pricing:
    """Budgets and prices, used by every charge."""

    def __init__(self, budgets: Budgets, costs: Costs) -> None:
        self.budgets = budgets
        self.costs = costs


class CallCharge:
    """`async with` holds an amount for a try and settles it; raises `OverBudget` first.

    `is_given_up` tells whether the call is left by Hermes itself, to ask again with more, or by a
    person who stops it in a chat.
    """

    def __init__(
        self,
        pricing: Pricing,
        payer: Payer,
        *,
        info: ProviderInfo,
        candidate: Candidate,
        request: ModelRequest,
        receipt: SpendLog,
        is_given_up: Callable[[], bool] = never,
    ) -> None:
        self._pricing = pricing
        self._payer = payer
        self._info = info
        self._candidate = candidate
        self._request = request
        self._receipt = receipt
        self._is_given_up = is_given_up
        self._heard = 0
        self._is_sent = False
        self._is_paid = False

    async def __aenter__(self) -> "CallCharge":
        self._ahead = self._pricing.costs.ahead(self._info, self._request)
        self._hold = await self._pricing.budgets.hold(self._payer, self._ahead)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_paid:
            return
        cost = self._cost_without_end(error)
        if cost is None:
            await self._pricing.budgets.release(self._hold)
        else:
            await self._settle(cost)

    def _cost_without_end(self, error: BaseException | None) -> Cost | None:
        """Return the cost of a try without an end, or None if the service charged nothing.

        A caller who leaves while the model is silent pays the held amount, because what the model
        did is unknown. A call that is given up costs its input: nothing was written.
        """
        if not self._is_sent or is_unsent(error):
            return None
        if self._heard:
            return self._estimate(estimated(self._heard))
        if isinstance(error, ProviderError):
            return self._estimate(0) if error.was_sent else None
        return self._estimate(0) if self._is_given_up() else self._ahead

    def _estimate(self, written: int) -> Cost:
        usage = Usage(input_tokens(self._request), written)
        return self._pricing.costs.of(self._info, self._candidate.model, usage)

    def send(self) -> None:
        """Record that the request is sent now: from here on it may cost something."""
        self._is_sent = True

    def hear(self, piece: Piece | ModelName) -> None:
        """Count output for which the service may never report the usage."""
        if isinstance(piece, ModelName):
            return
        self._heard += len(piece.arguments if isinstance(piece, ToolCallDelta) else piece.text)

    @property
    def heard(self) -> int:
        """How many characters of output have arrived."""
        return self._heard

    async def pay(self, end: CallEnd) -> CallEnd:
        """Settle to the usage that the service reported; return the end with its cost."""
        cost = self._pricing.costs.of(
            self._info, self._candidate.model, end.usage, said_model=end.model
        )
        await self._settle(cost)
        return msgspec.structs.replace(end, usage=cost.usage)

    async def _settle(self, cost: Cost) -> None:
        self._is_paid = True
        # The ledger comes first: counters that miss an update are read from it again.
        self._receipt.add(
            SpendEntry(
                day=self._hold.day,
                account=self._payer.account,
                model=f"{self._candidate.provider}:{self._candidate.model}",
                usage=cost.usage,
                assumed_usd=cost.assumed_usd,
            ),
            waive=partial(self._pricing.budgets.waive, self._hold, cost),
        )
        await self._pricing.budgets.settle(self._hold, cost)

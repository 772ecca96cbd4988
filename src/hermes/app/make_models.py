"""The model layer of a gateway: planner, calls and ledger, connected to each other."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from hermes.calls.budgets import Budgets
from hermes.calls.call_charge import Pricing
from hermes.calls.capacity import CallLimit
from hermes.calls.context_sizes import ContextSizes
from hermes.calls.costs import Costs
from hermes.calls.counter import LedgerCounter
from hermes.calls.days import Calendar
from hermes.calls.embedder import Embeddings
from hermes.calls.ledger import CallLedger
from hermes.calls.memory import AnswerMemory
from hermes.calls.model_caller import CallTimes, ModelCaller
from hermes.calls.planner import Planner
from hermes.config import Settings
from hermes.control.model_swap import ModelSwaps
from hermes.ports.clock import Clock
from hermes.ports.observer import CallMeter
from hermes.ports.provider import Provider
from hermes.ports.spend import SpendCounters
from hermes.ports.store import Store
from hermes.routing.plan import Candidate
from hermes.routing.policy import policy_of


class ModelLayer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything between a request for a model call and the providers."""

    planner: Planner
    swaps: ModelSwaps
    calls: ModelCaller
    embeddings: Embeddings
    budgets: Budgets
    memory: AnswerMemory
    ledger: CallLedger
    calendar: Calendar


def make_model_layer(
    store: Store,
    settings: Settings,
    *,
    providers: Mapping[str, Provider],
    clock: Clock,
    counter: SpendCounters | None = None,
    meter: CallMeter | None = None,
) -> ModelLayer:
    """Return the model layer; without a counter, spending is counted in this process."""
    calendar = Calendar(settings.time_zone)
    budgets = Budgets(
        counter or LedgerCounter(store.spend.total),
        settings=settings.budgets,
        agents=settings.agents,
        switch=store.spend.kill_switch,
        calendar=calendar,
        clock=clock,
    )
    memory = AnswerMemory(store, settings=settings.cache, clock=clock)
    turns = settings.turns
    limit = CallLimit(
        turns.max_concurrent_calls, wait_s=turns.call_wait_s, each=turns.max_calls_each
    )
    pricing = Pricing(budgets, Costs(settings.providers, settings=settings.budgets))
    calls = ModelCaller(
        providers,
        limit=limit,
        pricing=pricing,
        memory=memory,
        times=CallTimes(silence_s=turns.output_timeout_s, limit_s=turns.call_limit_s),
        caps=_caps(settings),
        contexts=ContextSizes(providers, settings.providers),
        continues=settings.routing.continue_on_failure,
        sleep=asyncio.sleep,
        meter=meter,
        clock=clock,
    )
    planner = Planner(providers, policy=policy_of(settings))
    return ModelLayer(
        planner=planner,
        swaps=ModelSwaps(
            store.model_swap, planner, configured=settings.models.default, clock=clock
        ),
        calls=calls,
        embeddings=Embeddings(
            providers, limit=limit, pricing=pricing, limit_s=turns.output_timeout_s
        ),
        budgets=budgets,
        memory=memory,
        ledger=CallLedger(store.spend, lag_s=settings.v1.ledger_lag_s),
        calendar=calendar,
    )


def _caps(settings: Settings) -> Callable[[Candidate], int | None]:
    """Return a candidate's output limit: by its model's name, or by its provider's setting."""
    routing = settings.routing
    by_model: dict[str, int] = {}
    for name, most in routing.output_caps.items():
        by_model[routing.models.get(name, name).rpartition(":")[2]] = most

    def cap(candidate: Candidate) -> int | None:
        own = by_model.get(candidate.model)
        table = settings.providers.get(candidate.provider)
        return own or (None if table is None else table.max_output_tokens)

    return cap

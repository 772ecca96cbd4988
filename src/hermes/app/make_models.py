"""The model layer of a gateway: planner, calls and ledger, connected to each other."""

import asyncio
import random
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from hermes.agents.secret_mask import SecretMask
from hermes.calls.budgets import Budgets
from hermes.calls.call_charge import Pricing
from hermes.calls.capacity import CallLimit
from hermes.calls.circuits import MemoryCircuits
from hermes.calls.context_sizes import ContextSizes
from hermes.calls.costs import Costs
from hermes.calls.counter import LedgerCounter
from hermes.calls.days import Calendar
from hermes.calls.deployments import Deployments, Draw
from hermes.calls.embedder import Embeddings
from hermes.calls.ledger import CallLedger
from hermes.calls.memory import AnswerMemory
from hermes.calls.model_caller import ModelCaller
from hermes.calls.planner import Planner
from hermes.calls.sampling import Sampling
from hermes.calls.stream_timeout import CallTimes
from hermes.config import Settings, TurnSettings
from hermes.control.model_swap import ModelSwaps
from hermes.ports.circuits import CircuitStates
from hermes.ports.clock import Clock
from hermes.ports.media import LocatePicture
from hermes.ports.observer import CallMeter
from hermes.ports.provider import Provider
from hermes.ports.spend import SpendCounters
from hermes.ports.store import Store
from hermes.routing.model_facts import ModelFacts
from hermes.routing.plan import Candidate
from hermes.routing.policy import policy_of


class ModelLayer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything between a request for a model call and the providers."""

    planner: Planner
    facts: ModelFacts
    deployments: Deployments
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
    facts: ModelFacts | None = None,
    circuits: CircuitStates | None = None,
    draw: Draw = random.random,
    locate: LocatePicture | None = None,
    mask: SecretMask | None = None,
) -> ModelLayer:
    """Return the model layer; without a counter, spending is counted in this process.

    So are the failures of model services without `circuits`. `draw` returns random numbers.
    `mask` masks secrets in answers.
    """
    calendar = Calendar(settings.time_zone)
    budgets = Budgets(
        counter or LedgerCounter(store.spend.total),
        settings=settings.budgets,
        switch=store.spend.kill_switch,
        calendar=calendar,
        clock=clock,
    )
    memory = AnswerMemory(store, settings=settings.cache, clock=clock)
    limit = _call_limit(settings.turns)
    facts = facts or ModelFacts(settings.providers)
    pricing = Pricing(budgets, Costs(facts, settings=settings.budgets))
    deployments = _deployments(
        providers, settings, states=circuits or MemoryCircuits(), clock=clock, draw=draw
    )
    calls = ModelCaller(
        providers,
        limit=limit,
        pricing=pricing,
        memory=memory,
        times=_times(settings),
        sampling=_sampling(settings),
        contexts=ContextSizes(providers, facts),
        continues=settings.routing.continue_on_failure,
        deployments=deployments,
        retry_wait=retry_wait(settings.routing.retry_s, draw),
        sleep=asyncio.sleep,
        meter=meter,
        clock=clock,
        locate=locate,
        mask=mask,
    )
    planner = Planner(providers, policy=policy_of(settings, facts), cooling=deployments.cooling)
    return ModelLayer(
        planner=planner,
        facts=facts,
        deployments=deployments,
        swaps=ModelSwaps(
            store.model_swap, planner, configured=settings.models.default, clock=clock
        ),
        calls=calls,
        embeddings=Embeddings(
            providers, limit=limit, pricing=pricing, limit_s=settings.turns.output_timeout_s
        ),
        budgets=budgets,
        memory=memory,
        ledger=CallLedger(store.spend, lag_s=settings.v1.ledger_lag_s),
        calendar=calendar,
    )


def _call_limit(turns: TurnSettings) -> CallLimit:
    return CallLimit(
        turns.max_concurrent_calls, wait_s=turns.call_wait_s, each=turns.max_calls_each
    )


def _times(settings: Settings) -> CallTimes:
    turns, hedge_s = settings.turns, settings.routing.hedge_after_s
    return CallTimes(
        silence_s=turns.output_timeout_s,
        limit_s=turns.call_limit_s,
        hedge_s=hedge_s,
        max_chars=turns.max_answer_chars,
    )


def _deployments(
    providers: Mapping[str, Provider],
    settings: Settings,
    *,
    states: CircuitStates,
    clock: Clock,
    draw: Draw,
) -> Deployments:
    return Deployments(
        providers,
        states=states,
        rules=settings.routing.breaker,
        trial_s=settings.turns.output_timeout_s,
        clock=clock,
        draw=draw,
    )


def retry_wait(retry_s: float, draw: Draw) -> Callable[[], float] | None:
    """Return how long the one retry of a call waits: half to one and a half of the setting."""
    return (lambda: retry_s * (0.5 + draw())) if retry_s else None


def _sampling(settings: Settings) -> Callable[[Candidate], Sampling]:
    """Return what the settings put into a call of a candidate that leaves it open."""
    routing = settings.routing
    by_model: dict[str, int] = {}
    for name, most in routing.output_caps.items():
        by_model[routing.models.get(name, name).rpartition(":")[2]] = most

    @lru_cache(maxsize=256)
    def of_model(provider: str, model: str) -> Sampling:
        table = settings.providers.get(provider)
        most = by_model.get(model)
        if table is None:
            return Sampling(max_output_tokens=most)
        served = table.models.get(model)
        own = None if served is None else served.max_output_tokens
        return Sampling(
            max_output_tokens=most or own or table.max_output_tokens,
            temperature=table.temperature,
            top_p=table.top_p,
            stop=table.stop,
            seed=table.seed,
            reasoning=table.reasoning,
        )

    return lambda candidate: of_model(candidate.provider, candidate.model)

"""The memory of a gateway: facts, souls and recall, connected to the store and the embedder."""

import asyncio
from collections.abc import Mapping
from typing import cast

import msgspec

from hermes.app.make_models import ModelLayer
from hermes.calls.budgets import Payer
from hermes.calls.call_charge import SpendLog
from hermes.config import MemorySettings, Settings
from hermes.memory.fact_vectors import TextEmbedder, Vectors
from hermes.memory.facts import PeoplesFacts
from hermes.memory.recall import Recall
from hermes.memory.sanitiser import TextLimits
from hermes.memory.soul_cache import MemorySouls, SoulCache
from hermes.memory.structural import FactKeys
from hermes.message.ids import MakeId
from hermes.message.trivial import is_trivial
from hermes.ports.clock import Clock
from hermes.ports.provider import Embedder, Provider, ProviderInfo
from hermes.ports.spend import PLATFORM, Account, CallLine
from hermes.ports.store import Store
from hermes.routing.plan import Candidate, Plan
from hermes.schedule.job_services import JobServices
from hermes.schedule.jobs import LOOK_S, JobWorker

_CHANNEL = "recall"
# Of models with layers, which place every text a little near every other.
_LEAST = 0.15
_SHORTEST_LOOK_S = 0.05


class MemoryLayer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about people, and how a turn gets it."""

    souls: SoulCache
    facts: PeoplesFacts
    recall: Recall
    worker: JobWorker


class LocalTextEmbedder:
    """Fits `memory.fact_vectors.TextEmbedder`: a local embedder, which costs nothing and calls no service.

    It has its own queue and takes no slot of a model call: recall must not wait for answers.
    """

    least = _LEAST

    def __init__(self, embedder: Embedder, info: ProviderInfo) -> None:
        self._embedder = embedder
        self._name = info.model
        self.model = f"{info.name}:{info.model}"

    async def __call__(self, texts: tuple[str, ...]) -> Vectors:
        """Return a vector for each text."""
        return (await self._embedder.embed(texts, model=self._name)).vectors


class PlatformTextEmbedder:
    """Fits `memory.fact_vectors.TextEmbedder`: a provider whose calls the platform pays for."""

    least = _LEAST

    def __init__(
        self, provider: Provider, models: ModelLayer, *, clock: Clock, make_id: MakeId
    ) -> None:
        info = provider.info
        self._models = models
        self._clock = clock
        self._make_id = make_id
        self._plan = Plan((Candidate(info.name, info.model, "recall"),))
        self._is_free = info.local
        self.model = f"{info.name}:{info.model}"

    async def __call__(self, texts: tuple[str, ...]) -> Vectors:
        """Return a vector for each text."""
        receipt = SpendLog()
        payer = Payer(account=Account(person_id=PLATFORM, channel=_CHANNEL))
        try:
            made = await self._models.embeddings.run(
                texts, self._plan, payer=payer, receipt=receipt, tell=lambda _: None
            )
        finally:
            spent = receipt.take()
            if spent and not self._is_free:
                line = CallLine(
                    id=self._make_id("c"), at=self._clock.now(), data={"model": self.model}
                )
                self._models.ledger.note(spent, line)
        return made.vectors


def _souls(store: Store, memory: MemorySettings, *, keys: FactKeys, clock: Clock) -> SoulCache:
    return SoulCache(
        store.facts,
        MemorySouls(clock),
        sleep=asyncio.sleep,
        ttl_s=memory.soul_cache_s,
        pauses_s=memory.soul_retries_s,
        keys=keys,
    )


def make_memory_layer(
    store: Store,
    settings: Settings,
    *,
    models: ModelLayer,
    providers: Mapping[str, Provider],
    own_embedder: TextEmbedder | None,
    clock: Clock,
    make_id: MakeId,
) -> MemoryLayer:
    """Return the memory layer; recall is off if nothing makes embeddings.

    `own_embedder` makes the vectors of recall; without one a provider does.
    """
    memory = settings.memory
    keys = FactKeys(memory.facts)
    souls = _souls(store, memory, keys=keys, clock=clock)
    provider = _embedder(settings.memory, providers)
    embed: TextEmbedder | None = None
    if own_embedder is not None:
        embed = own_embedder
    elif provider is not None and provider.info.local and not provider.info.chat:
        # `_embedder` only returns providers that can embed; both are protocols, and no type says
        # so.
        embed = LocalTextEmbedder(cast("Embedder", provider), provider.info)
    elif provider is not None:
        embed = PlatformTextEmbedder(provider, models, clock=clock, make_id=make_id)
    facts = PeoplesFacts(
        store.facts,
        souls=souls,
        clock=clock,
        make_id=make_id,
        limits=TextLimits(memory.value_chars, memory.key_chars),
        keys=keys,
    )
    return MemoryLayer(
        souls=souls,
        facts=facts,
        recall=Recall(
            store.facts,
            store.vectors,
            settings=settings.memory,
            embed=embed,
            is_trivial=is_trivial,
        ),
        worker=JobWorker(
            JobServices(
                jobs=store.jobs,
                dreams=store.dreams,
                compactions=store.compactions,
                facts=facts,
                planner=models.planner,
                calls=models.calls,
                settings=settings,
                clock=clock,
                make_id=make_id,
            ),
            every_s=min(LOOK_S, max(_SHORTEST_LOOK_S, settings.memory.extract_pause_s)),
        ),
    )


def _embedder(settings: MemorySettings, providers: Mapping[str, Provider]) -> Provider | None:
    """Return the embedder: the configured one, or a local one, which costs nothing.

    Dedicated embedders come first: a chat model's vectors find little.
    """
    able = {
        name: one
        for name, one in providers.items()
        if one.info.embeddings and isinstance(one, Embedder)
    }
    if settings.embedder is not None:
        return able.get(settings.embedder)
    local = [one for one in able.values() if one.info.local]
    return min(local, key=lambda one: one.info.chat, default=None)

"""`hermes models refresh`: asks the services for their own lists of models, and keeps them.

What a service lists counts from the next call on, for sizes, prices and names; `ModelFacts` holds it.
A service that does not answer keeps the list that it gave before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog

from hermes.errors import NotFound, ProviderError
from hermes.ports.clock import Clock
from hermes.ports.model_lists import ModelLister, ServiceList
from hermes.ports.provider import Provider
from hermes.routing.model_facts import ModelFacts
from hermes.routing.prices import price_list

_log = structlog.get_logger(__name__)
_NO_LIST = "it has no list of its models"
# Keeps the lists over restarts.
Keep = Callable[[Mapping[str, ServiceList]], Awaitable[None]]


class RefreshOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The providers to ask; none names all that have a list and can be called now."""

    providers: tuple[str, ...] = ()
    by: str = ""


class RefreshedService(msgspec.Struct, frozen=True, kw_only=True):
    """What one provider's service said of its models, or the `problem` that kept it from that.

    `sized` and `priced` are how many of its `models` it gave a context size and a price for; `added`
    and `removed` compare with the list before. `at` is when the list in use was made.
    """

    provider: str
    models: int = 0
    sized: int = 0
    priced: int = 0
    added: int = 0
    removed: int = 0
    at: float | None = None
    problem: str | None = None


class RefreshReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every service that was asked; for other models the shipped list of `prices_date` counts."""

    services: tuple[RefreshedService, ...]
    prices_date: str


class ModelRefresh:
    """Asks services for their lists of models."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        facts: ModelFacts,
        keep: Keep,
        clock: Clock,
    ) -> None:
        self._providers = providers
        self._facts = facts
        self._keep = keep
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def run(self, order: RefreshOrder) -> RefreshReport:
        """Ask the services, use and keep their lists, and return what changed."""
        unknown = [name for name in order.providers if name not in self._providers]
        if unknown:
            known = ", ".join(self._providers)
            raise NotFound(f"There is no provider {unknown[0][:80]!r}; known are: {known}.")
        async with self._one_at_a_time:
            names = order.providers or await self._askable()
            found = await asyncio.gather(*(self._ask(name) for name in names))
            before = dict(self._facts.lists)
            asked = list(zip(names, found, strict=True))
            fresh = {name: one for name, one in asked if isinstance(one, ServiceList)}
            lists = {**before, **fresh}
            if fresh:
                await self._keep(lists)
                self._facts.refresh(lists)
        services = [_told(name, one, before=before.get(name)) for name, one in asked]
        _log.info("models_refreshed", services=len(fresh), by=order.by)
        return RefreshReport(services=tuple(services), prices_date=price_list().date.isoformat())

    async def _askable(self) -> tuple[str, ...]:
        return tuple(
            [
                name
                for name, one in self._providers.items()
                if isinstance(one, ModelLister) and await one.available()
            ]
        )

    async def _ask(self, name: str) -> ServiceList | str:
        """Return a provider's list, or why there is none."""
        provider = self._providers[name]
        if not isinstance(provider, ModelLister):
            return _NO_LIST
        try:
            models = await provider.list_models()
        except ProviderError as error:
            return str(error)
        address = self._facts.address_of(name)
        return ServiceList(at=self._clock.now(), address=address, models=models)


def _told(name: str, found: ServiceList | str, *, before: ServiceList | None) -> RefreshedService:
    old = {} if before is None else before.models
    if isinstance(found, str):
        return RefreshedService(
            provider=name,
            models=len(old),
            at=None if before is None else before.at,
            problem=found,
        )
    models = found.models
    return RefreshedService(
        provider=name,
        models=len(models),
        sized=sum(one.context is not None for one in models.values()),
        priced=sum(one.price_in is not None for one in models.values()),
        added=len(models.keys() - old.keys()),
        removed=len(old.keys() - models.keys()),
        at=found.at,
    )

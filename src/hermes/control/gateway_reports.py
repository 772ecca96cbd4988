"""What operators ask of a running gateway: its state, its models and routes.

The parts of the gateway are handed in; nothing here changes anything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from hermes.calls.deployments import Deployments, DeploymentState
from hermes.calls.planner import Planner, ask_provider
from hermes.config import MemorySettings, Settings
from hermes.control.models import ModelsReport, RouteReport, models_report, route_report
from hermes.control.status import (
    LiveStatus,
    MemoryStatus,
    ProviderStatus,
    StatusReport,
    live_status,
)
from hermes.memory.recall import Recall
from hermes.ports.clock import Clock
from hermes.ports.provider import Provider
from hermes.ports.store import Store
from hermes.routing.plan import CallNeeds, ProviderOffer

_log = structlog.get_logger(__name__)


async def ask_all(providers: Mapping[str, Provider]) -> list[ProviderOffer]:
    """Ask every provider at once what it offers, in their order."""
    return list(await asyncio.gather(*(ask_provider(one) for one in providers.values())))


async def provider_states(
    providers: Mapping[str, Provider], resting: Sequence[DeploymentState] = ()
) -> tuple[ProviderStatus, ...]:
    """Return the state of every provider, in their order; `resting` are left alone now."""
    return tuple(
        [
            ProviderStatus(
                name=one.info.name,
                model=one.info.model,
                available=await one.available(),
                demonstration=one.info.demonstration,
                note=_resting_note(one.info.name, resting),
            )
            for one in providers.values()
        ]
    )


def _resting_note(provider: str, resting: Sequence[DeploymentState]) -> str | None:
    own = [f"{one.model}: {one.words}" for one in resting if one.provider == provider]
    return "; ".join(own) or None


def memory_status(recall: Recall, settings: MemorySettings, *, parked_jobs: int) -> MemoryStatus:
    """Return whether facts are recalled and learnt."""
    return MemoryStatus(
        recall=recall.problem or "on",
        learning="on" if settings.extract else "off (memory.extract)",
        dreams="on" if settings.dream else "off (memory.dream)",
        recalled=recall.counts["semantic_recall_used"],
        skipped_trivial=recall.counts["semantic_recall_skipped_trivial"],
        parked_jobs=parked_jobs,
    )


class ModelReports:
    """Reports on the models of a running gateway."""

    def __init__(
        self,
        settings: Settings,
        *,
        providers: Mapping[str, Provider],
        planner: Planner,
        deployments: Deployments,
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._planner = planner
        self._deployments = deployments

    async def models(self) -> ModelsReport:
        """Return every model service with what it can do, and whether it can be called now."""
        return models_report(
            self._settings,
            await self._planner.offers(),
            self._planner.policy.facts,
            resting=self._deployments.resting(),
        )

    async def route(self, ask: CallNeeds) -> RouteReport:
        """Return the plan that a call would get now, with its reasons."""
        return route_report(
            ask,
            await self._planner.offers(ask.agent),
            settings=self._as_swapped(),
            facts=self._planner.policy.facts,
        )

    async def who_answers(self) -> tuple[str, bool]:
        """Return the model that would answer now, and whether it is the demonstration model."""
        report = await self.route(CallNeeds())
        if not report.candidates:
            _log.error("no_model", problem=report.problem)
            return "none", False
        first = report.candidates[0]
        return f"{first.provider}:{first.model}", self._providers[first.provider].info.demonstration

    def _as_swapped(self) -> Settings:
        """Return the settings with the default model that an operator chose, if one did."""
        if self._planner.default_model is None:
            return self._settings
        models = self._settings.models.model_copy(update={"default": self._planner.default_model})
        return self._settings.model_copy(update={"models": models})


class GatewayReports:
    """Reports on a running gateway; `live` reads what only the process knows."""

    def __init__(
        self,
        store: Store,
        *,
        home: str,
        live: Callable[[], Awaitable[LiveStatus]],
        clock: Clock,
    ) -> None:
        self._store = store
        self._home = home
        self._live = live
        self._clock = clock

    async def status(self, *, counts: bool = True) -> StatusReport:
        """Return the state of this gateway; without `counts`, which read the whole outbox."""
        live, now = await self._live(), self._clock.now()
        return await live_status(self._store, live, home=self._home, now=now, counts=counts)

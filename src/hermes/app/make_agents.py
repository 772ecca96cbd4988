"""The agents of a home: the roster, the check of their models, and the functions for orders about them."""

from collections.abc import Collection, Mapping

from hermes.agents.roster import Roster, adapter_agent
from hermes.app.make_models import ModelLayer
from hermes.config import AgentSettings, Settings
from hermes.control.agents import AgentOperations, CheckModel, ReadCard
from hermes.errors import BadRequest, ConfigurationError, NotFound, ProviderError
from hermes.message.ids import MakeId
from hermes.ports.adapter import NATIVE, Adapter
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.routing.plan import CallNeeds


def make_roster(store: Store, settings: Settings) -> Roster:
    """Return the agents of a home: those of its settings, and those of its store."""
    return Roster(
        settings.agents,
        default=settings.default_agent,
        rules=settings.agent_rules,
        channels=settings.channels,
        stored=store.agents,
    )


def make_check(
    models: ModelLayer, settings: Settings, *, adapters: Mapping[str, Adapter]
) -> CheckModel:
    """Return what asks whether the model, or the adapter, of an agent could be called now."""
    planner = models.planner

    async def problem(key: str, agent: AgentSettings) -> str:
        if agent.runtime != NATIVE:
            return await adapter_problem(adapters, key, agent)
        default = agent.model or planner.default_model or settings.models.default
        try:
            await planner.plan(CallNeeds(default_model=default, tier=agent.tier, agent=key))
        except (NotFound, BadRequest, ProviderError) as error:
            return str(error)
        return ""

    return problem


def check_runtimes(settings: Settings, adapters: Mapping[str, Adapter]) -> None:
    """Raise `ConfigurationError` if an agent of config.yaml has an adapter that is not here."""
    for name, agent in settings.agents.items():
        if agent.runtime != NATIVE and agent.runtime not in adapters:
            known = ", ".join((NATIVE, *adapters))
            raise ConfigurationError(
                f"agents.{name}.runtime: there is no adapter {agent.runtime!r}; expected one of "
                f"{known}, or configure it under `adapters`"
            )


async def adapter_problem(adapters: Mapping[str, Adapter], key: str, agent: AgentSettings) -> str:
    """Return why the adapter of an agent cannot be called now; empty if it can."""
    adapter = adapters.get(agent.runtime)
    if adapter is None:
        return f"the adapter {agent.runtime!r} is not configured: see `adapters` in config.yaml"
    return await adapter.health_check(adapter_agent(key, agent))


def make_agent_operations(
    store: Store,
    settings: Settings,
    *,
    clock: Clock,
    make_id: MakeId,
    check: CheckModel | None = None,
    runtimes: Collection[str] = (NATIVE,),
    read_card: ReadCard | None = None,
) -> AgentOperations:
    """Return the functions for operators' orders about agents."""
    return AgentOperations(
        store.agents,
        make_roster(store, settings),
        settings,
        clock=clock,
        make_id=make_id,
        check=check,
        runtimes=runtimes,
        read_card=read_card,
    )

"""Builds the dependencies of operator orders in a gateway, and what checks and audits them."""

from collections.abc import Awaitable, Callable

from hermes.app.core import Core
from hermes.app.make_agents import make_roster
from hermes.config import LoadedConfig, Settings
from hermes.config.provider_keys import known_providers
from hermes.control.audited import AuditedActions, audited_for
from hermes.control.runtime import Reconnect, Restart, Rotate, RuntimeHandles
from hermes.control.secrets import Apply, SecretOperations, apply_nothing
from hermes.control.status import ChannelStatus
from hermes.message.ids import MakeId
from hermes.message.target import parse_target
from hermes.outbox.chat_infos import shown_chat
from hermes.ports.audit import AuditLimits
from hermes.ports.channel import Target
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_DAY_S = 86_400.0


def make_audited(
    store: Store, settings: Settings, *, clock: Clock, make_id: MakeId
) -> AuditedActions:
    """Return the checks and the audit of a home's orders."""
    limits = AuditLimits(
        retention_s=settings.audit.retention_days * _DAY_S, most_rows=settings.audit.max_rows
    )
    return audited_for(store, clock=clock, make_id=make_id, limits=limits)


def make_secret_operations(
    store: Store, loaded: LoadedConfig, *, clock: Clock, apply: Apply = apply_nothing
) -> SecretOperations:
    """Return the orders about secrets; `apply` uses what they change."""
    settings = loaded.settings
    roster = make_roster(store, settings)

    async def key_of(name: str) -> str | None:
        agent = await roster.find(name)
        return None if agent is None else agent.key

    return SecretOperations(
        store.secrets,
        agents=key_of,
        providers=known_providers(settings.providers),
        servers=loaded.mcp_names,
        clock=clock,
        apply=apply,
    )


def make_handles(
    core: Core,
    *,
    channels: Callable[[], tuple[ChannelStatus, ...]],
    restart: Restart,
    rotate: Rotate,
    reconnect: Reconnect,
) -> RuntimeHandles:
    """Return the dependencies of orders in the core of a running gateway."""
    swaps = core.models.swaps
    return RuntimeHandles(
        platforms=core.platforms,
        channels=channels,
        flow=core.push.traffic.of,
        abilities=core.abilities,
        home=_home_of(core),
        pause=core.push.pause,
        session_ended=core.sessions.ended,
        wake_lane=core.signals.wake_lane,
        tell_tool=core.questions.decided,
        person_erased=core.lanes.erased,
        default_model=lambda: swaps.model,
        swap=swaps.swap,
        restart=restart,
        rotate=rotate,
        reconnect=reconnect,
        replay=core.replays.run,
    )


def _home_of(core: Core) -> Callable[[str], Awaitable[str | None]]:
    """Return what describes the home channel of a platform, as far as the platform can."""

    async def home(platform: str) -> str | None:
        chosen = core.settings.channels.get(platform)
        if chosen is None or chosen.home_channel is None:
            return None
        chat = parse_target(f"{platform}:{chosen.home_channel}")
        target = Target(
            platform=platform, account="default", chat_id=chat.chat_id, thread_id=chat.thread_id
        )
        info = await core.push.chat_infos.get(target)
        return None if info is None else shown_chat(info)

    return home

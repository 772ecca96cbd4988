"""A2A in both directions: what callers of other systems reach, and agents of other systems."""

import asyncio

from hermes.adapters.a2a.adapter import RUNTIME, A2aAdapter
from hermes.agents.secrets import Secrets
from hermes.app.make_agents import make_roster
from hermes.config import Settings
from hermes.media.check import FileLimits
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.net.client import HttpClient
from hermes.plugins.registry import Registry
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.store import Store
from hermes.server.a2a.channel import A2aLimits, A2aParts
from hermes.server.a2a.pushes import TaskPushes
from hermes.server.v1.callers import Callers


def make_a2a_parts(
    store: Store,
    settings: Settings,
    *,
    clock: Clock,
    client: HttpClient,
    gateway_api: GatewayApi,
    callers: Callers,
) -> A2aParts:
    """Return the dependencies of the channel."""

    async def is_valid(event: MessageEvent) -> bool:
        if event.key is not None:
            key = await store.keys.get(event.key)
            return key is not None and key.revoked_at is None and is_after(key.expires_at)
        tokens = await store.access.list("token") if event.token else ()
        return not event.token or any(
            one.id == event.token and is_after(one.expires_at) for one in tokens
        )

    def is_after(end: float | None) -> bool:
        return end is None or end > clock.now()

    media, public_url = settings.media, settings.server.public_url
    roster = make_roster(store, settings)
    return A2aParts(
        gateway_api=gateway_api,
        callers=callers,
        roster=roster,
        settings=A2aLimits(
            files=FileLimits(max_bytes=media.max_bytes, max_pixels=media.max_pixels),
            body_bytes=settings.server.max_body_bytes,
            wait_s=settings.a2a.wait_s,
            delegate_depth=settings.tools.delegate_depth,
            public_cards=settings.a2a.public_cards,
            public_url="" if public_url is None else str(public_url).rstrip("/"),
        ),
        clock=clock,
        make_id=make_id,
        tasks=store.tasks,
        guard=client.guard,
        pushes=TaskPushes(
            store.tasks,
            gateway_api,
            client=client,
            roster=roster,
            clock=clock,
            is_valid=is_valid,
        ),
    )


def add_remote_agents(registry: Registry, *, client: HttpClient, secrets: Secrets) -> A2aAdapter:
    """Register the adapter of agents of other systems, and return it."""

    def secret(agent: str, name: str) -> str | None:
        return secrets.get(name, agent=agent or None)

    adapter = A2aAdapter(client, secret=secret, sleep=asyncio.sleep, make_id=make_id)
    registry.adapter(RUNTIME, adapter)
    return adapter

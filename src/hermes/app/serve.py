"""The HTTP server of a gateway: the operator's functions, the app, and its task.

It is built last, because its routes reach everything else.
"""

import asyncio
from functools import partial

import msgspec

from hermes import __version__
from hermes.app.gateway_parts import GatewayParts
from hermes.app.home_orders import make_home_handles
from hermes.app.key_rotation import make_rotation
from hermes.app.make_agents import make_agent_operations, make_check
from hermes.app.make_courier import make_send_operations
from hermes.app.make_operations import make_handles, make_secret_operations
from hermes.app.make_schedule import make_cron_operations
from hermes.app.make_skills import make_skill_operations
from hermes.app.model_lists import make_refresh
from hermes.app.sent_files import adopting
from hermes.config.settings import tier_names
from hermes.control.operations import Operations
from hermes.control.order import local_actor
from hermes.control.orders import USERS_ERASE
from hermes.control.runtime import RuntimeHandles
from hermes.control.search import SearchOperations
from hermes.control.users import UserOrder
from hermes.message.ids import make_id
from hermes.ops.instance import GatewayAddress, Instance
from hermes.ports.adapter import NATIVE
from hermes.schedule.retention import Retention
from hermes.server.app import build_app
from hermes.server.control_routes import ControlGate, control_routes
from hermes.server.dashboard.routes import dashboard_routes
from hermes.server.listen import HttpServer, Listener, serve_settings
from hermes.server.metrics_route import metrics_route
from hermes.server.webhooks import WebhookLimits

# The name by which the audit log knows what the settings for retention did.
_RETENTION = "retention"


def make_server(parts: GatewayParts, listener: Listener) -> HttpServer:
    """Return the server of a gateway; it does not serve yet."""
    settings, core, origins = parts.context.settings, parts.core, parts.channels.origins
    metrics = parts.storage.observing.metrics
    gate = ControlGate(
        core.gateway_api,
        parts.storage.audited,
        origins=origins,
        mask=parts.storage.secrets.mask.report,
    )
    app = build_app(
        core.gateway_api,
        channels=tuple(parts.channels.own.values()),
        webhooks=parts.channels.webhooks,
        control=control_routes(gate, make_operations(parts)),
        ready=lambda: _reasons_not_ready(parts),
        origins=origins,
        make_id=make_id,
        limits=WebhookLimits(body_bytes=settings.server.max_body_bytes),
        more_routes=(
            metrics_route(
                core.gateway_api, metrics.text, origins=origins, public=settings.metrics.public
            ),
            *dashboard_routes(core.gateway_api, gate),
        ),
        meter=metrics,
    )
    return HttpServer(
        app, listener, settings=serve_settings(settings.server), files=parts.adapters.client.files
    )


class ServerTask:
    """Runs an HTTP server, and writes its address for the commands of this machine."""

    def __init__(self, server: HttpServer, instance: Instance, *, address: GatewayAddress) -> None:
        self._server = server
        self._instance = instance
        self._address = address
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return once requests are answered; raise what the server raised before that."""
        self._task = asyncio.create_task(self._server.serve(), name="http")
        started = asyncio.create_task(self._server.wait_started())
        try:
            await asyncio.wait({self._task, started}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            started.cancel()
        if self._task.done():
            await self._task
            raise RuntimeError("the HTTP server ended before it answered")
        self._instance.publish(self._address)

    async def stop(self) -> None:
        """Let running requests finish, for a few seconds."""
        if self._task is not None:
            self._server.stop()
            await self._task


def address_file(parts: GatewayParts, listener: Listener) -> GatewayAddress:
    """Return the address file for the commands of this machine."""
    host, port = listener.getsockname()[:2]
    return GatewayAddress(
        host=host,
        port=port,
        token=parts.context.local_token,
        version=__version__,
        started_at=parts.started_at,
    )


def make_operations(parts: GatewayParts) -> Operations:
    """Return the functions behind operator orders."""
    context, core, settings = parts.context, parts.core, parts.context.settings
    handles = _handles(parts)
    return Operations(
        core.store,
        calendar=core.models.calendar,
        clock=context.clock,
        make_id=make_id,
        address=parts.public_address,
        facts=core.memory.facts,
        dream_now=core.memory.worker.dream_now,
        wake=core.signals.wake_outbox,
        tiers=tier_names(settings),
        credit_settings=settings.credits,
        day_cap_usd=settings.budgets.platform_day_usd,
        pairing_settings=settings.access.pairing,
        search=SearchOperations(core.store, core.search),
        forget_files=lambda person_id: _forget_files(parts, person_id),
        cron=make_cron_operations(core.store, settings, core.cron.schedules),
        handles=handles,
        home=make_home_handles(parts, handles),
        secret_operations=make_secret_operations(
            core.store,
            context.loaded,
            clock=context.clock,
            apply=parts.storage.secrets.refresh,
        ),
        agents=make_agent_operations(
            core.store,
            settings,
            clock=context.clock,
            make_id=make_id,
            check=make_check(core.models, settings, adapters=core.adapters),
            runtimes=(NATIVE, *core.adapters),
            read_card=parts.storage.remote_agents.card,
        ),
        skills=None
        if core.skills is None
        else make_skill_operations(settings, core.skills.folder, core.roster),
        sends=make_send_operations(
            core.store,
            settings,
            home=context.home,
            clock=context.clock,
            make_id=make_id,
            wake_lane=core.signals.wake_lane,
            wake_outbox=core.signals.wake_outbox,
            adopt=adopting(parts.storage.media_cache),
        ),
    )


async def _forget_files(parts: GatewayParts, person_id: str) -> None:
    await parts.storage.media_cache.erase(person_id)
    if parts.core.terminal is not None:
        await parts.core.terminal.erase(person_id)


def make_retention(parts: GatewayParts) -> Retention:
    """Return what ends and erases by days; every erasure is on record like an operator's."""
    core, sessions = parts.core, parts.context.settings.sessions
    operations, audited = make_operations(parts), parts.storage.audited

    async def erase(person_id: str, silent_since: float) -> None:
        order = UserOrder(user=person_id, by=_RETENTION)
        await audited.act(
            local_actor(_RETENTION),
            USERS_ERASE,
            work=lambda: operations.users.erase(order, silent_since=silent_since),
            request=order,
        )

    return Retention(
        core.store.sessions,
        platforms=core.platforms,
        conversation_days=sessions.retention_days,
        people_days=sessions.person_retention_days,
        ended=core.sessions.ended,
        silent=core.store.users.silent,
        erase=erase,
        clock=parts.context.clock,
    )


def _handles(parts: GatewayParts) -> RuntimeHandles:
    """Return the dependencies of operator orders in a gateway."""
    context, core, reports = parts.context, parts.core, parts.storage.model_reports
    handles = make_handles(
        core,
        channels=parts.connections.states,
        restart=context.restart,
        rotate=make_rotation(context.home, core).rotate,
        reconnect=parts.reload.reconnect,
    )
    return msgspec.structs.replace(
        handles,
        status=parts.reports.status,
        brief_status=partial(parts.reports.status, counts=False),
        written=parts.adapters.watch.text,
        stop_turn=lambda message_id, by: core.gateway_api.stop(message_id, by=by),
        reload=parts.reload.reload,
        link=parts.sign_in.link,
        hooks=parts.adapters.hooks.report,
        models=reports.models,
        route=reports.route,
        refresh=make_refresh(
            parts.adapters.providers,
            facts=core.models.facts,
            home=context.home,
            clock=context.clock,
        ).run,
        mcp_status=parts.adapters.mcp_operations.status,
        mcp_reload=parts.adapters.mcp_operations.reload,
        mcp_login=parts.adapters.mcp_operations.login,
        mcp_logout=parts.adapters.mcp_operations.logout,
    )


def _reasons_not_ready(parts: GatewayParts) -> tuple[str, ...]:
    problem = parts.core.store.writable()
    reasons = ("draining",) if parts.core.inbox.draining else ()
    return reasons if problem is None else (*reasons, problem)

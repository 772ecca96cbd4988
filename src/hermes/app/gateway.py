"""A running gateway: start, drain and stop are written once, here."""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec
import structlog
from starlette.routing import Route

from hermes import __version__, failpoints
from hermes.app.adapters import (
    add_built_in_tools,
    make_client,
    make_mcp,
    make_providers,
    make_registry,
)
from hermes.app.connect import Connections
from hermes.app.core import Core
from hermes.app.core_parts import CoreParts
from hermes.app.credential_locks import make_rights
from hermes.app.key_rotation import make_rotation
from hermes.app.make_courier import make_send_operations
from hermes.app.make_hooks import GatewayHooks, make_hooks
from hermes.app.make_observability import Observability, make_observing, watch_core
from hermes.app.make_operations import as_swapped, make_audited, make_handles
from hermes.app.make_schedule import make_cron_operations
from hermes.app.make_search import open_search
from hermes.app.media import make_shelf
from hermes.app.models import ask_all, provider_states
from hermes.app.own_tools import make_courier, make_own_tools
from hermes.app.platforms import make_push_channels, plugged_platforms
from hermes.app.renewal import Renewal
from hermes.app.run_state import Ending, RunState, at_end
from hermes.app.store_files import open_store
from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.config import Loaded, ensure_home
from hermes.config.tiers import tier_names
from hermes.control.mcp import McpOperations
from hermes.control.models import ModelsReport, RouteReport, models_report, route_report
from hermes.control.operations import Operations
from hermes.control.reload import ReloadOperations
from hermes.control.runtime import ReloadReport, RuntimeHandles
from hermes.control.search import SearchOperations
from hermes.control.sends import SendOperations
from hermes.control.status import Live, StatusReport, live_status
from hermes.control.tokens import LinkWish, SignInLink
from hermes.http.same_origin import Origins, is_loopback
from hermes.media.turn_media import TurnMedia
from hermes.message.ids import make_id
from hermes.ops.instance import GatewayAddress, Wanted, acquire
from hermes.ops.logs import Level, Logs, secrets_in
from hermes.ops.welcome import Welcome
from hermes.pipeline.services import Restart, cannot_restart
from hermes.pipeline.watch import WatchHub
from hermes.plugins.manifest import load_capabilities
from hermes.plugins.registry import Registry
from hermes.ports.channel import Channel, WebhookChannel
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.store import Store
from hermes.ports.tool import Tool, ToolContext
from hermes.ports.upward import Progress
from hermes.routing.plan import CallNeeds, ProviderOffer
from hermes.server.app import build_app
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import ControlGate, control_routes
from hermes.server.listen import HttpServer, address_of, bind, serve_settings
from hermes.server.metrics_route import metrics_route
from hermes.server.v1.agent_turns import AgentTurns
from hermes.server.v1.callers import Callers
from hermes.server.v1.channel import V1Channel
from hermes.server.v1.serve import V1Parts
from hermes.server.webhooks import WebhookLimits
from hermes.store.sqlite.store import SqliteStore
from hermes.tools.together import ToolsTogether

_log = structlog.get_logger(__name__)


class Gateway:
    """One gateway of one home; `async with` starts it and drains it.

    Without `listen` it serves no HTTP, for use inside another program. `hide` is told the secrets
    that a changed configuration brings, so that no log shows them.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        listen: bool = True,
        hide: Callable[..., None] | None = None,
        logs: Logs | None = None,
        restart: Restart = cannot_restart,
    ) -> None:
        self._settings = loaded.settings
        self._reread = loaded.reread
        self._hide = hide
        self._logs = logs
        self._restart = restart
        self._home = loaded.home
        self._clock = SystemClock()
        self._listen = listen
        self._watch = WatchHub()
        self._local_token = secrets.token_urlsafe(32)
        self._first_token: str | None = None
        self._listener: socket.socket | None = None
        self._server: HttpServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._address = ""
        self._draining = False
        self._webhooks: dict[str, WebhookChannel] = {}
        self._answers: tuple[str, bool] = ("", False)
        self.cut_off = 0
        self.ending = Ending(reason="the program around it ended")
        self.hurry: asyncio.Event | None = None

    @property
    def gateway_api(self) -> GatewayApi:
        """What channels and in-process callers speak to."""
        return self._core.gateway_api

    async def __aenter__(self) -> Self:
        ensure_home(self._home)
        self._instance = acquire(self._home)
        self._life = RunState(self._home, self._settings.process, clock=self._clock)
        try:
            await self._start()
        # Boundary of the start: whatever failed, the home is given back.
        except BaseException as error:
            self._life.failed(f"{type(error).__name__}: {error}")
            if self._listener is not None:
                self._listener.close()
            self._instance.release()
            raise
        self._tell_connections()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            reason = f"{type(error).__name__}: {error}"
            self.ending = Ending(reason=reason, exit_code=1, is_expected=False)
        self._life.ending(self.ending, at_end(self._core, self._connections.states()))
        await self._stop()
        self._life.ended(self.ending, cut_off=self.cut_off)
        self._instance.release()

    def take_marker(self) -> Wanted | None:
        """Use up the word that the signal which has just come was wanted."""
        return self._instance.take_marker(self._clock.now())

    async def reload(self) -> ReloadReport:
        """Take over what can be changed while it runs."""
        return await self._reloading.reload()

    async def _start(self) -> None:
        settings = self._settings
        failpoints.arm_from(settings.debug.failpoints)
        self._started_at = self._clock.now()
        if self._listen:
            self._listener = bind(settings.server.host, settings.server.port)
        self._client = make_client(settings)
        registry = make_registry(settings, home=self._home, on_status=self._tell_status)
        self._make_adapters(registry)
        store = open_store(self._home, settings, clock=self._clock, make_id=make_id)
        self._observing = self._make_observing(store)
        self._life.found(await store.recover())
        self._audited = make_audited(store, settings, clock=self._clock, make_id=make_id)
        self._access = StoredAccess(store.access, clock=self._clock, local_token=self._local_token)
        public_url = settings.server.public_url
        origins = Origins(
            bound_host=settings.server.host,
            public_url=None if public_url is None else str(public_url),
        )
        own = self._own_channels(origins)
        self._shelf = make_shelf(
            self._home, settings, client=self._client, store=store, clock=self._clock
        )
        pushed = make_push_channels(
            settings,
            registry,
            client=self._client,
            home=self._home,
            clock=self._clock,
            shelf=self._shelf,
            outbox=store.outbox,
        )
        self._channels = {**own, **pushed}
        self._make_core(store, registry, channels=self._channels)
        self._watch_core()
        self._answers = await self._who_answers()
        self._make_connections(pushed, registry)
        if self._listener is not None:
            await self._serve(self._listener, own=own, pushed=pushed, origins=origins)
        # Before turns that were cut off go on: they may need these tools.
        await self._mcp.start()
        self._core.start()
        self._observing.start()
        self._connections.start()
        self._hooks.started(self._address)

    def _make_connections(self, pushed: Mapping[str, Channel], registry: Registry) -> None:
        """Make what connects the platforms and keeps them connected."""
        self._connections = Connections(
            pushed,
            accept=self._core.directory.noticing(self._core.inbox.accept),
            on_connected=self._core.start_sending,
            on_lost=self._core.pause_sending,
            on_change=self._tell_connections,
            traffic=self._core.traffic,
            clock=self._clock,
            rights=make_rights(self._settings, registry, home=self._home, clock=self._clock),
            plugins=plugged_platforms(self._settings, registry),
            breaker=self._core.breaker_of,
        )
        self._observing.metrics.include(*self._connections.readers())
        self._renewal = Renewal(
            settings=self._settings,
            registry=registry,
            client=self._client,
            home=self._home,
            clock=self._clock,
            shelf=self._shelf,
            outbox=self._core.store.outbox,
            channels=self._channels,
            webhooks=self._webhooks,
            connections=self._connections,
        )

    def _make_adapters(self, registry: Registry) -> None:
        """Make what plugins and the configuration bring: tools, hooks, providers, MCP servers."""
        settings = self._settings
        add_built_in_tools(settings, registry, client=self._client)
        self._hooks = GatewayHooks(
            make_hooks(settings, registry, home=self._home),
            mask=str if self._logs is None else self._logs.mask,
        )
        self._providers = make_providers(settings, registry, client=self._client)
        self._mcp = make_mcp(settings, clock=self._clock, tell=self._tell_progress)
        self._mcp_operations = McpOperations(self._mcp, self._read_again)
        self._reloading = ReloadOperations(
            settings,
            reread=self._read_again,
            mcp=self._mcp_operations,
            set_level=self._set_level,
            renew=lambda name, found: self._renewal.renew(name, found),  # noqa: PLW0108  made later
        )

    def _make_core(
        self, store: SqliteStore, registry: Registry, *, channels: Mapping[str, Channel]
    ) -> None:
        settings = self._settings
        search = open_search(self._home, settings, clock=self._clock)
        store.transcripts.follow = None if search is None else search.note
        own_tools: dict[str, Tool] = {}
        given = CoreParts(
            providers=self._providers,
            tools=ToolsTogether(registry.tools, self._mcp.tools(), own_tools),
            channels=channels,
            access=self._access,
            watch=self._watch,
            clock=self._clock,
            make_id=make_id,
            meter=self._observing.metrics,
            reload_mcp=self._mcp_operations.reload,
            on_record=self._audited.by_chat,
            visions=registry.visions,
            plugged=registry.commands,
            search=search,
            media=TurnMedia(self._shelf, channels),
            comeback=self._life.comeback,
            restart=self._restart,
            observer=self._observing.observer,
            hooks=self._hooks.book,
            mask=str if self._logs is None else self._logs.mask,
        )
        self._core = Core(store, settings, given=given)
        own_tools.update(self._own_tools(channels))

    def _own_tools(self, channels: Mapping[str, Channel]) -> dict[str, Tool]:
        """Return the built-in tools that work on the core."""
        core, settings = self._core, self._settings
        courier = make_courier(
            core, settings, channels=channels, home=self._home, clock=self._clock
        )
        core.courier.use(courier)
        return make_own_tools(core, settings, courier=courier)

    def _own_channels(self, origins: Origins) -> dict[str, Any]:
        """Return the channels that the server itself brings requests to."""
        limit = self._settings.server.max_body_bytes
        return {
            "rest": RestChannel(
                RestSettings(body_bytes=limit),
                capabilities=load_capabilities("hermes.channels.rest"),
                origins=origins,
                clock=self._clock,
                make_id=make_id,
            ),
            "web": WebChannel(
                WebSettings(body_bytes=limit),
                capabilities=load_capabilities("hermes.channels.web"),
                access=self._access,
                info=self._info,
                origins=origins,
                clock=self._clock,
                make_id=make_id,
            ),
            "v1": V1Channel(self._v1_parts),
        }

    def _v1_parts(self, gateway_api: GatewayApi) -> V1Parts:
        """Return what the endpoints under /v1 work with."""
        models = self._core.models
        return V1Parts(
            callers=Callers(self._core.store.keys, gateway_api=gateway_api, clock=self._clock),
            planner=models.planner,
            calls=models.calls,
            embeddings=models.embeddings,
            ledger=models.ledger,
            turns=AgentTurns(gateway_api, clock=self._clock, make_id=make_id),
            settings=self._settings,
            clock=self._clock,
            make_id=make_id,
        )

    async def _serve(
        self,
        listener: socket.socket,
        *,
        own: Mapping[str, Any],
        pushed: Mapping[str, Channel],
        origins: Origins,
    ) -> None:
        server = self._settings.server
        self._address = address_of(listener)
        self._webhooks |= {
            name: item for name, item in pushed.items() if isinstance(item, WebhookChannel)
        }
        app = build_app(
            self._core.gateway_api,
            channels=tuple(own.values()),
            webhooks=self._webhooks,
            control=control_routes(
                ControlGate(self._core.gateway_api, self._audited, origins=origins),
                self._operations(),
            ),
            ready=self._reasons_not_ready,
            origins=origins,
            make_id=make_id,
            limits=WebhookLimits(body_bytes=server.max_body_bytes),
            more_routes=(self._metrics_route(origins),),
            meter=self._observing.metrics,
        )
        if not self._core.store.access.any("token"):
            self._first_token = await self._access.make_token("first start")
        self._server = HttpServer(app, listener, settings=serve_settings(server))
        self._serving = asyncio.create_task(self._server.serve(), name="http")
        await self._server.wait_started()
        host, port = listener.getsockname()[:2]
        self._instance.publish(
            GatewayAddress(
                host=host,
                port=port,
                token=self._local_token,
                version=__version__,
                started_at=self._started_at,
            )
        )

    async def _stop(self) -> None:
        """Drain: accept nothing, let turns and replies end, then close everything."""
        self._draining = True
        self._hooks.ending(self.ending.reason)
        drain_s = self._settings.server.drain_s
        self.cut_off = await self._core.drain(drain_s, hurry=self.hurry)
        self._watch.close()
        if self._server is not None and self._serving is not None:
            self._server.stop()
            await self._serving
        await self._connections.stop()
        await self._mcp.stop()
        await self._hooks.stop()
        await self._observing.stop()
        await self._core.stop()
        await asyncio.gather(*(provider.close() for provider in self._providers.values()))
        await self._client.close()

    def _make_observing(self, store: Store) -> Observability:
        return make_observing(
            self._settings,
            store,
            home=self._home,
            client=self._client,
            clock=self._clock,
            make_id=make_id,
            logs=self._logs,
        )

    def _watch_core(self) -> None:
        watch_core(
            self._observing,
            self._core,
            settings=self._settings,
            home=self._home,
            client=self._client,
            clock=self._clock,
            started_at=self._started_at,
        )

        self._hooks.count_in(self._observing.metrics)

    def _metrics_route(self, origins: Origins) -> Route:
        text, public = self._observing.metrics.text, self._settings.metrics.public
        return metrics_route(self._core.gateway_api, text, origins=origins, public=public)

    def _set_level(self, level: Level) -> None:
        if self._logs is not None:
            self._logs.set_level(level)

    def _tell_connections(self) -> None:
        self._life.stands("draining" if self._draining else "connected", self._connections.states())

    def _tell_status(self, text: str) -> None:
        _log.info("model_status", status=text)
        self._watch.broadcast(Progress(kind="status", text=text))

    def _read_again(self) -> Loaded:
        """Read the configuration again; whatever is secret in it stays out of the logs."""
        loaded = self._reread()
        if self._hide is not None:
            self._hide(*secrets_in(loaded.settings))
        return loaded

    def _tell_progress(self, context: ToolContext, text: str) -> None:
        self._watch.publish(context.turn_id, Progress(kind="status", text=text))

    def _reasons_not_ready(self) -> tuple[str, ...]:
        problem = self._core.store.writable()
        reasons = ("draining",) if self._draining else ()
        return reasons if problem is None else (*reasons, problem)

    async def _info(self) -> Mapping[str, Any]:
        model, is_demonstration = await self._who_answers()
        return {"model": model, "demo": is_demonstration, "version": __version__}

    async def _who_answers(self) -> tuple[str, bool]:
        """Return the model that would answer now, and whether it is the demonstration model."""
        report = await self.route(CallNeeds())
        if not report.candidates:
            _log.error("no_model", problem=report.problem)
            return "none", False
        first = report.candidates[0]
        return f"{first.provider}:{first.model}", self._providers[first.provider].info.demonstration

    async def _offers(self) -> list[ProviderOffer]:
        return await ask_all(self._providers)

    async def models(self) -> ModelsReport:
        """Return every model service with what it can do, and whether it can be called now."""
        return models_report(self._settings, await self._offers())

    async def route(self, ask: CallNeeds) -> RouteReport:
        """Return the plan that a call would get now, with its reasons."""
        settings = as_swapped(self._settings, self._core.models.planner)
        return route_report(ask, await self._offers(), settings=settings)

    async def welcome(self) -> Welcome:
        """Return what the person who started the gateway is told, with a fresh sign-in link."""
        model, is_demonstration = self._answers
        return Welcome(
            version=__version__,
            address=self._address,
            home=str(self._home),
            model=model,
            sign_in_link=(await self.link(LinkWish(), "")).link,
            api_token=self._first_token,
            is_demonstration=is_demonstration,
            is_listening_widely=not is_loopback(self._settings.server.host),
        )

    async def link(self, wish: LinkWish, maker: str) -> SignInLink:
        """Return a new one-time sign-in link; it ends with the credential `maker`, if there is one."""
        code = await self._access.make_signin_code(maker, revoke_others=wish.revoke_others)
        return SignInLink(link=f"{self._public_address()}/signin?code={code}")

    def _public_address(self) -> str:
        public = self._settings.server.public_url
        return self._address if public is None else str(public).rstrip("/")

    def _operations(self) -> Operations:
        """Return the functions behind operator orders."""
        return Operations(
            self._core.store,
            calendar=self._core.models.calendar,
            clock=self._clock,
            make_id=make_id,
            address=self._public_address(),
            facts=self._core.memory.facts,
            dream_now=self._core.memory.worker.dream_now,
            wake=self._core.wake_outbox,
            tiers=tier_names(self._settings),
            credit_settings=self._settings.credits,
            search=SearchOperations(self._core.store, self._core.search),
            forget_files=self._shelf.erase,
            cron=make_cron_operations(self._core.store, self._settings, self._core.cron.schedules),
            handles=self._handles(),
            sends=self._sends(),
        )

    def _handles(self) -> RuntimeHandles:
        """Return what operator orders reach in this gateway."""
        handles = make_handles(
            self._core,
            self._settings,
            channels=self._connections.states,
            restart=self._restart,
            rotate=make_rotation(self._home, self._core).rotate,
            reconnect=self._reloading.reconnect,
        )
        return msgspec.structs.replace(
            handles,
            status=self.status,
            reload=self.reload,
            link=self.link,
            hooks=self._hooks.report,
            models=self.models,
            route=self.route,
            mcp_status=self._mcp_operations.status,
            mcp_reload=self._mcp_operations.reload,
        )

    def _sends(self) -> SendOperations:
        return make_send_operations(
            self._core.store,
            self._settings,
            home=self._home,
            clock=self._clock,
            make_id=make_id,
            wake_lane=self._core.lanes.wake,
            wake_outbox=self._core.wake_outbox,
        )

    async def status(self) -> StatusReport:
        """Return how this gateway stands."""
        live = Live(
            pid=os.getpid(),
            version=__version__,
            address=self._address,
            started_at=self._started_at,
            state="draining" if self._draining else "connected",
            running_turns=self._core.lanes.running(),
            providers=await provider_states(self._providers),
            channels=self._connections.states(),
            memory=self._core.memory_status(),
            note=self._life.note,
            hooks_off=self._hooks.off(),
        )
        return live_status(self._core.store, live, home=str(self._home), now=self._clock.now())

"""A running gateway: start, drain and stop are written once, here."""

import asyncio
import os
import secrets
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import structlog

from hermes import __version__, failpoints
from hermes.app.adapters import (
    add_built_in_tools,
    make_client,
    make_mcp,
    make_providers,
    make_push_channels,
    make_registry,
)
from hermes.app.connect import Connections
from hermes.app.core import Core, open_store
from hermes.app.models import ask_all
from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.config import Loaded, ensure_home
from hermes.control.desk import Desk
from hermes.control.mcp import McpDesk
from hermes.control.models import ModelsReport, RouteReport, models_report, route_report
from hermes.control.status import Live, ProviderStatus, StatusReport, live_status
from hermes.control.why import WhyReport, explain
from hermes.errors import ProviderError
from hermes.message.ids import make_id
from hermes.net.same_origin import Origins, is_loopback
from hermes.ops.instance import Address, acquire
from hermes.ops.welcome import Welcome
from hermes.pipeline.watch import WatchHub
from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel import Channel, WebhookChannel
from hermes.ports.clock import SystemClock
from hermes.ports.door import Door
from hermes.ports.provider import Provider
from hermes.ports.tool import ToolContext
from hermes.ports.upward import Progress
from hermes.routing.decide import make_plan
from hermes.routing.plan import Ask, Offer
from hermes.routing.policy import policy_of
from hermes.server.app import build_app
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import Control
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.server.v1.agent_turns import AgentTurns
from hermes.server.v1.callers import Callers
from hermes.server.v1.channel import V1Channel
from hermes.server.v1.serve import V1Parts
from hermes.server.webhooks import WebhookLimits
from hermes.tools.together import ToolsTogether

_log = structlog.get_logger(__name__)


class Gateway:
    """One gateway of one home; `async with` starts it and drains it.

    Without `listen` it serves no HTTP, for use inside another program.
    """

    def __init__(self, loaded: Loaded, *, listen: bool = True) -> None:
        self._settings = loaded.settings
        self._reread = loaded.reread
        self._home = loaded.home
        self._clock = SystemClock()
        self._listen = listen
        self._watch = WatchHub()
        self._local_token = secrets.token_urlsafe(32)
        self._first_token: str | None = None
        self._server: HttpServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._address = ""
        self._draining = False
        self._answers: tuple[str, bool] = ("", False)
        self.cut_off = 0

    @property
    def door(self) -> Door:
        """What channels and in-process callers speak to."""
        return self._core.door

    async def __aenter__(self) -> Self:
        ensure_home(self._home)
        self._instance = acquire(self._home)
        try:
            await self._start()
        # Boundary of the start: whatever failed, the home is given back.
        except BaseException:
            self._instance.release()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop()
        self._instance.release()

    def planned_stop(self) -> bool:
        """Tell whether the stop that is under way was asked for by `hermes stop`."""
        return self._instance.take_planned_stop(self._clock.now())

    async def _start(self) -> None:
        settings = self._settings
        failpoints.arm_from(settings.debug.failpoints)
        self._started_at = self._clock.now()
        listener = bind(settings.server.host, settings.server.port) if self._listen else None
        self._client = make_client(settings)
        registry = make_registry(settings, home=self._home, on_status=self._tell_status)
        add_built_in_tools(settings, registry, client=self._client)
        self._providers = make_providers(settings, registry, client=self._client)
        pushed = make_push_channels(settings, registry, client=self._client)
        self._mcp = make_mcp(settings, clock=self._clock, tell=self._tell_progress)
        store = open_store(self._home, settings, clock=self._clock, make_id=make_id)
        await store.recover()
        self._access = StoredAccess(store.access, clock=self._clock, local_token=self._local_token)
        origins = Origins(
            bound_host=settings.server.host,
            public_url=None
            if settings.server.public_url is None
            else str(settings.server.public_url),
        )
        own = self._own_channels(origins)
        self._core = Core(
            store,
            settings,
            providers=self._providers,
            tools=ToolsTogether(registry.tools, self._mcp.tools()),
            channels={**own, **pushed},
            access=self._access,
            watch=self._watch,
            clock=self._clock,
            make_id=make_id,
        )
        self._answers = await self._who_answers()
        self._connections = Connections(
            pushed, accept=self._core.inbox.accept, on_connected=self._core.start_sending
        )
        if listener is not None:
            await self._serve(listener, own=own, pushed=pushed, origins=origins)
        # Before turns that were cut off go on: they may need these tools.
        await self._mcp.start()
        self._core.start()
        self._connections.start()

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

    def _v1_parts(self, door: Door) -> V1Parts:
        """Return what the endpoints under /v1 work with."""
        models = self._core.models
        return V1Parts(
            callers=Callers(self._core.store.keys, door=door, clock=self._clock),
            planner=models.planner,
            calls=models.calls,
            embeddings=models.embeddings,
            ledger=models.ledger,
            turns=AgentTurns(door, clock=self._clock, make_id=make_id),
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
        app = build_app(
            self._core.door,
            channels=tuple(own.values()),
            webhooks={
                name: item for name, item in pushed.items() if isinstance(item, WebhookChannel)
            },
            control=self._control(self._desk()),
            ready=self._reasons_not_ready,
            origins=origins,
            make_id=make_id,
            limits=WebhookLimits(body_bytes=server.max_body_bytes),
        )
        if not self._core.store.access.any("token"):
            self._first_token = await self._access.make_token("first start")
        settings = ServeSettings(keep_alive_s=server.keep_alive_s)
        self._server = HttpServer(app, listener, settings=settings)
        self._serving = asyncio.create_task(self._server.serve(), name="http")
        await self._server.wait_started()
        host, port = listener.getsockname()[:2]
        self._instance.publish(
            Address(
                host=host,
                port=port,
                token=self._local_token,
                version=__version__,
                started_at=self._started_at,
            )
        )

    def _control(self, desk: Desk) -> Control:
        """Return the operator's functions, for the routes under /control."""
        return Control(
            status=self.status,
            why=self.why,
            models=self.models,
            route=self.route,
            link=self.link,
            token=self.token,
            create_key=desk.create_key,
            keys=desk.keys,
            revoke_key=desk.revoke_key,
            kill_switch=desk.kill_switch,
            set_kill_switch=desk.set_kill_switch,
            costs=desk.costs,
            consent=desk.consent,
            set_consent=desk.set_consent,
            credits=desk.credits,
            memory=desk.memory,
            users=desk.users,
            pairing=desk.pairing,
            mcp=McpDesk(self._mcp, self._reread),
        )

    async def _stop(self) -> None:
        """Drain: accept nothing, let turns and replies end, then close everything."""
        self._draining = True
        self.cut_off = await self._core.drain(self._settings.server.drain_s)
        self._watch.close()
        if self._server is not None and self._serving is not None:
            self._server.stop()
            await self._serving
        await self._connections.stop()
        await self._mcp.stop()
        await self._core.stop()
        await asyncio.gather(*(provider.close() for provider in self._providers.values()))
        await self._client.close()

    def _tell_status(self, text: str) -> None:
        _log.info("model_status", status=text)
        self._watch.broadcast(Progress(kind="status", text=text))

    def _tell_progress(self, context: ToolContext, text: str) -> None:
        self._watch.publish(context.turn_id, Progress(kind="status", text=text))

    def _reasons_not_ready(self) -> tuple[str, ...]:
        problem = self._core.store.writable()
        reasons = ("draining",) if self._draining else ()
        return reasons if problem is None else (*reasons, problem)

    def _info(self) -> Mapping[str, Any]:
        model, is_demonstration = self._answers
        return {"model": model, "demo": is_demonstration, "version": __version__}

    async def _who_answers(self) -> tuple[str, bool]:
        """Return the model that would answer now, and whether it is the demonstration model."""
        ask = Ask(default_model=self._settings.models.default)
        try:
            plan = make_plan(ask, await self._offers(), policy=policy_of(self._settings))
        except ProviderError as error:
            _log.error("no_model", problem=str(error))
            return "none", False
        first = plan.candidates[0]
        return f"{first.provider}:{first.model}", self._providers[first.provider].info.demonstration

    async def _offers(self) -> list[Offer]:
        return await ask_all(self._providers)

    async def models(self) -> ModelsReport:
        """Return every model service with what it can do, and whether it can be called now."""
        return models_report(self._settings, await self._offers())

    async def route(self, ask: Ask) -> RouteReport:
        """Return the plan that a call would get now, with its reasons."""
        return route_report(ask, await self._offers(), settings=self._settings)

    async def welcome(self) -> Welcome:
        """Return what the person who started the gateway is told, with a fresh sign-in link."""
        model, is_demonstration = self._answers
        return Welcome(
            version=__version__,
            address=self._address,
            home=str(self._home),
            model=model,
            sign_in_link=(await self.link())["link"],
            api_token=self._first_token,
            is_demonstration=is_demonstration,
            is_listening_widely=not is_loopback(self._settings.server.host),
        )

    async def link(self) -> dict[str, str]:
        """Return a new one-time sign-in link."""
        code = await self._access.make_signin_code()
        return {"link": f"{self._public_address()}/signin?code={code}"}

    def _public_address(self) -> str:
        public = self._settings.server.public_url
        return self._address if public is None else str(public).rstrip("/")

    def _desk(self) -> Desk:
        """Return where operators' orders about keys and money arrive."""
        return Desk(
            self._core.store,
            calendar=self._core.models.calendar,
            clock=self._clock,
            make_id=make_id,
            address=self._public_address(),
            facts=self._core.memory.facts,
            credit_settings=self._settings.credits,
        )

    async def token(self) -> dict[str, str]:
        """Return a new API token."""
        return {"token": await self._access.make_token("hermes token")}

    async def why(self, name: str, include_text: bool) -> WhyReport:
        """Return the story of a message, with its words only when they are asked for."""
        now = self._clock.now()
        return explain(self._core.store, name, now=now, include_text=include_text)

    async def status(self) -> StatusReport:
        """Return how this gateway stands."""
        live = Live(
            pid=os.getpid(),
            version=__version__,
            address=self._address,
            started_at=self._started_at,
            state="draining" if self._draining else "connected",
            running_turns=self._core.lanes.running(),
            providers=tuple(
                [await _provider_status(provider) for provider in self._providers.values()]
            ),
            channels=self._connections.states(),
            memory=self._core.memory_status(),
        )
        return live_status(self._core.store, live, home=str(self._home), now=self._clock.now())


async def _provider_status(provider: Provider) -> ProviderStatus:
    return ProviderStatus(
        name=provider.info.name,
        model=provider.info.model,
        available=await provider.available(),
        demonstration=provider.info.demonstration,
    )

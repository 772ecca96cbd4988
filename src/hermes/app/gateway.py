"""A running gateway: `build.py` builds its parts; it starts, drains and stops them here."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import msgspec
import structlog

from hermes import __version__, failpoints
from hermes.app.build import build_gateway
from hermes.app.gateway_parts import GatewayContext, GatewayParts
from hermes.app.lifecycle import Checkpoint, Component, Components, Lifecycle, no_checkpoint
from hermes.app.make_observability import keep_alerts
from hermes.app.run_state import RunState, ShutdownCause, at_end
from hermes.app.serve import ServerTask, address_file, make_retention, make_server
from hermes.config import LoadedConfig, ensure_home
from hermes.control.gateway_reports import GatewayReports
from hermes.control.runtime import ReloadReport
from hermes.control.tokens import SignInLinkOrder
from hermes.errors import StoreError, TryLater
from hermes.http.same_origin import is_loopback
from hermes.message.owner import OWNER_CHANNELS
from hermes.ops.alerts import AlertCases
from hermes.ops.instance import Instance, Wanted, acquire
from hermes.ops.logs import Logs
from hermes.ops.welcome import Welcome
from hermes.pipeline.services import Restart, cannot_restart
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.tool import Tool

_APART = "it and web:owner are two people, of whom one has further channels or is blocked"
_LINK = "if both are you, link them: hermes users link web:owner rest:cli"
_log = structlog.get_logger(__name__)


class _Run(msgspec.Struct, frozen=True):
    """A gateway between its start and its stop."""

    instance: Instance
    state: RunState
    parts: GatewayParts


class Gateway:
    """One gateway of one home; `async with` starts it and drains it.

    Without `listen` it serves no HTTP, for use inside another program. `hide` receives the secrets
    of a changed configuration, so that no log shows them. `hurry` ends the drain. `inherited_lock`
    is the lock of the home that this process held before a restart. `tools` are those of the program
    around it.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        *,
        listen: bool = True,
        hide: Callable[..., None] | None = None,
        logs: Logs | None = None,
        restart: Restart = cannot_restart,
        hurry: asyncio.Event | None = None,
        inherited_lock: int | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        tools: Sequence[Tool] = (),
    ) -> None:
        self._tools = tuple(tools)
        self._loaded = loaded
        self._clock = SystemClock()
        self._listen = listen
        self._hide = hide
        self._logs = logs
        self._cases = AlertCases()
        self._restart = restart
        self._hurry = hurry
        self._inherited_lock = inherited_lock
        self._lifecycle = Lifecycle(checkpoint)
        self._first_token: str | None = None
        self._instance: Instance | None = None
        self._run: _Run | None = None
        self.cut_off = 0
        self.ending = ShutdownCause(reason="the program around it ended")
        # The lock of the home, if the process goes on as another gateway.
        self.kept_lock: int | None = None

    @property
    def gateway_api(self) -> GatewayApi:
        """The API for channels and in-process callers."""
        return self._running.parts.core.gateway_api

    @property
    def reports(self) -> GatewayReports:
        """The reports for operators."""
        return self._running.parts.reports

    async def __aenter__(self) -> Self:
        ensure_home(self._loaded.home)
        with ExitStack() as held:
            self._instance = instance = acquire(self._loaded.home, inherited=self._inherited_lock)
            held.callback(instance.release)
            state = RunState(self._loaded.home, self._loaded.settings.process, clock=self._clock)
            try:
                parts = await self._start(instance, state)
            # Boundary of the start: whatever failed, release everything.
            except BaseException as error:
                state.failed(f"{type(error).__name__}: {error}")
                await self._lifecycle.abort()
                self._keep_alerts()
                raise
            held.pop_all()
        self._run = _Run(instance, state, parts)
        state.stands("connected", parts.connections.states())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run = self._running
        if error is not None:
            reason = f"{type(error).__name__}: {error}"
            self.ending = ShutdownCause(reason=reason, exit_code=1, is_expected=False)
        try:
            await self._lifecycle.attempt("note the end", self._note_end)
            await self._lifecycle.drain()
            await self._lifecycle.stop()
        # Boundary of the stop: everything that could be stopped is; the next start must notice.
        except BaseException as problem:
            run.state.failed(f"{type(problem).__name__}: {problem}")
            raise
        else:
            run.state.ended(self.ending, cut_off=self.cut_off)
            if self.ending.replaces:
                self.kept_lock = run.instance.hand_over()
        finally:
            run.instance.release()

    @property
    def is_running(self) -> bool:
        """Whether it has started."""
        return self._run is not None

    @property
    def _running(self) -> _Run:
        assert self._run is not None
        return self._run

    def take_marker(self) -> Wanted | None:
        """Use up the word that the signal which has just come was wanted; also during the start."""
        if self._instance is None:
            return None
        valid_s = self._loaded.settings.process.planned_stop_s
        return self._instance.take_marker(self._clock.now(), valid_s=valid_s)

    async def reload(self) -> ReloadReport:
        """Apply the changed settings that need no restart."""
        return await self._running.parts.reload.reload()

    async def welcome(self) -> Welcome:
        """Return the text for the person who started the gateway, with a new sign-in link."""
        parts = self._running.parts
        model, is_demonstration = parts.answers
        return Welcome(
            version=__version__,
            address=parts.address,
            home=str(self._loaded.home),
            model=model,
            sign_in_link=(await parts.sign_in.link(SignInLinkOrder(), "")).link,
            api_token=self._first_token,
            is_demonstration=is_demonstration,
            is_listening_widely=not is_loopback(self._loaded.settings.server.host),
        )

    def _keep_alerts(self) -> None:
        loaded = self._loaded
        mask: Callable[[str], str] = str if self._logs is None else self._logs.mask
        keep_alerts(self._cases, loaded.home, loaded.settings, clock=self._clock, mask=mask)

    async def _start(self, instance: Instance, state: RunState) -> GatewayParts:
        failpoints.arm_from(self._loaded.settings.debug.failpoints)
        if self._logs is not None:
            self._logs.listen(self._cases.hear)
        context = GatewayContext(
            loaded=self._loaded,
            clock=self._clock,
            run_state=state,
            local_token=secrets.token_urlsafe(32),
            listen=self._listen,
            hide=self._hide,
            logs=self._logs,
            cases=self._cases,
            restart=self._restart,
            tools=self._tools,
        )
        parts = await build_gateway(context, self._lifecycle)
        await self._join_owner(parts)
        server = self._server(parts, instance)
        self._lifecycle.add(self._components(parts, server))
        await self._lifecycle.start()
        # Last: it is shown only once, and a start that fails shows nothing.
        if server and not await parts.core.store.access.any("token"):
            self._first_token = await parts.storage.access.make_token("first start")
        return parts

    async def _join_owner(self, parts: GatewayParts) -> None:
        """Make the owner one person, before anything is answered; a full disk is no reason to end."""
        try:
            joined = await parts.core.store.owners.join(OWNER_CHANNELS, at=self._clock.now())
        except (StoreError, TryLater) as error:
            _log.warning("owner_not_joined", problem=str(error))
            return
        for platform, user_id in joined.apart if joined else ():
            _log.warning(
                "owner_not_joined", channel=f"{platform}:{user_id}", problem=_APART, hint=_LINK
            )

    def _server(self, parts: GatewayParts, instance: Instance) -> tuple[Component, ...]:
        if parts.listener is None:
            return ()
        server = make_server(parts, parts.listener)
        task = ServerTask(server, instance, address=address_file(parts, parts.listener))
        return (Component(name="server", start=task.start, stop=task.stop),)

    def _components(self, parts: GatewayParts, server: tuple[Component, ...]) -> Components:
        """Return every part with a lifecycle, in start, drain and stop order."""
        hooks, mcp, connections = parts.adapters.hooks, parts.adapters.mcp, parts.connections
        core = parts.core.components(lambda: self._drain_turns(parts))
        observing = parts.storage.observing.components(parts.alerts)
        told = Component(
            name="hooks",
            start=lambda: hooks.started(parts.address),
            drain=lambda: hooks.ending(self.ending.reason),
            stop=hooks.stop,
        )
        tools = Component(name="mcp", start=mcp.start, stop=mcp.stop)
        secrets = parts.storage.secrets
        followed = Component(name="secrets", start=secrets.start, stop=secrets.stop)
        platforms = Component(name="connections", start=connections.start, stop=connections.stop)
        a2a = parts.channels.own["a2a"]
        pushes = Component(name="task pushes", start=a2a.start, stop=a2a.stop)
        watch = Component(name="watch", stop=parts.adapters.watch.close)
        programs = parts.programs.component()
        retention = make_retention(parts)
        keeping = Component(name="retention", start=retention.start, stop=retention.stop)
        return Components(
            # MCP before the core: the core resumes cut-off turns, which may need these tools.
            start=(
                *server,
                tools,
                followed,
                programs,
                *core.start,
                *observing,
                platforms,
                told,
                keeping,
                pushes,
            ),
            drain=(told, *core.drain),
            stop=(
                watch,
                keeping,
                pushes,
                *server,
                platforms,
                followed,
                tools,
                told,
                *observing,
                *core.stop,
                programs,
            ),
        )

    async def _drain_turns(self, parts: GatewayParts) -> None:
        settings = self._loaded.settings
        self.cut_off = await parts.core.lanes.drain(
            settings.server.drain_s, hurry=self._hurry, tells=settings.process.tell_stop
        )

    def _note_end(self) -> None:
        parts = self._running.parts
        self._running.state.ending(self.ending, at_end(parts.core, parts.connections.states()))

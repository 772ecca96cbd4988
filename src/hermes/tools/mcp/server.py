"""One MCP server for as long as it is configured: connect, list, watch, reconnect.

One task owns the connection. Calls come from turns and borrow it; a call that certainly did not
arrive is repeated on the next connection, any other that was cut off is reported as such.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import structlog

from hermes.config import NO_MCP, McpServerSettings
from hermes.errors import ToolError
from hermes.message.channel_name import of_channel
from hermes.ports.clock import Clock
from hermes.ports.tool import ToolContext
from hermes.tools.mcp.calls import MAX_QUESTIONS, RunningCall, SamplingLimits, Tell
from hermes.tools.mcp.catalogue import Catalogue, ToolOffer, make_catalogue
from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.connection import (
    Arguments,
    CallRefused,
    Connect,
    LinkEvents,
    LinkLost,
    LinkPlan,
    McpConnection,
    NotTaken,
)
from hermes.tools.mcp.grants import GrantStore
from hermes.tools.mcp.prompts import PromptOffer, ServerOffers, make_offered
from hermes.tools.mcp.questions import AskPerson
from hermes.tools.mcp.report import PromptLine, ServerStatus, State, ToolLine
from hermes.tools.mcp.traffic_limit import Sleep, TrafficLimit

_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 60.0
_JITTER = 0.25
# A connection that lasted this long was good: the next attempt is made at once.
_GOOD_S = 5.0
_MAX_WAIT_S = 5.0
_CHECK_S = 5.0
_REFRESH_GAP_S = 1.0
_STOP_S = 5.0
_SIDE_BY_SIDE = 16
_log = structlog.get_logger(__name__)


class ServerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all servers share: the connect function, clock, randomness, and callbacks."""

    connect: Callable[[], Awaitable[Connect]]
    clock: Clock
    sleep: Sleep
    chance: Callable[[], float]
    servers: Callable[[], Collection[str]]
    platforms: Callable[[], Mapping[str, Collection[str]]]
    check_s: float = 300.0
    ask: AskPerson | None = None
    ask_timeout_s: float = 300.0
    tell: Tell | None = None
    proxy: str | None = None
    ipv4_only: bool = False
    home: Path | None = None
    ca_bundle: Path | None = None
    mask: Callable[[str], str] = str
    grants: GrantStore | None = None


class McpServer:
    """One configured server."""

    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        *,
        around: ServerContext,
        on_change: Callable[[], None],
    ) -> None:
        self.name = name
        self.settings = settings
        self.catalogue = Catalogue()
        self.offered = ServerOffers()
        self.settled = asyncio.Event()
        """Set when the first attempt to connect has ended, successfully or not."""
        self._around = around
        self._on_change = on_change
        self._pace = TrafficLimit(around.clock.monotonic, around.sleep)
        self._places = asyncio.Semaphore(_SIDE_BY_SIDE if settings.parallel else 1)
        self._link: McpConnection | None = None
        self._up = asyncio.Event()
        self._nudge = asyncio.Event()
        self._wanted = asyncio.Event()
        self._done = asyncio.Event()
        self._over: str | None = None
        self._is_stale = False
        self._is_stopping = False
        self._state: State = "connecting"
        self._problem: str | None = None
        self._logged: str | None = None
        self._failures = 0
        self._since: float | None = None
        self._running = 0
        self._waiters = 0
        self._calls = 0
        self._calls_failed = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start connecting, in its own task."""
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def stop(self) -> None:
        """End the connection, and the program if one was started."""
        self._is_stopping = True
        for event in (self._nudge, self._wanted, self._done):
            event.set()
        if self._task is not None:
            if self._link is not None:
                # It closes the session first, within a time limit.
                await asyncio.wait({self._task}, timeout=_STOP_S)
            self._task.cancel()
            await asyncio.wait({self._task})
        self._down()
        self._state = "stopped"
        self.settled.set()

    @property
    def is_connected(self) -> bool:
        """Whether it can be called now."""
        return self._link is not None

    def is_for(self, platform: str) -> bool:
        """Return whether its tools may be used on a platform; a platform's list of servers limits
        them."""
        names = of_channel(self._around.platforms(), platform)
        return names is None or (self.name in names and NO_MCP not in names)

    def status(self) -> ServerStatus:
        """Return its state."""
        link, settings = self._link, self.settings
        return ServerStatus(
            name=self.name,
            state=self._state,
            transport="stdio" if settings.url is None else settings.transport,
            protocol="" if link is None else link.protocol,
            title="" if link is None else link.title,
            problem=self._problem,
            failures=self._failures,
            connected_s=None if link is None else self._lasted(),
            calls=self._calls,
            calls_failed=self._calls_failed,
            tools=tuple(map(_line, self.catalogue.offers)),
            notes=(*self.catalogue.notes, *self.offered.notes),
            prompts=tuple(map(_prompt_line, self.offered.prompts)),
            resources=tuple(one.uri for one in self.offered.resources),
        )

    def look_again(self) -> None:
        """Request the list soon: it may have changed, or the server may be gone."""
        self._is_stale = True
        self._nudge.set()

    async def call(self, offer: ToolOffer, arguments: Arguments, *, context: ToolContext) -> str:
        """Run a tool and return its text; every failure is a `ToolError`."""
        around = self._around
        call = RunningCall(
            context,
            server=self.name,
            ask=around.ask,
            ask_timeout_s=around.ask_timeout_s,
            tell=around.tell,
            sampling=_sampling(self.settings),
        )
        self._calls += 1
        try:
            async with call.limit(offer.timeout_s), self._places:
                return await self._run_call(offer, arguments, call=call)
        except TimeoutError:
            self._calls_failed += 1
            self.look_again()
            raise ToolError(
                f"the tool server {self.name} gave no result within {offer.timeout_s:g} s; the "
                "call was cancelled, and may or may not have taken effect"
            ) from None
        except ToolError:
            self._calls_failed += 1
            raise

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt; every failure is a `ToolError`."""
        return await self._ask(lambda link: link.prompt(name, arguments))

    async def read(self, uri: str) -> str:
        """Return the text of a resource; every failure is a `ToolError`."""
        return await self._ask(lambda link: link.read(uri))

    async def _ask(self, ask: Callable[[McpConnection], Awaitable[str]]) -> str:
        """Ask for something that changes nothing; it is not asked again if the connection ends."""
        limit_s = self.settings.timeout_s
        link = await self._connected()
        try:
            async with asyncio.timeout(limit_s):
                return await ask(link)
        except TimeoutError:
            self.look_again()
            raise ToolError(f"the server {self.name} did not answer within {limit_s:g} s") from None
        except LinkLost as lost:
            self._end(link, str(lost))
            raise ToolError(f"the connection to the server {self.name} ended: {lost}") from lost
        except CallRefused as refused:
            raise ToolError(f"the server {self.name} answered: {refused}") from refused

    async def _run_call(self, offer: ToolOffer, arguments: Arguments, *, call: RunningCall) -> str:
        self._running += 1
        try:
            return await self._try_call(offer, arguments, call=call)
        finally:
            self._running -= 1
            # A list request that was postponed because of this call.
            self._nudge.set()

    async def _try_call(self, offer: ToolOffer, arguments: Arguments, *, call: RunningCall) -> str:
        for is_last in (False, True):
            link = await self._connected()
            try:
                answer = await link.call(offer.original, arguments, call=call)
            except NotTaken as lost:
                self._end(link, str(lost))
                if is_last:
                    raise ToolError(f"the tool server {self.name} is gone: {lost}") from lost
                call.not_taken = False
                continue
            except LinkLost as lost:
                self._end(link, str(lost))
                raise ToolError(
                    f"the connection to the tool server {self.name} ended before it answered; the "
                    "call may or may not have taken effect"
                ) from lost
            except CallRefused as refused:
                if refused.doubtful:
                    self.look_again()
                raise ToolError(f"the tool server {self.name} answered: {refused}") from refused
            if answer.failed:
                raise ToolError(answer.text)
            return answer.text
        raise AssertionError

    async def _connected(self) -> McpConnection:
        """Return the connection; wait a little for one that is being made."""
        self._waiters += 1
        self._wanted.set()
        try:
            async with asyncio.timeout(_MAX_WAIT_S):
                await self._up.wait()
        except TimeoutError:
            why = self._problem or "it is still connecting"
            raise ToolError(
                f"the tool server {self.name} is not connected ({why}); do without it for now"
            ) from None
        finally:
            self._waiters -= 1
        assert self._link is not None
        return self._link

    def _end(self, link: McpConnection, reason: str) -> None:
        if self._link is link:
            self._ended(reason)

    def _ended(self, reason: str) -> None:
        """Record that the link has ended; the first reporter knows best."""
        self._over = self._problem = self._over or reason
        self._down()
        self._nudge.set()
        self._done.set()

    def _down(self) -> None:
        self._link = None
        self._state = "waiting"
        self._up.clear()

    async def _run(self) -> None:
        while not self._is_stopping:
            self._state, self._over, self._since = "connecting", None, None
            self._done.clear()
            try:
                await self._live()
            except LinkLost as lost:
                self._problem = self._last_word() or str(lost)
            except Exception:  # noqa: BLE001  boundary of this server's task: the next try goes on
                _log.exception("mcp_server_crashed", server=self.name)
                self._problem = "the client failed; see the log for details"
            self._down()
            self.settled.set()
            if not self._is_stopping:
                await self._rest(is_good=self._lasted() >= _GOOD_S)

    def _lasted(self) -> float:
        return 0.0 if self._since is None else self._around.clock.monotonic() - self._since

    async def _rest(self, *, is_good: bool) -> None:
        """Wait before the next attempt, longer after each failure; a waiting call shortens it."""
        self._state = "waiting"
        self._failures = 0 if is_good else self._failures + 1
        exponent = min(self._failures - 1, 10)
        wait_s = 0.0 if is_good else min(_FIRST_WAIT_S * 2.0**exponent, _LONGEST_WAIT_S)
        wait_s *= 1.0 + _JITTER * (2.0 * self._around.chance() - 1.0)
        self._log_problem(wait_s)
        least_s = min(wait_s, _FIRST_WAIT_S)
        await self._around.sleep(least_s)
        if not self._waiters and not self._is_stopping:
            self._wanted.clear()
            await self._sleep_unless(self._wanted, wait_s - least_s)

    def _log_problem(self, wait_s: float) -> None:
        """Log it once, not with every attempt."""
        say = _log.debug if self._problem == self._logged else _log.warning
        self._logged = self._problem
        say(
            "mcp_disconnected", server=self.name, problem=self._problem, retry_in_s=round(wait_s, 1)
        )

    async def _sleep_unless(self, event: asyncio.Event, seconds: float) -> None:
        sleeping = asyncio.ensure_future(self._around.sleep(seconds))
        woken = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({sleeping, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            woken.cancel()
            await asyncio.wait({sleeping, woken})

    async def _live(self) -> None:
        """Connect, and watch the connection until it ends."""
        connect = await self._around.connect()
        plan = LinkPlan(
            name=self.name,
            settings=self.settings,
            pace=self._pace,
            proxy=self._around.proxy,
            ipv4_only=self._around.ipv4_only,
            home=self._around.home,
            ca_bundle=self._around.ca_bundle,
            # A server that crashes on an unknown question is not asked it every time.
            probes=self._failures % 2 == 0,
            mask=self._around.mask,
            grants=self._around.grants,
        )
        events = LinkEvents(changed=self.look_again, ended=self._ended)
        async with AsyncExitStack() as stack:
            link = await stack.enter_async_context(connect(plan, events))
            self._is_stale = False
            await self._refresh(link, within_s=self.settings.connect_timeout_s, is_first=True)
            self._came_up(link)
            try:
                await self._attend(link)
            except LinkLost as lost:
                # Closing may take a while; calls must not borrow the link meanwhile.
                self._ended(str(lost))
                raise
        if self._over is not None:
            raise LinkLost(self._over)

    def _came_up(self, link: McpConnection) -> None:
        if self._over is not None:
            raise LinkLost(self._over)
        self._link, self._state = link, "connected"
        self._problem = self._logged = None
        self._since = self._around.clock.monotonic()
        self._up.set()
        self.settled.set()
        _log.info(
            "mcp_connected",
            server=self.name,
            protocol=link.protocol,
            tools=len(self.catalogue.offers),
        )

    async def _attend(self, link: McpConnection) -> None:
        """Keep the list current until the connection ends or the server is stopped."""
        while not self._is_done():
            try:
                async with asyncio.timeout(self._around.check_s):
                    await self._nudge.wait()
            except TimeoutError:
                self._is_stale = True
            self._nudge.clear()
            if self._is_stale and not self._is_done():
                self._is_stale = False
                await self._refresh(link, within_s=_CHECK_S)
                # A server that reports changes all the time is asked once a second.
                await self._sleep_unless(self._done, _REFRESH_GAP_S)

    def _last_word(self) -> str | None:
        """Return the link's reason for its end; it knows more than the caller that noticed it."""
        return self._over

    def _is_done(self) -> bool:
        return self._over is not None or self._is_stopping

    async def _refresh(
        self, link: McpConnection, *, within_s: float, is_first: bool = False
    ) -> None:
        """Fetch the list again; no response at all ends the connection."""
        try:
            async with asyncio.timeout(within_s):
                listed = await link.list_tools()
        except TimeoutError:
            # It may be busy with a call, which has its own limit.
            if self._running and not is_first:
                self._is_stale = True
                return
            raise LinkLost(f"it did not list its tools within {within_s:g} s") from None
        except CallRefused as refused:
            if is_first or refused.doubtful:
                raise LinkLost(f"it does not list its tools: {refused}") from refused
            self._problem = f"it does not list its tools: {refused}"
            return
        self._take(
            make_catalogue(
                self.name,
                listed,
                settings=self.settings,
                servers=self._around.servers(),
                ask_timeout_s=0.0 if self._around.ask is None else self._asking_s(),
                mask=self._around.mask,
            )
        )

        await self._refresh_offered(link, within_s=within_s)

    async def _refresh_offered(self, link: McpConnection, *, within_s: float) -> None:
        """Fetch the prompts and resources, if they are used; without them the tools still work."""
        settings = self.settings
        try:
            async with asyncio.timeout(within_s):
                prompts = await link.list_prompts() if settings.prompts else ()
                resources = await link.list_resources() if settings.resources else ()
        except (TimeoutError, CallRefused) as error:
            why = one_line(str(error), 200) or f"nothing came within {within_s:g} s"
            self.offered = ServerOffers(notes=(f"its prompts and resources are not listed: {why}",))
        else:
            self.offered = make_offered(
                self.name, prompts, resources, settings=settings, mask=self._around.mask
            )

    def _asking_s(self) -> float:
        return self._around.ask_timeout_s * MAX_QUESTIONS

    def _take(self, catalogue: Catalogue) -> None:
        if catalogue != self.catalogue:
            self.catalogue = catalogue
            self._on_change()


def _sampling(settings: McpServerSettings) -> SamplingLimits | None:
    if settings.sampling is None:
        return None
    return SamplingLimits(
        agent=settings.sampling, most=settings.max_samples, chars=settings.max_sample_chars
    )


def _prompt_line(offer: PromptOffer) -> PromptLine:
    return PromptLine(command=offer.word, original=offer.original, use=offer.use)


def _line(offer: ToolOffer) -> ToolLine:
    return ToolLine(
        name=offer.spec.name,
        original=offer.original,
        needs_approval=offer.traits.needs_approval,
        idempotent=offer.traits.idempotent,
    )

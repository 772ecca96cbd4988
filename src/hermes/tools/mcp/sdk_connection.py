"""The real link: the official SDK over pipes or HTTP, in either era of MCP.

Loaded by name when the first server is started, because the SDK takes a second to import.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import httpx2
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from hermes.config import McpServerSettings
from hermes.config.named_variables import names_in
from hermes.tools.mcp.catalogue import secrets_of
from hermes.tools.mcp.clean_text import Scrubber, one_line
from hermes.tools.mcp.connection import Connect, LinkEvents, LinkLost, LinkPlan, McpConnection
from hermes.tools.mcp.grants import oauth_origins
from hermes.tools.mcp.http_wire import HttpServerAddress, HttpWire, make_transport
from hermes.tools.mcp.oauth_wire import OAuthTokens, fenced_client
from hermes.tools.mcp.sdk_session import SdkLink
from hermes.tools.mcp.stdio_wire import Program, StdioWire
from hermes.tools.mcp.streams import PacedStream

_LISTEN_AGAIN_S = 30.0
# The SDK logs whole messages, including untrusted text; what matters is logged here.
for _name in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def sdk_connect() -> Connect:
    """Return the connect function; calling it late imports the SDK late."""
    return open_link


@asynccontextmanager
async def open_link(plan: LinkPlan, events: LinkEvents) -> AsyncIterator[McpConnection]:
    """Connect to a server and negotiate the protocol; every failure is a `LinkLost`."""
    _check_names(plan.settings)
    scrubber = secrets_of(plan.settings, mask=plan.mask)
    ending = _Ending(events.ended, scrubber)
    wire = _wire(plan, lost=ending.tell)
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(plan.settings.connect_timeout_s):
                await _with_tokens(wire, plan, scrubber=scrubber, lost=ending.tell)
                link = await _linked(stack, plan, wire=wire, ending=ending, events=events)
            yield link
    # Boundary to the SDK: whatever it raises becomes one of our errors.
    except Exception as error:
        raise LinkLost(scrubber.scrub(explain(error, wire.epitaph()))) from error


def _check_names(settings: McpServerSettings) -> None:
    """Raise `LinkLost` if the settings name a secret that nobody has set."""
    missing = sorted(names_in(settings))
    if missing:
        raise LinkLost(
            f"its settings name {', '.join(missing)}, and there is no such secret or variable: store "
            f"it with `hermes secrets set {missing[0]}`, and the server is connected"
        )


class _Ending:
    """Reports once that a link has ended, and why."""

    def __init__(self, ended: Callable[[str], None], scrubber: Scrubber) -> None:
        self._ended = ended
        self.scrubber = scrubber
        self.link: SdkLink | None = None

    def tell(self, reason: str) -> None:
        """Report that the server ended the link."""
        self._ended(self.mark(reason))

    def mark(self, reason: str) -> str:
        """Mark the link as ended, whoever ended it: calls on it fail as lost."""
        told = self.scrubber.scrub(reason)
        if self.link is not None and self.link.over is None:
            self.link.over = told
        return told


async def _linked(
    stack: AsyncExitStack,
    plan: LinkPlan,
    *,
    wire: StdioWire | HttpWire,
    ending: _Ending,
    events: LinkEvents,
) -> SdkLink:
    incoming, outgoing = await stack.enter_async_context(wire.open())
    paced = PacedStream(
        incoming,
        plan.pace,
        ended=lambda: ending.tell(wire.epitaph()),
        closed=lambda: ending.mark(wire.epitaph()),
    )
    link = ending.link = SdkLink(
        plan.name,
        paced,
        outgoing,
        scrubber=ending.scrubber,
        changed=events.changed,
        samples=plan.settings.sampling is not None,
    )
    await stack.enter_async_context(link.session)
    await _agree(link.session, plan)
    if link.follows_by_asking:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(_follow, link.session, events.changed)
    return link


async def _agree(session: ClientSession, plan: LinkPlan) -> None:
    """Find the era that both sides support; if unknown, the newest is tried first."""
    protocol = plan.settings.protocol
    if protocol == "stateless":
        await session.discover()
    elif protocol == "handshake" or not plan.probes or plan.settings.transport == "sse":
        await session.initialize()
    else:
        await _probe(session)


async def _probe(session: ClientSession) -> None:
    """Ask for the new era; on any other answer, use the handshake.

    A connection that ends because of the question fails here, too; the next one does not ask.
    """
    with suppress(MCPError, RuntimeError, ValidationError):
        await session.discover()
        return
    try:
        await session.initialize()
    except MCPError as error:
        # Its answer to the first question came late: it does support the new era.
        if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()


async def _follow(session: ClientSession, changed: Callable[[], None]) -> None:
    """Listen for changes of the list, repeatedly; what was missed meanwhile is fetched."""
    while True:
        try:
            async with listen(session, tools_list_changed=True) as changes:
                changed()
                async for _ in changes:
                    changed()
        except (MCPError, SubscriptionLost) as error:
            if isinstance(error, MCPError) and error.code == types.METHOD_NOT_FOUND:
                return
        await asyncio.sleep(_LISTEN_AGAIN_S)


async def _with_tokens(
    wire: StdioWire | HttpWire,
    plan: LinkPlan,
    *,
    scrubber: Scrubber,
    lost: Callable[[str], None],
) -> None:
    """Have a token of OAuth, if the settings ask for it; raises `LinkLost`."""
    oauth, url, grants = plan.settings.oauth, plan.settings.url, plan.grants
    if oauth.issuer is None or url is None or isinstance(wire, StdioWire):
        return
    if grants is None:
        raise LinkLost("its tokens are kept by the gateway, which does not run here")
    wire.tokens = OAuthTokens(
        plan.name,
        oauth,
        url=url,
        grants=grants,
        client=lambda: fenced_client(make_transport(_place(plan)), oauth_origins(plan.settings)),
        scrubber=scrubber,
        lost=lost,
    )
    await wire.tokens.prepare()


def _wire(plan: LinkPlan, *, lost: Callable[[str], None]) -> StdioWire | HttpWire:
    settings = plan.settings
    if settings.url is None:
        program = Program(
            command=settings.command or "",
            args=settings.args,
            env={name: value.get_secret_value() for name, value in settings.env.items()},
            cwd=settings.cwd if plan.home is None else settings.folder_in(plan.home),
            home=plan.home,
            max_message_bytes=settings.max_message_bytes,
        )
        return StdioWire(program, plan.pace, secrets_of(settings, mask=plan.mask))
    return HttpWire(_place(plan), plan.pace, lost=lost)


def _place(plan: LinkPlan) -> HttpServerAddress:
    settings = plan.settings
    return HttpServerAddress(
        url=settings.url or "",
        transport=settings.transport,
        headers={name: value.get_secret_value() for name, value in settings.headers.items()},
        connect_timeout_s=settings.connect_timeout_s,
        max_message_bytes=settings.max_message_bytes,
        proxy=plan.proxy,
        ipv4_only=plan.ipv4_only,
        ca_bundle=plan.ca_bundle,
    )


_CHARS = 500


def leaf_of(error: BaseException) -> BaseException:
    """Return the first real cause in a group of exceptions, as task groups raise them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def explain(error: BaseException, epitaph: str) -> str:
    """Return what an operator should know; `epitaph` is the wire's reason for its end."""
    cause = leaf_of(error)
    if isinstance(cause, LinkLost):
        return str(cause)
    if isinstance(cause, TimeoutError):
        return f"no answer in time ({epitaph})" if epitaph else "no answer in time"
    if isinstance(cause, httpx2.TransportError):
        return epitaph or f"no connection ({one_line(str(cause), _CHARS)})"
    if isinstance(cause, httpx2.HTTPStatusError):
        return epitaph or f"the server answered HTTP {cause.response.status_code}"
    if isinstance(cause, MCPError):
        told = one_line(cause.error.message, _CHARS)
        return f"{epitaph} ({told})" if epitaph else f"the server refused: {told}"
    if isinstance(cause, ValidationError | httpx2.SSEError):
        return "the server's response is not MCP, or too long"
    return one_line(f"{type(cause).__name__}: {cause}", _CHARS)

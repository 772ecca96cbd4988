"""A2A as a channel: `POST /workspaces/{id}/a2a`, and the agent cards.

The order on every request is fixed: authenticate, find the agent, check the size, parse, and only
then the SDK. It is imported by the first call.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from starlette.routing import Route

from hermes.agents.roster import Agent, Roster
from hermes.errors import NotFound, TryLater
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.lazy import lazy
from hermes.media.check import FileLimits
from hermes.message.ids import MakeId
from hermes.net.guard import Guard
from hermes.ports.channel import Accept, Capabilities
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import ApiEndpoint, GatewayApi
from hermes.ports.tasks import TaskStore
from hermes.server.a2a.pushes import TaskPushes
from hermes.server.v1.callers import ApiCaller, Callers, check_model

if TYPE_CHECKING:
    from hermes.server.a2a.cards import card_json
    from hermes.server.a2a.rpc import RpcEndpoint, make_rpc
else:
    card_json = lazy("hermes.server.a2a.cards:card_json")
    make_rpc = lazy("hermes.server.a2a.rpc:make_rpc")

PLATFORM = "a2a"
# A client looks below the address that it was given, which may be that of the calls.
_CARD_PLACES = ("", "/workspaces/{id}", "/workspaces/{id}/a2a")
# The name of version 1.0, and that of old clients.
_CARD_NAMES = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_BODY_S = 30.0


class A2aLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and times, and who may read the agent cards; `public_url` is this gateway's address."""

    files: FileLimits
    body_bytes: int = 2_097_152
    wait_s: float = 600.0
    delegate_depth: int = 3
    public_cards: bool = False
    public_url: str = ""


class A2aParts(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of the channel."""

    gateway_api: GatewayApi
    callers: Callers
    roster: Roster
    settings: A2aLimits
    clock: Clock
    make_id: MakeId
    tasks: TaskStore
    guard: Guard
    pushes: TaskPushes


class A2aCall(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls which agent; a task belongs to the credential that was shown, and to its agent."""

    caller: ApiCaller
    agent: Agent

    @property
    def tasks(self) -> str:
        """The beginning of the external ids of this caller's messages to this agent."""
        return f"{self.caller.credential}:{self.agent.key}:"


class CallContext:
    """What one call has beside its request; `later` is set if it may succeed later."""

    def __init__(self, call: A2aCall, parts: A2aParts, *, address: str) -> None:
        self.call = call
        self.address = address
        self.gateway_api = parts.gateway_api
        self.make_id = parts.make_id
        self.later: TryLater | None = None


MakeParts = Callable[[GatewayApi], A2aParts]


class RpcRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of A2A, as JSON-RPC 2.0: `method` is such as `message/send` (0.3) or `SendMessage` (1.0)."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | None = None
    # Any: what the protocol says of the method.
    params: dict[str, Any] = {}


class RpcAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request of A2A: a `result` or an `error`."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    # Any: what the protocol says of the method.
    result: Any = None
    error: dict[str, Any] | None = None


class CardFields(msgspec.Struct, frozen=True, kw_only=True):
    """What every agent card has; the protocol adds more."""

    name: str
    description: str
    version: str


class A2aChannel:
    """The Agent2Agent protocol as a channel; its transport is the HTTP server itself."""

    name = PLATFORM
    capabilities = Capabilities(delivery="pull", busy="queue", max_chars=1_000_000, own_chats=True)

    def __init__(self, make_parts: MakeParts) -> None:
        self._make_parts = make_parts
        # Absent without an HTTP server.
        self._pushes: TaskPushes | None = None

    async def connect(self, accept: Accept) -> None:
        """Nothing to start: the server brings the requests."""

    async def disconnect(self) -> None:
        """Nothing to release."""

    def start(self) -> None:
        """Start to notify callers of their tasks."""
        if self._pushes is not None:
            self._pushes.start()

    async def stop(self) -> None:
        """Notify nobody any more; what is due is due after the next start."""
        if self._pushes is not None:
            await self._pushes.stop()

    def routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        """Return the routes to mount."""
        parts = self._make_parts(gateway_api)
        self._pushes = parts.pushes
        api = _Api(parts)
        card = Endpoint({"GET": api.card}, head=True)
        return (
            Route("/workspaces/{id}/a2a", Endpoint({"POST": api.post})),
            *(Route(f"{place}{name}", card) for place in _CARD_PLACES for name in _CARD_NAMES),
        )

    def endpoints(self) -> Sequence[ApiEndpoint]:
        """Return the endpoints, for OpenAPI."""
        return (
            ApiEndpoint(
                name="a2a.call",
                method="POST",
                path="/workspaces/{id}/a2a",
                group="A2A",
                summary="Call an agent over A2A (JSON-RPC, versions 1.0 and 0.3).",
                request=RpcRequest,
                report=RpcAnswer,
                streams=True,
                is_bearer_only=True,
            ),
            ApiEndpoint(
                name="a2a.card",
                method="GET",
                path="/workspaces/{id}/.well-known/agent-card.json",
                group="A2A",
                summary="Return the agent card of an agent.",
                report=CardFields,
            ),
            ApiEndpoint(
                name="a2a.default_card",
                method="GET",
                path="/.well-known/agent-card.json",
                group="A2A",
                summary="Return the agent card of the default agent.",
                report=CardFields,
            ),
        )


class _Api:
    def __init__(self, parts: A2aParts) -> None:
        self._parts = parts

    @cached_property
    def _rpc(self) -> "RpcEndpoint":
        return make_rpc(self._parts)

    async def post(self, exchange: HttpExchange) -> Answer:
        call = await self._call(exchange)
        limit = self._parts.settings.body_bytes
        body = await exchange.body(limit=limit, timeout_s=_BODY_S)
        address = self._address(exchange)
        return await self._rpc.answer(call, body, exchange=exchange, address=address)

    async def card(self, exchange: HttpExchange) -> Answer:
        """Return the card of an agent; at the well-known place of the gateway, of the default one."""
        parts = self._parts
        name = exchange.scope.get("path_params", {}).get("id")
        if parts.settings.public_cards:
            agent = parts.roster.default if name is None else await self._agent(name)
        else:
            agent = (await self._call(exchange)).agent
        return json_response(card_json(agent, address=self._address(exchange)))

    def _address(self, exchange: HttpExchange) -> str:
        """Return the address of this gateway as its callers know it."""
        host = exchange.headers.get("host", "")
        return self._parts.settings.public_url or f"http://{host}"

    async def _call(self, exchange: HttpExchange) -> A2aCall:
        """Return who calls which agent; raises if they may not."""
        refuse_url_credentials(exchange)
        caller = await self._parts.callers.check(exchange.headers)
        name = exchange.scope.get("path_params", {}).get("id")
        agent = self._parts.roster.default if name is None else await self._agent(name)
        check_model(caller, f"agent:{agent.name}", f"agent:{agent.key}")
        return A2aCall(caller=caller, agent=agent)

    async def _agent(self, name: str) -> Agent:
        agent = await self._parts.roster.find(name)
        if agent is None:
            raise NotFound(f"There is no workspace {name[:100]!r}.")
        return agent

"""`/control/...`: how operators and the command line reach the running gateway.

Every row of the table of orders becomes a handler. The gate in front of them determines the caller,
the caller's role and whether the connection is safe.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.routing import Route

from hermes.control.audited import AuditedActions, Operator
from hermes.control.operations import Operations
from hermes.control.order import Actor, AnyOrder, local_actor
from hermes.control.orders import ORDERS
from hermes.errors import BadRequest, Forbidden
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, Handler, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins, host_name, is_loopback
from hermes.ports.gateway_api import Caller, GatewayApi

_ASK_BYTES = 2_097_152
_ASK_S = 15.0
_OPERATOR_HEADER = "x-hermes-operator"
_LONGEST_NAME = 64
# What a proxy adds to the requests of others.
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"})
# The field that names who gives an order that changes something; of a GET it is an ordinary field.
_BY = "by"
_Request = TypeVar("_Request")


def control_routes(
    gate: "ControlGate", operations: Operations, *, orders: Sequence[AnyOrder] = ORDERS
) -> tuple[Route, ...]:
    """Return the routes of all orders, one for each path."""
    paths: dict[str, dict[str, list[AnyOrder]]] = {}
    for order in orders:
        paths.setdefault(order.route, {}).setdefault(order.method, []).append(order)
    return tuple(
        Route(
            path,
            Endpoint({name: gate.handler(rows, operations) for name, rows in methods.items()}),
        )
        for path, methods in paths.items()
    )


class ControlGate:
    """Turns orders into HTTP handlers: identifies the caller, reads the request, runs the order.

    `mask` returns a report without stored secrets.
    """

    def __init__(
        self,
        gateway_api: GatewayApi,
        audited: AuditedActions,
        *,
        origins: Origins,
        mask: Callable[[object], object] = lambda report: report,
    ) -> None:
        self._gateway_api = gateway_api
        self._audited = audited
        self._origins = origins
        self._mask = mask

    def handler(self, orders: Sequence[AnyOrder], operations: Operations) -> Handler:
        """Return the handler of the orders at one path; the query decides which order is meant."""
        by_variant = sorted(orders, key=lambda order: not order.variant)
        apart = {name for order in orders for name in order.variant}

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            query = exchange.query().items()
            order = next(one for one in by_variant if one.variant.items() <= query)
            request = await self._request(exchange, order, actor, apart=apart)
            operator = Operator(operations, actor, audited=self._audited)
            return json_response(self._mask(await operator.give(order, request)))

        return handle

    # Any: the request type that the row names.
    async def _request(
        self, exchange: HttpExchange, order: AnyOrder, actor: Actor, *, apart: Set[str]
    ) -> Any:
        if order.takes_body:
            return await self._from_body(exchange, order, actor)
        return await self._from_query(exchange, order, actor, apart=apart)

    async def _from_body(self, exchange: HttpExchange, order: AnyOrder, actor: Actor) -> Any:
        """Return the request in the body; do not read it for an actor who may not give the
        order.
        """
        await self._audited.admit(actor, order)
        body = await exchange.body(limit=_ASK_BYTES, timeout_s=_ASK_S)
        try:
            said = msgspec.json.decode(body or b"{}", type=dict[str, Any])
            request = msgspec.convert(said | _in_path(exchange, order), order.request)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest(f"The body is not valid: {error}. {_takes(order)}") from None
        _refuse_unknown(said, order)
        return _signed(request, actor)

    async def _from_query(
        self, exchange: HttpExchange, order: AnyOrder, actor: Actor, *, apart: Set[str]
    ) -> Any:
        said = {name: one for name, one in exchange.query().items() if name not in apart}
        try:
            request = msgspec.convert(said | _in_path(exchange, order), order.request, strict=False)
        except msgspec.ValidationError as error:
            await self._audited.admit(actor, order)
            raise BadRequest(f"The query is not valid: {error}. {_takes(order)}") from None
        await self._audited.admit(actor, order, request=request)
        _refuse_unknown(said, order)
        return _signed(request, actor) if order.method != "GET" else request

    async def enter(self, exchange: HttpExchange) -> Actor:
        """Return the caller; raise `Unauthenticated`, or `Forbidden` for an unencrypted
        connection.
        """
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.recognise(exchange.headers)
        self._origins.check(caller, exchange.headers)
        if caller.kind != "local" and not self._is_private(exchange):
            raise Forbidden(
                "This token arrived over plain http from another machine, where others can read "
                "it: replace it, and use https (server.public_url, and server.trusted_proxies if the "
                "proxy is on another machine) or this machine's own address."
            )
        return _actor(caller, exchange)

    async def note(self, actor: Actor, order: AnyOrder, request: object) -> None:
        """Put an order on record whose answer is no report; raise `Forbidden` as for any other."""

        async def nothing() -> None:
            return None

        await self._audited.act(actor, order, work=nothing, request=request)

    def _is_private(self, exchange: HttpExchange) -> bool:
        scope, headers = exchange.scope, exchange.headers
        peer = scope["client"][0] if scope.get("client") else None
        if self._origins.is_secure(scope.get("scheme", "http"), headers, peer=peer):
            return True
        # A proxy on this machine hands on what others sent, with the Host that they wrote.
        return (
            peer is not None
            and _is_here(peer)
            and _FORWARDED.isdisjoint(headers)
            and is_loopback(host_name(headers.get("host", "")))
        )


def _takes(order: AnyOrder) -> str:
    """List the fields, without the one that only the command line sends."""
    own = "" if order.method == "GET" else _BY
    return f"The fields are: {', '.join(name for name in _fields(order) if name != own) or 'none'}."


def _refuse_unknown(said: Iterable[str], order: AnyOrder) -> None:
    """Raise `BadRequest` for an unknown field: a misspelt limit must not be ignored silently."""
    known = _fields(order)
    unknown = next((name for name in said if name not in known), None)
    if unknown is not None:
        raise BadRequest(f"There is no field {unknown[:80]!r} here. {_takes(order)}")


def _fields(order: AnyOrder) -> list[str]:
    """Return the fields that are in the query or the body, and not in the path."""
    names = [field.encode_name for field in msgspec.structs.fields(order.request)]
    return [name for name in names if name not in order.parameters]


def _in_path(exchange: HttpExchange, order: AnyOrder) -> dict[str, str]:
    return {name: exchange.scope["path_params"][name] for name in order.parameters}


def _is_here(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _actor(caller: Caller, exchange: HttpExchange) -> Actor:
    """Return the actor of the order; this machine's command line names the actor itself."""
    if caller.kind == "local":
        name = exchange.headers.get(_OPERATOR_HEADER, "")
        return local_actor(unquote(name)[:_LONGEST_NAME])
    return Actor(caller.kind, caller.session or caller.id, caller.role)


def _signed(request: _Request, actor: Actor) -> _Request:
    """Return the request with its actor; only this machine's command line may name the actor
    itself.
    """
    if (
        actor.kind == "local"
        or not isinstance(request, msgspec.Struct)
        or not hasattr(request, _BY)
    ):
        return request
    return msgspec.structs.replace(request, by=actor.name)

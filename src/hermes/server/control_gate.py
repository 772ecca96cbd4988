"""The gate before the operator's functions: who calls, with which role, and over which way.

Makes handlers of functions; each belongs to an order of the table, and passes the office.
"""

from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import unquote

import msgspec

from hermes.control.actions import ACTIONS
from hermes.control.audited import Actor, AuditedActions, local_actor
from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Handler, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins, host_name, is_loopback
from hermes.ports.gateway_api import Caller, GatewayApi

_ASK_BYTES = 2_097_152
_ASK_S = 15.0
_OPERATOR_HEADER = "x-hermes-operator"
_LONGEST_NAME = 64
# Who gives an order, in its body; in a query it is a field like any other.
_BY = "by"
_Order = TypeVar("_Order")


class ControlGate:
    """Makes handlers; `orders` are the names of all that it made one for."""

    def __init__(
        self, gateway_api: GatewayApi, audited: AuditedActions, *, origins: Origins
    ) -> None:
        self._gateway_api = gateway_api
        self._audited = audited
        self._origins = origins
        self.orders: set[str] = set()

    def told(self, action: str, answer: Callable[[], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes nothing."""
        self._know(action)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            return json_response(await self._audited.act(actor, action, work=answer))

        return handle

    def told_to(self, action: str, answer: Callable[[Actor], Awaitable[object]]) -> Handler:
        """Return a handler as `told` does, of a function that takes who gives the order."""
        self._know(action)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            return json_response(await self._audited.act(actor, action, work=lambda: answer(actor)))

        return handle

    def ordered(
        self, action: str, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]
    ) -> Handler:
        """Return a handler of a function that takes the body, which nobody reads for those who may not."""
        self._know(action)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            order = await self._read(exchange, kind, actor=actor, action=action)
            return await self._done(actor, action, order=order, answer=answer)

        return handle

    def ordered_by(
        self, action: str, kind: type[_Order], answer: Callable[[_Order, Actor], Awaitable[object]]
    ) -> Handler:
        """Return a handler as `ordered` does, of a function that also takes who gives the order."""
        self._know(action)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            order = await self._read(exchange, kind, actor=actor, action=action)
            return await self._done(
                actor, action, order=order, answer=lambda said: answer(said, actor)
            )

        return handle

    async def _read(
        self, exchange: HttpExchange, kind: type[_Order], *, actor: Actor, action: str
    ) -> _Order:
        await self._audited.admit(actor, action)
        body = await exchange.body(limit=_ASK_BYTES, timeout_s=_ASK_S)
        try:
            order = msgspec.json.decode(body or b"{}", type=kind)
        except msgspec.DecodeError as error:
            raise BadRequest(f"The body cannot be taken: {error}. {_takes(kind)}") from None
        _refuse_unknown(msgspec.json.decode(body or b"{}"), kind)
        return _signed(order, actor)

    def asked(
        self, action: str, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]
    ) -> Handler:
        """Return a handler of a function that takes what the query says."""
        self._know(action)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            try:
                ask = msgspec.convert(exchange.query(), kind, strict=False)
            except msgspec.ValidationError as error:
                await self._audited.admit(actor, action)
                takes = _takes(kind, own="")
                raise BadRequest(f"The query cannot be taken: {error}. {takes}") from None
            await self._audited.admit(actor, action, order=ask)
            _refuse_unknown(exchange.query(), kind, own="")
            return await self._done(actor, action, order=ask, answer=answer)

        return handle

    def named(
        self, action: str, in_full: str, answer: Callable[[str, bool], Awaitable[object | None]]
    ) -> Handler:
        """Return a handler of a function that takes the id in the path, and whether text is wanted.

        With text it is another order.
        """
        self._know(action)
        self._know(in_full)

        async def handle(exchange: HttpExchange) -> Answer:
            actor = await self.enter(exchange)
            with_text = exchange.query().get("text") == "true"

            async def tell(name: str) -> object:
                found = await answer(name, with_text)
                if found is None:
                    raise NotFound(
                        f"Nothing is known of {name[:80]!r}: neither a message nor a refusal."
                    )
                return found

            name = exchange.parameter("id")
            return await self._done(
                actor, in_full if with_text else action, order=name, answer=tell
            )

        return handle

    async def _done(
        self,
        actor: Actor,
        action: str,
        *,
        order: _Order,
        answer: Callable[[_Order], Awaitable[object]],
    ) -> Answer:
        return json_response(
            await self._audited.act(actor, action, work=lambda: answer(order), order=order)
        )

    async def enter(self, exchange: HttpExchange) -> Actor:
        """Return who calls; raises `Unauthenticated`, and `Forbidden` for a way that is open to others."""
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.recognise(exchange.headers)
        self._origins.check(caller, exchange.headers)
        if caller.kind != "local" and not self._is_private(exchange):
            raise Forbidden(
                "This token has come over plain http from another machine, where others can read "
                "it: replace it, and use https (server.public_url), or this machine's own address."
            )
        return _actor(caller, exchange)

    def _is_private(self, exchange: HttpExchange) -> bool:
        scope, headers = exchange.scope, exchange.headers
        if self._origins.is_secure(scope.get("scheme", "http"), headers):
            return True
        client = scope.get("client")
        return (
            client is not None
            and _is_here(client[0])
            and is_loopback(host_name(headers.get("host", "")))
        )

    def _know(self, action: str) -> None:
        if action not in ACTIONS:
            raise KeyError(f"{action} is no order of control/actions.py")
        self.orders.add(action)


def _takes(kind: type, *, own: str = _BY) -> str:
    """Say which fields there are, without the command line's own one."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return f"The fields are: {', '.join(name for name in names if name != own) or 'none'}."


def _refuse_unknown(said: Iterable[str], kind: type, *, own: str = _BY) -> None:
    """Raise `BadRequest` for a field that nobody reads: a limit that was misspelt is no limit."""
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = next((name for name in said if name not in known), None)
    if unknown is not None:
        raise BadRequest(f"There is no field {unknown[:80]!r} here. {_takes(kind, own=own)}")


def _is_here(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _actor(caller: Caller, exchange: HttpExchange) -> Actor:
    """Return who gives the order; this machine's command line says itself for whom."""
    if caller.kind == "local":
        name = exchange.headers.get(_OPERATOR_HEADER, "")
        return local_actor(unquote(name)[:_LONGEST_NAME])
    return Actor(caller.kind, caller.session or caller.id, caller.role)


def _signed(order: _Order, actor: Actor) -> _Order:
    """Return the order with who gives it; only this machine's command line says that itself."""
    if actor.kind == "local" or not isinstance(order, msgspec.Struct) or not hasattr(order, "by"):
        return order
    return msgspec.structs.replace(order, by=actor.name)

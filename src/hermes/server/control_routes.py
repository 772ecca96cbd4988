"""`/control/...`: how this machine's command line reaches the running gateway.

Only the local caller may use it. The functions are handed in; here they only get an address.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from starlette.routing import Route

from hermes.control.consent import ConsentAsk, ConsentOrder
from hermes.control.keys import KeyEnd, NewKey
from hermes.control.spending import CostAsk, SwitchOrder
from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.net.http_json import json_response
from hermes.net.http_route import Answer, Endpoint, Exchange, Handler, refuse_url_credentials
from hermes.net.same_origin import Origins
from hermes.ports.door import Door
from hermes.routing.plan import Ask

_ASK_BYTES = 2_097_152
_ASK_S = 15.0
_Order = TypeVar("_Order")


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's functions; each returns what JSON can say.

    `why` takes the id and whether the words of the message are wanted too; `route` takes the call
    whose plan is wanted.
    """

    status: Callable[[], Awaitable[object]]
    why: Callable[[str, bool], Awaitable[object | None]]
    models: Callable[[], Awaitable[object]]
    route: Callable[[Ask], Awaitable[object]]
    link: Callable[[], Awaitable[object]]
    token: Callable[[], Awaitable[object]]
    create_key: Callable[[NewKey], Awaitable[object]]
    keys: Callable[[], Awaitable[object]]
    revoke_key: Callable[[KeyEnd], Awaitable[object]]
    kill_switch: Callable[[], Awaitable[object]]
    set_kill_switch: Callable[[SwitchOrder], Awaitable[object]]
    costs: Callable[[CostAsk], Awaitable[object]]
    consent: Callable[[ConsentAsk], Awaitable[object]]
    set_consent: Callable[[ConsentOrder], Awaitable[object]]


def control_routes(door: Door, control: Control, *, origins: Origins) -> tuple[Route, ...]:
    """Return the operator's routes."""
    local = _LocalOnly(door, control, origins=origins)
    told, ordered = local.told, local.ordered
    keys = {"GET": told(control.keys), "POST": ordered(NewKey, control.create_key)}
    switch = {
        "GET": told(control.kill_switch),
        "POST": ordered(SwitchOrder, control.set_kill_switch),
    }
    consent = {
        "GET": local.asked(ConsentAsk, control.consent),
        "POST": ordered(ConsentOrder, control.set_consent),
    }
    return (
        Route("/control/status", Endpoint({"GET": told(control.status)})),
        Route("/control/why/{id:path}", Endpoint({"GET": local.why})),
        Route("/control/models", Endpoint({"GET": told(control.models)})),
        Route("/control/route", Endpoint({"POST": ordered(Ask, control.route)})),
        Route("/control/link", Endpoint({"POST": told(control.link)})),
        Route("/control/token", Endpoint({"POST": told(control.token)})),
        Route("/control/keys", Endpoint(keys)),
        Route("/control/keys/revoke", Endpoint({"POST": ordered(KeyEnd, control.revoke_key)})),
        Route("/control/kill-switch", Endpoint(switch)),
        Route("/control/costs", Endpoint({"GET": local.asked(CostAsk, control.costs)})),
        Route("/control/consent", Endpoint(consent)),
    )


class _LocalOnly:
    """Makes handlers of functions, each for this machine's command line alone."""

    def __init__(self, door: Door, control: Control, *, origins: Origins) -> None:
        self._door = door
        self._control = control
        self._origins = origins

    def told(self, answer: Callable[[], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes nothing."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            return json_response(await answer())

        return handle

    def ordered(self, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes the body."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            body = await exchange.body(limit=_ASK_BYTES, timeout_s=_ASK_S)
            try:
                order = msgspec.json.decode(body, type=kind)
            except msgspec.DecodeError as error:
                raise BadRequest(f"The body is no {kind.__name__}: {error}.") from None
            return json_response(await answer(order))

        return handle

    def asked(self, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes what the query says."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            try:
                ask = msgspec.convert(exchange.query(), kind, strict=False)
            except msgspec.ValidationError as error:
                raise BadRequest(f"The query is no {kind.__name__}: {error}.") from None
            return json_response(await answer(ask))

        return handle

    async def why(self, exchange: Exchange) -> Answer:
        """Tell the story of a message, a refusal or a call."""
        await self._enter(exchange)
        name = exchange.parameter("id")
        found = await self._control.why(name, exchange.query().get("text") == "true")
        if found is None:
            raise NotFound(f"Nothing is known of {name[:80]!r}: neither a message nor a refusal.")
        return json_response(found)

    async def _enter(self, exchange: Exchange) -> None:
        refuse_url_credentials(exchange)
        caller = await self._door.authenticate(exchange.headers)
        self._origins.check(caller, exchange.headers)
        if caller.kind != "local":
            raise Forbidden(
                "Only the command line of the gateway's own machine may do this: run the "
                "`hermes` command there, as the user that started the gateway."
            )

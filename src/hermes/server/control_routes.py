"""`/control/...`: how this machine's command line reaches the running gateway.

Only the local caller may use it. The functions are handed in; here they only get an address.
"""

from collections.abc import Awaitable, Callable

import msgspec
from starlette.routing import Route

from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.net.http_json import json_response
from hermes.net.http_route import Answer, Endpoint, Exchange, Handler, refuse_url_credentials
from hermes.net.same_origin import Origins
from hermes.ports.door import Door
from hermes.routing.plan import Ask

_ASK_BYTES = 2_097_152
_ASK_S = 15.0


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


def control_routes(door: Door, control: Control, *, origins: Origins) -> tuple[Route, ...]:
    """Return the operator's routes."""

    async def enter(exchange: Exchange) -> None:
        refuse_url_credentials(exchange)
        caller = await door.authenticate(exchange.headers)
        origins.check(caller, exchange.headers)
        if caller.kind != "local":
            raise Forbidden(
                "Only the command line of the gateway's own machine may do this: run the "
                "`hermes` command there, as the user that started the gateway."
            )

    def told(answer: Callable[[], Awaitable[object]]) -> Handler:
        async def handle(exchange: Exchange) -> Answer:
            await enter(exchange)
            return json_response(await answer())

        return handle

    async def why(exchange: Exchange) -> Answer:
        await enter(exchange)
        name = exchange.parameter("id")
        found = await control.why(name, exchange.query().get("text") == "true")
        if found is None:
            raise NotFound(f"Nothing is known of {name[:80]!r}: neither a message nor a refusal.")
        return json_response(found)

    async def route(exchange: Exchange) -> Answer:
        await enter(exchange)
        body = await exchange.body(limit=_ASK_BYTES, timeout_s=_ASK_S)
        try:
            ask = msgspec.json.decode(body, type=Ask)
        except msgspec.DecodeError as error:
            raise BadRequest(f"The body is not a call to route: {error}.") from None
        return json_response(await control.route(ask))

    return (
        Route("/control/status", Endpoint({"GET": told(control.status)})),
        Route("/control/why/{id:path}", Endpoint({"GET": why})),
        Route("/control/models", Endpoint({"GET": told(control.models)})),
        Route("/control/route", Endpoint({"POST": route})),
        Route("/control/link", Endpoint({"POST": told(control.link)})),
        Route("/control/token", Endpoint({"POST": told(control.token)})),
    )

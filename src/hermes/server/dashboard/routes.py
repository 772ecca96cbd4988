"""`/dashboard`: the page of operators, its files, and the catalogue that its code reads.

The page itself is the same for everybody; what anyone sees on it comes from operator orders, each of
which checks the role. Nothing of it is imported, built or read before the first request.
"""

import asyncio
from functools import cache, partial
from typing import TYPE_CHECKING

from starlette.routing import Route

from hermes.control.live import TurnAsk
from hermes.control.orders import TURNS_WATCH
from hermes.errors import Forbidden, NotFound, Refused, Unauthenticated
from hermes.http.assets import Asset, file_response, page_response, read_assets
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.sse import EventStream
from hermes.http.turn import Ticket, turn_frames
from hermes.lazy import lazy
from hermes.ports.access import allows
from hermes.ports.gateway_api import GatewayApi
from hermes.server.control_routes import ControlGate

if TYPE_CHECKING:
    from hermes.server.dashboard.catalogue import catalogue
else:
    catalogue = lazy("hermes.server.dashboard.catalogue:catalogue")


_KEEP_ALIVE_S = 15.0


@cache
def _assets() -> dict[str, Asset]:
    return read_assets(__package__)


def dashboard_routes(gateway_api: GatewayApi, gate: ControlGate) -> tuple[Route, ...]:
    """Return the routes; the pages need a browser's session or a token, of an operator."""

    async def page(exchange: HttpExchange) -> Answer:
        refuse_url_credentials(exchange)
        assets = await asyncio.to_thread(_assets)
        try:
            await gateway_api.recognise(exchange.headers)
        except Unauthenticated:
            return page_response(assets["signed_out.html"], 401)
        except Forbidden:
            return page_response(assets["not_operator.html"], 403)
        return page_response(assets["index.html"])

    async def describe(exchange: HttpExchange) -> Answer:
        actor = await gate.enter(exchange)
        return json_response(await asyncio.to_thread(catalogue, actor))

    async def file(exchange: HttpExchange) -> Answer:
        name, assets = exchange.parameter("name"), await asyncio.to_thread(_assets)
        if name not in assets or name.endswith(".html"):
            raise NotFound(f"The dashboard has no file {name[:80]!r}.")
        return file_response(assets[name], exchange.headers)

    async def watch(exchange: HttpExchange) -> Answer:
        actor, asked = await gate.enter(exchange), TurnAsk(id=exchange.parameter("id"))
        await gate.note(actor, TURNS_WATCH, asked)
        return EventStream(
            turn_frames(gateway_api, Ticket(id=asked.id, conversation="", duplicate=False)),
            keep_alive_s=_KEEP_ALIVE_S,
            may_go_on=partial(_may_still_watch, gateway_api, exchange),
        )

    return (
        Route("/dashboard", Endpoint({"GET": page}, head=True)),
        Route("/dashboard/catalogue.json", Endpoint({"GET": describe}, head=True)),
        Route("/dashboard/turns/{id}/events", Endpoint({"GET": watch})),
        Route("/dashboard/static/{name:path}", Endpoint({"GET": file}, head=True)),
        Route("/dashboard/{page:path}", Endpoint({"GET": page}, head=True)),
    )


async def _may_still_watch(gateway_api: GatewayApi, exchange: HttpExchange) -> bool:
    """Return whether whoever opened a stream may still see what turns write."""
    try:
        caller = await gateway_api.recognise(exchange.headers)
    except Refused:
        return False
    return allows(caller.role, TURNS_WATCH.least)

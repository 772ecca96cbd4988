"""The ASGI app: the host check, the routes, and the handler of unexpected errors.

Channels bring their own routes or webhooks, and the routes of operator orders are passed in; the
server names no concrete channel and no store.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from time import perf_counter
from typing import Any

import structlog
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from hermes.http.errors import plain_error
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, send_response
from hermes.http.same_origin import Origins
from hermes.message.ids import MakeId
from hermes.ports.channel import HttpResponse, WebhookChannel
from hermes.ports.gateway_api import GatewayApi, RouteChannel
from hermes.server.api_docs import api_docs_routes
from hermes.server.metrics_route import RequestMeter, RouteMeter
from hermes.server.webhooks import WebhookLimits, webhook_routes

_log = structlog.get_logger("hermes.server")


Ready = Callable[[], Sequence[str]]


def health_routes(ready: Ready) -> tuple[Route, ...]:
    """Return the health routes; `ready` returns the reasons why messages are not accepted."""

    async def is_alive(_exchange: HttpExchange) -> Answer:
        return json_response({"status": "alive"})

    async def is_ready(_exchange: HttpExchange) -> Answer:
        reasons = list(ready())
        if reasons:
            answer = {"ready": False, "reasons": reasons}
            return json_response(answer, 503, headers={"retry-after": "5"})
        return json_response({"ready": True, "reasons": []})

    return (
        Route("/healthz", Endpoint({"GET": is_alive}, head=True)),
        Route("/readyz", Endpoint({"GET": is_ready}, head=True)),
    )


def build_app(
    gateway_api: GatewayApi,
    *,
    channels: Sequence[RouteChannel],
    webhooks: Mapping[str, WebhookChannel],
    control: Sequence[BaseRoute],
    ready: Ready,
    origins: Origins,
    make_id: MakeId,
    limits: WebhookLimits | None = None,
    more_routes: Sequence[BaseRoute] = (),
    meter: RequestMeter | None = None,
) -> ASGIApp:
    """Return the whole HTTP side of the gateway as one ASGI app."""
    routes: list[BaseRoute] = [
        route for channel in channels for route in channel.routes(gateway_api)
    ]
    routes.extend(webhook_routes(webhooks, limits or WebhookLimits()))
    routes.extend(health_routes(ready))
    routes.extend(control)
    routes.extend(api_docs_routes(gateway_api, channels))
    routes.extend(more_routes)
    router = Router(routes, redirect_slashes=False, default=_not_found)
    return _Boundary(
        _with_exact_paths(router, routes),
        origins=origins,
        make_id=make_id,
        meter=None if meter is None else RouteMeter(meter, routes),
    )


def build_model_app(routes: Sequence[BaseRoute], *, origins: Origins, make_id: MakeId) -> ASGIApp:
    """Return some routes alone, for programs that may reach nothing else."""
    router = Router(routes, redirect_slashes=False, default=_not_found)
    return _Boundary(router, origins=origins, make_id=make_id, meter=None)


def _with_exact_paths(router: Router, routes: Sequence[BaseRoute]) -> ASGIApp:
    """Look up paths without parameters directly: the hot path is one of them."""
    exact: dict[str, ASGIApp] = {}
    for route in routes:
        if isinstance(route, Route) and route.methods is None and "{" not in route.path:
            exact.setdefault(route.path, route.app)

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        await exact.get(scope["path"], router)(scope, receive, send)

    return dispatch


async def _not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    text = f"There is nothing at {scope['path'][:200]!r}."
    await send_response(send, plain_error(404, "not_found", text=text))


class _Boundary:
    """The outermost app: refuses unknown hosts and turns unexpected errors into a 500 with
    an id.
    """

    def __init__(
        self, app: ASGIApp, *, origins: Origins, make_id: MakeId, meter: RouteMeter | None
    ) -> None:
        self._app = app
        self._origins = origins
        self._make_id = make_id
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _refuse_other(scope, send)
            return
        host = _host_of(scope)
        if not self._origins.knows_host(host):
            await send_response(send, _foreign_host(host))
            return
        tracked, began = _Tracked(send), perf_counter()
        try:
            await self._app(scope, receive, tracked)
        except Exception:  # noqa: BLE001  the boundary of one HTTP request
            await self._fail(scope, tracked)
        finally:
            if self._meter is not None:
                self._meter.note(scope, status=tracked.status, seconds=perf_counter() - began)

    async def _fail(self, scope: Scope, send: "_Tracked") -> None:
        error_id = self._make_id("e")
        _log.exception(
            "request_failed", error_id=error_id, method=scope["method"], path=scope["path"]
        )
        if send.has_started:
            return
        text = f"Something went wrong inside Hermes. The log explains the error id {error_id}."
        await send_response(send, plain_error(500, "internal", text=text))


class _Tracked:
    """A `send` that remembers whether a response has started, and with which status."""

    __slots__ = ("_send", "has_started", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_started = False
        # A request that is cut off before its response has failed.
        self.status = 500

    # Any: an ASGI message, as the specification types it.
    def __call__(self, message: MutableMapping[str, Any]) -> Awaitable[None]:
        if not self.has_started:
            self.has_started = True
            self.status = message["status"]
        return self._send(message)


def _host_of(scope: Scope) -> str | None:
    """Return the one Host header; a request with none or several has no host."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return hosts[0].decode("latin-1") if len(hosts) == 1 else None


def _foreign_host(host: str | None) -> HttpResponse:
    shown = "none" if host is None else repr(host[:100])
    text = (
        f"The Host header is {shown}, but this server only answers to localhost. If people or "
        "platforms reach it under that name, set server.public_url (HERMES_SERVER__PUBLIC_URL) "
        "to its address."
    )
    return plain_error(421, "foreign_host", text=text)


async def _refuse_other(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})

"""`/metrics`: the gateway's metrics in Prometheus format, for operators.

Also the labels of requests: a path is counted under the route that serves it, never as it was sent.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.ops.metrics import CONTENT_TYPE
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import GatewayApi

PATH = "/metrics"
_NOWHERE = "unmatched"


class RequestMeter(Protocol):
    """Is notified of every answered request."""

    def request(self, method: str, route: str, *, status: int, seconds: float) -> None:
        """A request was answered."""
        ...


def metrics_route(
    gateway_api: GatewayApi, text: Callable[[], Awaitable[bytes]], *, origins: Origins, public: bool
) -> Route:
    """Return the route; it needs a token of the REST API, unless metrics are public."""

    async def show(exchange: HttpExchange) -> Answer:
        refuse_url_credentials(exchange)
        if not public:
            caller = await gateway_api.recognise(exchange.headers)
            origins.check(caller, exchange.headers)
        return HttpResponse(status=200, body=await text(), content_type=CONTENT_TYPE)

    return Route(PATH, Endpoint({"GET": show}, head=True))


class RouteMeter:
    """Reports requests to a meter by the route that served them, so that labels stay few."""

    def __init__(self, meter: RequestMeter, routes: Sequence[BaseRoute]) -> None:
        known = [route for route in routes if isinstance(route, Route)]
        self._tell = meter.request
        self._exact = {route.path: route.path for route in known if "{" not in route.path}
        self._by_endpoint = {id(route.endpoint): route.path for route in known}

    def note(self, scope: Scope, *, status: int, seconds: float) -> None:
        """Count an answered request, unless it was for the metrics themselves."""
        route = self._exact.get(scope["path"])
        if route is None:
            route = self._by_endpoint.get(id(scope.get("endpoint")), _NOWHERE)
        elif route == PATH:
            return
        self._tell(scope["method"], route, status=status, seconds=seconds)

"""`/metrics`: the numbers of the gateway as Prometheus reads them, for operators.

And the labels of requests: a path is counted under the route that serves it, never as it came.
"""

from collections.abc import Callable, Sequence
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
    """Is notified of every request that was answered."""

    def request(self, method: str, route: str, *, status: int, seconds: float) -> None:
        """A request was answered."""
        ...


def metrics_route(
    gateway_api: GatewayApi, text: Callable[[], bytes], *, origins: Origins, public: bool
) -> Route:
    """Return the route; it takes a token of the REST API, unless it is public."""

    async def show(exchange: HttpExchange) -> Answer:
        refuse_url_credentials(exchange)
        if not public:
            caller = await gateway_api.recognise(exchange.headers)
            origins.check(caller, exchange.headers)
        return HttpResponse(status=200, body=text(), content_type=CONTENT_TYPE)

    return Route(PATH, Endpoint({"GET": show}, head=True))


class RouteMeter:
    """Tells a meter of requests by the route that served them, out of few."""

    def __init__(self, meter: RequestMeter, routes: Sequence[BaseRoute]) -> None:
        known = [route for route in routes if isinstance(route, Route)]
        self._tell = meter.request
        self._exact = {route.path: route.path for route in known if "{" not in route.path}
        self._by_endpoint = {id(route.endpoint): route.path for route in known}

    def note(self, scope: Scope, *, status: int, seconds: float) -> None:
        """Count a request that was answered, unless it was for the metrics themselves."""
        route = self._exact.get(scope["path"])
        if route is None:
            route = self._by_endpoint.get(id(scope.get("endpoint")), _NOWHERE)
        elif route == PATH:
            return
        self._tell(scope["method"], route, status=status, seconds=seconds)

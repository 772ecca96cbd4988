"""`/healthz` says that the process is alive, `/readyz` whether it takes messages."""

from collections.abc import Callable, Sequence

from starlette.routing import Route

from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange

Ready = Callable[[], Sequence[str]]


def health_routes(ready: Ready) -> tuple[Route, ...]:
    """Return the health routes; `ready` returns the reasons against taking messages."""

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

"""One endpoint: the method decides who answers, and an answer is sent once."""

from typing import Any

import pytest
from starlette.types import Message

from hermes.errors import NotFound
from hermes.http.route import Endpoint, HttpExchange
from hermes.ports.channel import HttpResponse


async def hello(_exchange: HttpExchange) -> HttpResponse:
    return HttpResponse(status=200, body=b"hello")


async def nothing(_exchange: HttpExchange) -> HttpResponse:
    raise NotFound("There is nothing here.")


async def ask(method: str) -> list[tuple[int, str]]:
    """Return the status and the allowed methods of every answer, once the endpoint is done."""
    sent: list[Message] = []

    # Any: an ASGI scope, as the specification types it.
    scope: dict[str, Any] = {"type": "http", "method": method, "path": "/", "headers": []}
    scope |= {"query_string": b"", "path_params": {}}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await Endpoint({"GET": hello, "PUT": nothing})(scope, receive, send)
    return [
        (one["status"], dict(one["headers"]).get(b"allow", b"").decode())
        for one in sent
        if one["type"] == "http.response.start"
    ]


@pytest.mark.req("J2")
@pytest.mark.parametrize(
    ("method", "answers"),
    [("GET", [(200, "")]), ("PUT", [(404, "")]), ("POST", [(405, "GET, PUT")])],
)
async def test_a_request_is_answered_once(method: str, answers: list[tuple[int, str]]) -> None:
    assert await ask(method) == answers

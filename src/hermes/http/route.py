"""One HTTP path as a raw ASGI app: finds the method's handler and sends what it returns.

Leaner than a framework's request and response stack, because `/api/messages` is on the hot
path. Handlers return a value or raise an error of the tree; they never write to the socket.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from hermes.errors import BadRequest, HermesError
from hermes.http.body import HAS_BODY, discard_body, read_body
from hermes.http.errors import error_response, status_of, wrong_method
from hermes.http.sse import ON_LOST, EventStream
from hermes.ports.channel import HttpResponse

Answer = HttpResponse | EventStream

_CREDENTIAL_KEYS = frozenset({"token", "access_token", "api_key"})
_LINGER_BYTES = 8 * 1024 * 1024
_LINGER_S = 1.0


class HttpExchange:
    """One request as a handler sees it; header names are lower case."""

    __slots__ = ("headers", "receive", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }

    @property
    def method(self) -> str:
        """The request method."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The decoded path."""
        return str(self.scope["path"])

    def parameter(self, name: str) -> str:
        """Return a piece of the path that the route names; empty if the path ends before it."""
        return str(self.scope["path_params"].get(name, ""))

    def query(self) -> dict[str, str]:
        """Return the query; a key given twice keeps its last value."""
        raw: bytes = self.scope["query_string"]
        return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True)) if raw else {}

    @property
    def query_string(self) -> str:
        """The query as it came."""
        raw: bytes = self.scope["query_string"]
        return raw.decode("latin-1")

    async def body(self, *, limit: int, timeout_s: float) -> bytes:
        """Return the request body, bounded."""
        has_body = self.scope.get(HAS_BODY)
        return await read_body(
            self.receive,
            self.headers,
            limit=limit,
            timeout_s=timeout_s,
            has_arrived=has_body is not None and has_body(),
        )


Handler = Callable[[HttpExchange], Awaitable[Answer]]


class Endpoint:
    """The ASGI app of one path; a GET handler also answers HEAD if `head` is set."""

    def __init__(self, handlers: Mapping[str, Handler], *, head: bool = False) -> None:
        self._handlers = dict(handlers)
        if head:
            self._handlers["HEAD"] = self._handlers["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        handler = self._handlers.get(scope["method"])
        if handler is None:
            await send_response(send, self._wrong_method(scope["method"]))
            return
        exchange = HttpExchange(scope, receive)
        try:
            answer = await handler(exchange)
        except HermesError as error:
            if status_of(error) is None:
                raise
            answer = error_response(error)
        if isinstance(answer, EventStream):
            await answer.send(receive, send, on_lost=scope.get(ON_LOST))
        else:
            await send_answer(answer, exchange, send)

    def _wrong_method(self, method: str) -> HttpResponse:
        return wrong_method(method, ", ".join(sorted(self._handlers)))


def refuse_url_credentials(exchange: HttpExchange) -> None:
    """Raise `BadRequest` if the query contains a credential: addresses end up in logs."""
    if not exchange.scope["query_string"]:
        return
    for key in exchange.query():
        if key.lower() in _CREDENTIAL_KEYS:
            raise BadRequest(
                f"The address contains the credential {key!r}. Addresses end up in logs and "
                "histories: send the token as 'Authorization: Bearer TOKEN' instead, and replace "
                "this one if others may have seen it."
            )


async def send_answer(answer: HttpResponse, exchange: HttpExchange, send: Send) -> None:
    """Send a complete answer to a request whose body may still be on its way."""
    if answer.headers.get("connection") == "close" and "expect" not in exchange.headers:
        await _send_and_linger(answer, send, receive=exchange.receive)
    else:
        await send_response(send, answer)


async def send_response(send: Send, response: HttpResponse) -> None:
    """Send a complete answer."""
    await _send_start(send, response)
    await send({"type": "http.response.body", "body": response.body, "more_body": False})


async def _send_start(send: Send, response: HttpResponse) -> None:
    headers = [
        (b"content-type", response.content_type.encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
    ]
    if response.status not in {204, 304}:
        headers.append((b"content-length", b"%d" % len(response.body)))
    if "cache-control" not in response.headers:
        headers.append((b"cache-control", b"no-store"))
    for name, value in response.headers.items():
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})


async def _send_and_linger(response: HttpResponse, send: Send, *, receive: Receive) -> None:
    await _send_start(send, response)
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    await discard_body(receive, limit=_LINGER_BYTES, timeout_s=_LINGER_S)
    await send({"type": "http.response.body", "body": b"", "more_body": False})

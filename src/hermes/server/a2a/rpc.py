"""The endpoint of A2A: reads a JSON-RPC request, lets the SDK dispatch it, and returns what it answers.

The SDK knows both versions of the protocol; the work is done by `handler.TaskHandler`. Its errors are
errors of the protocol. What may come again later also has the HTTP status that says so.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterable
from functools import partial
from typing import Any

import msgspec
from a2a.server.context import ServerCallContext
from a2a.server.jsonrpc_models import JSONParseError as UnreadableBody
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.errors import A2AError, JSONParseError
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request

from hermes.http.errors import error_response
from hermes.http.json_body import json_response
from hermes.http.route import Answer, HttpExchange
from hermes.http.sse import EventStream
from hermes.ports.channel import HttpResponse
from hermes.server.a2a.channel import A2aCall, A2aParts, CallContext
from hermes.server.a2a.handler import TaskHandler
from hermes.server.a2a.requests import prepare, read_json, request_id

_KEEP_ALIVE_S = 15.0
_VERSION = VERSION_HEADER.lower()
# The SDK logs whole requests, including untrusted text; what matters is logged here.
logging.getLogger("a2a").setLevel(logging.CRITICAL)


class _Request(Request):
    """The request as the SDK sees it: its body was read and checked before."""

    def __init__(self, exchange: HttpExchange, content: Any, call: CallContext) -> None:
        super().__init__(exchange.scope, exchange.receive)
        self.call = call
        self._content = content

    # Any: JSON.
    async def json(self) -> Any:
        """Return the body."""
        return self._content


class _Contexts(ServerCallContextBuilder):
    """Gives a call's context to the SDK: of the headers only the version."""

    def build(self, request: Request) -> ServerCallContext:
        assert isinstance(request, _Request)
        version = request.headers.get(_VERSION, "")
        return ServerCallContext(state={"headers": {_VERSION: version}, "call": request.call})


class RpcEndpoint:
    """Answers the requests of one gateway."""

    def __init__(self, parts: A2aParts) -> None:
        self._parts = parts
        self._dispatcher = JsonRpcDispatcher(
            TaskHandler(parts), _Contexts(), enable_v0_3_compat=True
        )

    async def answer(
        self, call: A2aCall, body: bytes, *, exchange: HttpExchange, address: str
    ) -> Answer:
        """Return the answer to one request."""
        content = None
        try:
            content = read_json(body)
            prepare(content, make_id=self._parts.make_id)
        except JSONParseError as error:
            # The SDK has two errors of this name, and makes an answer of this one alone.
            unread = UnreadableBody(message=str(error))
            return json_response(build_error_response(None, unread))
        except A2AError as error:
            return json_response(build_error_response(request_id(content), error))
        context = CallContext(call, self._parts, address=address)
        request = _Request(exchange, content, context)
        response = await self._dispatcher.handle_requests(request)
        if isinstance(response, EventSourceResponse):
            return EventStream(
                _frames(response.body_iterator),
                keep_alive_s=_KEEP_ALIVE_S,
                may_go_on=partial(self._is_still_known, exchange),
            )
        if context.later is None:
            return HttpResponse(status=response.status_code, body=bytes(response.body))
        plain = error_response(context.later)
        return msgspec.structs.replace(plain, body=bytes(response.body))

    async def _is_still_known(self, exchange: HttpExchange) -> bool:
        """Return whether the credential that opened a stream is still valid."""
        return await self._parts.callers.is_valid(exchange.headers)


async def _frames(events: AsyncIterable[Any]) -> AsyncGenerator[bytes, None]:
    # The SDK's dictionaries of an event: its data is one line of JSON.
    async for event in events:
        head = f"event: {event['event']}\n" if "event" in event else ""
        yield f"{head}data: {event['data']}\n\n".encode()


def make_rpc(parts: A2aParts) -> RpcEndpoint:
    """Return the endpoint of a gateway."""
    return RpcEndpoint(parts)

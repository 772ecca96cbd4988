"""What the A2A SDK itself takes for a message: its dispatcher before a handler that answers at once."""

import asyncio
from time import process_time
from typing import Any

import msgspec
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import a2a_pb2 as pb
from starlette.requests import Request

from bench.agent_plan import TEXT, a2a_request
from hermes.server.a2a.handler import TaskHandler

_WARM = 200


class _Ready(TaskHandler):
    """Answers without a gateway."""

    def __init__(self) -> None:
        self._answer = pb.Message(
            message_id="m_0.reply",
            context_id="c",
            task_id="m_0",
            role=pb.Role.ROLE_AGENT,
            parts=[pb.Part(text="Wear a warm coat, it is two degrees and windy.")],
        )

    @validate_request_params
    async def on_message_send(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> pb.Message:
        """Return the answer."""
        del params, context
        return self._answer


class _Request(Request):
    # Any: JSON.
    content: Any = None

    async def json(self) -> Any:
        """Return the request."""
        return self.content


def sdk_cpu_ms(count: int) -> float:
    """Return the CPU of the SDK for one message, in this process."""
    return asyncio.run(_measured(count))


async def _measured(count: int) -> float:
    dispatcher = JsonRpcDispatcher(_Ready(), enable_v0_3_compat=True)
    raw = msgspec.json.encode(a2a_request(TEXT, "share-0-0"))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    began = 0.0
    for number in range(_WARM + count):
        if number == _WARM:
            began = process_time()
        request = _Request(scope)
        request.content = msgspec.json.decode(raw)
        answer = await dispatcher.handle_requests(request)
        assert b'"role":"agent"' in bytes(answer.body)
    return (process_time() - began) * 1000 / count

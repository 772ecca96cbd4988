"""A2A before a gateway in memory: the endpoint without a server."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.types import Message, Receive, Scope

from hermes.agents.roster import Roster
from hermes.config import AgentSettings
from hermes.http.route import Answer, HttpExchange
from hermes.http.sse import EventStream
from hermes.media.check import FileLimits
from hermes.message.ids import make_id
from hermes.net.guard import Guard
from hermes.ports.channel import HttpResponse
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import Caller
from hermes.server.a2a.channel import A2aCall, A2aLimits, A2aParts
from hermes.server.a2a.rpc import RpcEndpoint, make_rpc
from hermes.server.v1.callers import ApiCaller
from hermes.testing.gateway_api import MemoryGatewayApi, Script


class Everybody:
    """Lets everybody in."""

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        del headers
        return Caller("token", "api", id="t_1")


class Rig:
    """One agent, which echoes."""

    def __init__(self) -> None:
        self.gateway = MemoryGatewayApi(
            Script(), access=Everybody(), clock=SystemClock(), make_id=make_id
        )
        roster = Roster({"main": AgentSettings()}, default="main")
        # Any: what these requests never reach.
        absent: Any = None
        parts = A2aParts(
            gateway_api=self.gateway,
            callers=absent,
            roster=roster,
            settings=A2aLimits(files=FileLimits(max_bytes=10_000, max_pixels=10_000), wait_s=5),
            clock=SystemClock(),
            make_id=make_id,
            tasks=absent,
            guard=Guard(),
            pushes=absent,
        )
        self._endpoint: RpcEndpoint = make_rpc(parts)
        caller = ApiCaller(user="ann", credential="t_1", token="t_1")
        self._call = A2aCall(caller=caller, agent=roster.default)

    async def ask(self, body: bytes, *, version: str = "") -> Answer:
        """Return the answer to a body."""
        headers = [(b"a2a-version", version.encode())] if version else []
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": "/workspaces/main/a2a",
            "query_string": b"",
            "headers": headers,
        }
        exchange = HttpExchange(scope, _nothing())
        return await self._endpoint.answer(
            self._call, body, exchange=exchange, address="http://127.0.0.1"
        )

    # Any: JSON.
    async def said(self, body: bytes, *, version: str = "") -> Any:
        """Return the JSON of an answer, or of every event of a stream."""
        answer = await self.ask(body, version=version)
        if isinstance(answer, HttpResponse):
            return msgspec.json.decode(answer.body)
        assert isinstance(answer, EventStream)
        return await _events(answer)


def _nothing() -> Receive:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    return receive


# Any: JSON.
async def _events(stream: EventStream) -> list[Any]:
    pieces: list[bytes] = []

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    def stay(_lost: object) -> None:
        """The caller stays."""

    await stream.send(_nothing(), send, on_lost=stay)
    lines = b"".join(pieces).split(b"\n")
    return [msgspec.json.decode(line[6:]) for line in lines if line.startswith(b"data: ")]

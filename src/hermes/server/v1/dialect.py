"""What a compatible wire must implement: read a request, write an answer, a stream, an error.

A dialect is pure: bytes in, values out. Who calls, what the call may cost and which model answers
is decided in `serve`, the same for all dialects.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

import msgspec

from hermes.calls.events import CallEvent, FullAnswer, Piece
from hermes.errors import HermesError
from hermes.ports.channel import HttpResponse
from hermes.ports.options import Option
from hermes.ports.provider import ModelRequest
from hermes.server.v1.callers import ApiCaller


class WireCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request of one of the wires, parsed.

    `model` is the name that the caller wrote: `auto`, a model id, `provider:model`, `agent:NAME`.
    `request.model` is empty: the plan fills it in. `ignored` names the fields that were sent and
    have no effect; the answer lists them in a header. `hints` are options that have an effect only
    if the answering model has them, with the field's name. `choices` is how many answers are asked
    for. `wants_usage` is whether a stream ends with the usage. The answer to a `stored` call is
    stored before its end is sent.
    """

    model: str
    request: ModelRequest
    stream: bool = False
    wants_usage: bool = True
    ignored: tuple[str, ...] = ()
    stored: bool = False
    hints: tuple[tuple[Option, str], ...] = ()
    choices: int = 1
    # Anything else that the dialect has to repeat in its answer.
    echo: dict[str, object] = {}


class Stamp(msgspec.Struct, frozen=True):
    """Identifies an answer: the call's id and when it began (seconds since 1970)."""

    id: str
    at: float


class StreamWriter(Protocol):
    """Writes one answer as server-sent events; every method returns the frames to send, or b""."""

    def feed(self, piece: Piece) -> bytes:
        """Write more of the answer; the first frames also open it."""
        ...

    def end(self, answer: FullAnswer) -> bytes:
        """Write the end: whatever was not streamed, stop reason, usage, end marker.

        It is called once for each answer that was asked for; the next one begins after it.
        """
        ...

    def failed(self, error: HermesError) -> bytes:
        """Write that the answer failed; never anything that looks like a regular end."""
        ...


class ResponseStorage(Protocol):
    """What a wire stores between the calls of a key; a wire that stores nothing has none."""

    async def read(self, body: bytes, headers: Mapping[str, str], *, caller: ApiCaller) -> WireCall:
        """Return the request in a body, with what it continues; raises `Refused`."""
        ...

    async def keep(self, call: WireCall, answer: bytes, *, caller: ApiCaller, stamp: Stamp) -> None:
        """Store the answer to a call, as it will be sent; raises if that is not possible."""
        ...

    def stream(
        self,
        call: WireCall,
        events: AsyncGenerator[CallEvent, None],
        *,
        caller: ApiCaller,
        stamp: Stamp,
    ) -> tuple[StreamWriter, AsyncGenerator[CallEvent, None]]:
        """Return the writer of an answer, and its events; the last one comes once it is stored."""
        ...


class ApiDialect(Protocol):
    """One wire."""

    def read(self, body: bytes, headers: Mapping[str, str]) -> WireCall:
        """Return the request in a body; raises `BadRequest`."""
        ...

    def whole(self, call: WireCall, answer: FullAnswer, *, stamp: Stamp) -> bytes:
        """Return the whole answer as JSON."""
        ...

    def stream(self, call: WireCall, *, stamp: Stamp) -> StreamWriter:
        """Return the writer of one streamed answer."""
        ...

    def refusal(self, error: HermesError) -> HttpResponse:
        """Return an error in the shape that the wire's clients expect."""
        ...

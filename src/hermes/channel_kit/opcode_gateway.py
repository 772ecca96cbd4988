"""A gateway whose frames have Discord's op codes, as QQ's has too; no I/O but the ticket.

A session is begun (2) or resumed (6) with the number of the last kept event, and heartbeats (1) name it.
Fits `channel_kit.socket_wire.SocketWire`; which events are of use, and where it is, the platform says.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Final

import msgspec

from hermes.channel_kit.bodies import decode
from hermes.channel_kit.socket_wire import Meaning, SocketFrame, SocketMark

_MEANINGS: Final[dict[int, Meaning]] = {1: "beat", 7: "renew", 11: "alive"}


class GatewayFrame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame of the gateway."""

    op: int
    d: msgspec.Raw = msgspec.Raw()
    s: int | None = None
    t: str | None = None


class GatewayGreeting(msgspec.Struct, frozen=True, kw_only=True):
    """What a hello says, or the event that begins a session."""

    heartbeat_interval: Annotated[float, msgspec.Meta(ge=10)] = 1_000
    session_id: str = ""
    resume_gateway_url: str = ""


class GatewayTicket(msgspec.Struct, frozen=True):
    """Where the next connection is made, checked, and the token that it is begun with."""

    address: str
    token: str

    def __repr__(self) -> str:
        return "GatewayTicket()"


class OpcodeGateway:
    """The wire of one bot.

    `ticket` is asked before each connection; `identity` is what a session begins with beside the token,
    `account` whose session it is.
    """

    def __init__(
        self,
        ticket: Callable[[SocketMark | None], Awaitable[GatewayTicket]],
        *,
        platform: str,
        account: str,
        intents: int,
        identity: Mapping[str, object],
        events: frozenset[str],
    ) -> None:
        self._ticket = ticket
        self._platform = platform
        self._identity = {"intents": intents, **identity}
        self._events = events
        self._now = GatewayTicket("", "")
        self._session = ""
        self.likeness = f"{account} {intents}"

    async def address(self, mark: SocketMark | None) -> str:
        """Return where the session is resumed, or where a new one begins."""
        self._now = await self._ticket(mark)
        return self._now.address

    def read(self, data: bytes) -> SocketFrame:
        """Return what a frame means."""
        frame = decode(data, GatewayFrame, platform=self._platform)
        if frame.op == 0:
            return self._dispatched(frame, data)
        if frame.op == 9:
            return SocketFrame(meaning="invalid", can_resume=bytes(frame.d) == b"true")
        if frame.op == 10:
            hello = decode(bytes(frame.d), GatewayGreeting, platform=self._platform)
            return SocketFrame(meaning="hello", every_s=hello.heartbeat_interval / 1000)
        return SocketFrame(meaning=_MEANINGS.get(frame.op, "other"))

    def _dispatched(self, frame: GatewayFrame, data: bytes) -> SocketFrame:
        if frame.t == "READY":
            ready = decode(bytes(frame.d), GatewayGreeting, platform=self._platform)
            self._session = ready.session_id
            return SocketFrame(
                meaning="ready",
                id=ready.session_id,
                address=ready.resume_gateway_url or self._now.address,
                number=frame.s,
            )
        if frame.t == "RESUMED":
            return SocketFrame(meaning="ready", number=frame.s)
        is_event = frame.t in self._events
        return SocketFrame(
            meaning="event" if is_event else "other",
            id=f"{self._session}.{frame.s}" if is_event else "",
            number=frame.s,
            payload=data if is_event else b"",
        )

    def begin(self, mark: SocketMark | None) -> str:
        """Return the frame that begins a session, or resumes that of the mark."""
        token = {"token": self._now.token}
        if mark is not None:
            self._session = mark.id
            return _framed(6, {**token, "session_id": mark.id, "seq": mark.number})
        return _framed(2, {**token, **self._identity})

    def beat(self, number: int | None) -> str:
        """Return a heartbeat."""
        return _framed(1, number)

    def kept(self, frame: SocketFrame) -> str | None:
        """Return no frame: the platform learns by a heartbeat or a resume what is kept."""
        del frame
        return None


def _framed(op: int, body: object) -> str:
    return msgspec.json.encode({"op": op, "d": body}).decode()

"""Discord's gateway: what its frames mean, and how a session begins or goes on. No I/O but the address."""

from typing import Final

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.bodies import decode
from hermes.channel_kit.refusals import as_shape
from hermes.channel_kit.socket_wire import Meaning, SocketFrame, SocketMark
from hermes.channels.discord.wire import PLATFORM, WireFrame, WireGateway, WireGreeting
from hermes.errors import ConnectFailed

_MEANINGS: Final[dict[int, Meaning]] = {1: "beat", 7: "renew", 11: "alive"}
_VERSION: Final = "/?v=10&encoding=json"
_CONTENT: Final = 1 << 15
# Servers and channels; messages and reactions, each in servers and in direct chats.
_INTENTS: Final = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13


class GatewayWire:
    """Fits `channel_kit.socket_wire.SocketWire`; `events` are the kinds of events that are of use."""

    def __init__(
        self, api: Api, *, token: str, user_id: str, reads_content: bool, events: frozenset[str]
    ) -> None:
        self._api = api
        self._token = token
        self._intents = _INTENTS | (_CONTENT if reads_content else 0)
        self._events = events
        self._session = ""
        self.likeness = f"{user_id} {self._intents}"

    async def address(self, mark: SocketMark | None) -> str:
        """Return where the session is resumed, or where a new one begins."""
        if mark is not None:
            return self._api.own_address(mark.address.rstrip("/")) + _VERSION
        found = as_shape(
            await self._api.call("GET", "/gateway/bot"), WireGateway, platform=PLATFORM
        )
        limit = found.session_start_limit
        if limit.remaining <= 0:
            hours = limit.reset_after / 3_600_000
            raise ConnectFailed(
                f"discord: no session can begin for {hours:.1f} h: this bot has begun too many today, "
                "and Discord would replace its token"
            )
        return self._api.own_address(found.url.rstrip("/")) + _VERSION

    def read(self, data: bytes) -> SocketFrame:
        """Return what a frame means."""
        frame = decode(data, WireFrame, platform=PLATFORM)
        if frame.op == 0:
            return self._dispatched(frame, data)
        if frame.op == 9:
            return SocketFrame(meaning="invalid", can_resume=bytes(frame.d) == b"true")
        if frame.op == 10:
            hello = decode(bytes(frame.d), WireGreeting, platform=PLATFORM)
            return SocketFrame(meaning="hello", every_s=hello.heartbeat_interval / 1000)
        return SocketFrame(meaning=_MEANINGS.get(frame.op, "other"))

    def _dispatched(self, frame: WireFrame, data: bytes) -> SocketFrame:
        if frame.t == "READY":
            ready = decode(bytes(frame.d), WireGreeting, platform=PLATFORM)
            self._session = ready.session_id
            return SocketFrame(
                meaning="ready",
                id=ready.session_id,
                address=ready.resume_gateway_url,
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
        if mark is not None:
            self._session = mark.id
            body = {"token": self._token, "session_id": mark.id, "seq": mark.number}
            return _framed(6, body)
        names = dict.fromkeys(("os", "browser", "device"), "hermes")
        return _framed(2, {"token": self._token, "intents": self._intents, "properties": names})

    def beat(self, number: int | None) -> str:
        """Return a heartbeat."""
        return _framed(1, number)

    def kept(self, frame: SocketFrame) -> str | None:
        """Return no frame: Discord learns by a heartbeat or a resume what is kept."""
        del frame
        return None


def _framed(op: int, body: object) -> str:
    return msgspec.json.encode({"op": op, "d": body}).decode()

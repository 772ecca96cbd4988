"""The gateway of a stand-in with Discord's op codes, as QQ's has too: sessions begin, beat and resume."""

from collections.abc import Callable

from hermes.testing.call_rules import Json
from hermes.testing.event_delivery import Connection, ResumableSocket


class OpcodeSocket(ResumableSocket):
    """`refuse` returns the code with which a session or its resumption is refused, 0 for none.

    `ready` makes what a session of this name begins with.
    """

    def __init__(
        self, refuse: Callable[[Json], int], ready: Callable[..., Json], *, heartbeat_s: float
    ) -> None:
        super().__init__(self._greet, self._take)
        self.identified: list[Json] = []
        self._heartbeat_s = heartbeat_s
        self._refuse = refuse
        self._ready_of = ready

    async def tell_next(self, event: Json) -> None:
        """Send an event; return once the app has confirmed it."""
        await self.emit(lambda number: {"op": 0, "s": number, **event})

    async def _greet(self, connection: Connection) -> None:
        interval = int(self._heartbeat_s * 1000)
        await connection.socket.send_json({"op": 10, "d": {"heartbeat_interval": interval}})

    async def _take(self, connection: Connection, frame: Json) -> None:
        match frame.get("op"):
            case 1:
                if frame.get("d") is not None:
                    await self.confirm(frame["d"])
                await connection.socket.send_json({"op": 11})
            case 2:
                await self._identify(connection, frame["d"])
            case 6:
                await self._resume(connection, frame["d"])
            case other:
                self.rejections.append(f"socket: the op {other}")
                await connection.socket.close(code=4001)

    async def _identify(self, connection: Connection, told: Json) -> None:
        self.identified.append(dict(told))
        code = self._refuse(told) if set(told) >= {"token", "intents"} else 4002
        if code:
            await connection.socket.close(code=code)
            return
        self.forget()
        self.session = f"session{len(self.identified)}"
        self.frames.append(
            {"op": 0, "t": "READY", "s": 1, "d": self._ready_of(session=self.session)}
        )
        await self.send(connection, self.frames[0])
        connection.is_ready = True
        await self.notify()

    async def _resume(self, connection: Connection, told: Json) -> None:
        # What is not told again is as it was.
        begun = {"intents": 0, "properties": {}, **(self.identified or [{}])[-1]}
        if code := self._refuse({**begun, "token": told.get("token")}):
            await connection.socket.close(code=code)
        elif await self.resume(connection, told["session_id"], told["seq"]):
            number = len(self.frames) + 1
            self.frames.append({"op": 0, "t": "RESUMED", "s": number, "d": {}})
            await self.send(connection, self.frames[-1])
        else:
            await connection.socket.send_json({"op": 9, "d": False})

"""Server-sent events from bytes to payloads: pure, incremental, bounded; knows no sockets."""

from hermes.errors import AnswerTooLarge


class SseParser:
    """Collects the `data` of each event; one event may not exceed `limit` bytes."""

    __slots__ = ("_data", "_limit", "_rest", "_size")

    def __init__(self, limit: int = 1_048_576) -> None:
        self._limit = limit
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the payloads of the events they complete."""
        lines = (self._rest + chunk if self._rest else chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > self._limit:
            raise self._too_large()
        done: list[bytes] = []
        data = self._data
        # One loop without calls of our own: this runs for every event of every model.
        for line in lines:
            if line.startswith(b"data:"):
                payload = line[6:] if line.startswith(b"data: ") else line[5:]
                if payload.endswith(b"\r"):
                    payload = payload[:-1]
                self._size += len(payload)
                if self._size > self._limit:
                    raise self._too_large()
                data.append(payload)
            elif data and (not line or line == b"\r"):
                done.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                self._size = 0
        return done

    def finish(self) -> list[bytes]:
        """Return the last event if the stream ended without the final empty line."""
        done = self.feed(b"\n") if self._rest else []
        if self._data:
            done += self.feed(b"\n")
        return done

    def _too_large(self) -> AnswerTooLarge:
        return AnswerTooLarge(
            f"one event of the stream exceeds {self._limit} bytes: the service does not send a "
            "valid event stream"
        )

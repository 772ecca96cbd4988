"""Newline-delimited JSON from bytes to lines: pure, incremental, bounded; knows no sockets."""

from hermes.errors import AnswerTooLarge


class NdjsonParser:
    """Collects complete lines, without empty ones; no line may exceed `limit` bytes."""

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int = 1_048_576) -> None:
        self._limit = limit
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the lines they complete."""
        lines = (self._rest + chunk if self._rest else chunk).split(b"\n")
        self._rest = lines.pop()
        if max(map(len, (*lines, self._rest))) > self._limit:
            raise AnswerTooLarge(
                f"one line of the stream exceeds {self._limit} bytes: the service does not send "
                "valid lines of JSON"
            )
        return [line for line in map(bytes.strip, lines) if line]

    def finish(self) -> list[bytes]:
        """Return the last line if the stream ended without a final line end."""
        rest, self._rest = self._rest.strip(), b""
        return [rest] if rest else []

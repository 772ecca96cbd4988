"""The lines between an editor and `hermes acp`: one JSON object each, of a bounded size.

A line that is none is answered with an error, as JSON-RPC asks for, and ends nothing.
"""

import json
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from typing import Any, Final

_PARSE_ERROR: Final = -32700
_INVALID: Final = -32600
_TOO_LONG: Final = "The line is too long: attach less."
_NO_JSON: Final = "The line is not JSON."
_NO_OBJECT: Final = "The line is not one object of JSON-RPC."


class JsonLines:
    """A transport of the protocol's SDK over pipes; `reader` has the limit of a line."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    # Any: JSON.
    async def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._writer.write(line)
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        while True:
            line = await self._line()
            if line is None:
                await self._refuse(_INVALID, _TOO_LONG)
            elif not line:
                return None
            elif line.strip():
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    await self._refuse(_PARSE_ERROR, _NO_JSON)
                    continue
                if isinstance(message, dict):
                    return message
                await self._refuse(_INVALID, _NO_OBJECT)

    async def close(self) -> None:
        """End the writing."""
        self._writer.close()

    async def _line(self) -> bytes | None:
        """Return the next line, empty at the end; None for one that is too long, and is passed over."""
        is_too_long = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except LimitOverrunError as error:
                is_too_long = True
                await self._reader.readexactly(error.consumed)
            except IncompleteReadError as error:
                return error.partial
            else:
                return None if is_too_long else line

    async def _refuse(self, code: int, text: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})

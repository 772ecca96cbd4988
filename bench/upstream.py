"""An upstream that costs next to nothing: prebuilt answers in OpenAI's chat completions shape.

`python -m bench.upstream` prints its address as JSON and runs until its standard input closes. It
is leaner than `hermes.testing.model_server`, which reads every request strictly: with many calls
at a time the upstream must not be what is measured. Every event of a stream is a write, and so a
system call, of its own, as with a model that sends token by token.
"""

import asyncio
import os
import re
import sys
import threading
from typing import cast

import msgspec

from bench.answers import ANSWERS, MODEL, Answer
from hermes.testing import openai_frames as frames
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.turn_server import STREAM_END, STREAM_HEAD

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_NAMED = re.compile(rb"\[\[(\w+)\]\]")
_CREATED = 1_700_000_000


class _Options(msgspec.Struct):
    include_usage: bool = False


class _Asked(msgspec.Struct):
    stream: bool = False
    stream_options: _Options | None = None


class Prepared(msgspec.Struct, frozen=True):
    """One answer as bytes: whole, and as the writes of a stream without and with the usage."""

    whole: bytes
    plain: tuple[bytes, ...]
    with_usage: tuple[bytes, ...]
    gap_s: float

    def writes(self, asked: _Asked) -> tuple[bytes, ...]:
        """Return what to write, one piece after another."""
        if not asked.stream:
            return (self.whole,)
        wants_usage = asked.stream_options is not None and asked.stream_options.include_usage
        return self.with_usage if wants_usage else self.plain


def prepare(answer: Answer) -> Prepared:
    """Build every byte of an answer."""
    turn = ScriptedTurn(
        text=answer.text,
        deltas=answer.deltas,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
    )
    framed = frames.Answer(
        turn=turn,
        id="chatcmpl-bench",
        model=MODEL,
        created=_CREATED,
        tokens_in=answer.tokens_in,
    )
    return Prepared(
        frames.completion(framed),
        _stream(framed, usage=False),
        _stream(framed, usage=True),
        answer.gap_s,
    )


def _stream(framed: frames.Answer, *, usage: bool) -> tuple[bytes, ...]:
    opening = frames.opening(framed, usage=usage)
    *closing, done = frames.closing(framed, usage=usage)
    return (
        STREAM_HEAD,
        *opening,
        *frames.text(framed, usage=usage),
        *closing,
        done + STREAM_END,
    )


class Connection(asyncio.Protocol):
    """One caller; a call gets the answer that it names, anything else a 404."""

    def __init__(self, prepared: dict[bytes, Prepared]) -> None:
        self._prepared = prepared
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._decode = msgspec.json.Decoder(_Asked).decode

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # cast: a stream server always hands a stream transport.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the transport; a paced answer then stops."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        self._received += data
        head, found, body = self._received.partition(_HEAD_END)
        length = _content_length(head) if found else 0
        if not found or len(body) < length:
            return
        self._received = body[length:]
        if not head.startswith(b"POST /v1/chat/completions "):
            self._write(frames.error(404, "There are only chat completions here."))
            return
        named = _NAMED.search(body)
        prepared = self._prepared.get(named[1]) if named else None
        if prepared is None:
            self._write(frames.error(400, f"Name one of the answers {', '.join(ANSWERS)}."))
            return
        asked = self._decode(body[:length])
        writes = prepared.writes(asked)
        if prepared.gap_s and asked.stream:
            self._write_slowly(writes, 0, gap_s=prepared.gap_s)
        else:
            for piece in writes:
                self._write(piece)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _write_slowly(self, writes: tuple[bytes, ...], at: int, *, gap_s: float) -> None:
        self._write(writes[at])
        if at + 1 < len(writes) and self._transport is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(gap_s, lambda: self._write_slowly(writes, at + 1, gap_s=gap_s))


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(_LENGTH)
    return int(rest.partition(b"\r\n")[0]) if found else 0


async def listen() -> asyncio.Server:
    """Start on any free port of loopback."""
    prepared = {name.encode(): prepare(answer) for name, answer in ANSWERS.items()}
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(prepared), "127.0.0.1", 0, backlog=1024)


async def serve() -> None:
    """Run until standard input closes."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wait_for_end() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    server = await listen()
    port = server.sockets[0].getsockname()[1]
    where = {"port": port, "base_url": f"http://127.0.0.1:{port}/v1", "pid": os.getpid()}
    sys.stdout.buffer.write(msgspec.json.encode(where) + b"\n")
    sys.stdout.buffer.flush()
    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()
    server.close()


if __name__ == "__main__":
    # Not uvloop, which gathers the writes of one turn of the loop into a single system call.
    asyncio.run(serve())

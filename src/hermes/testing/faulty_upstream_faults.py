"""Every way in which the faulty upstream fails, by name: one function for each.

A fault gets a `Scene` and spoils the good answer in it. It knows no dialect: the answer knows what
an error, a line or an end marker looks like.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from hermes.testing.faulty_upstream_answers import Answer
from hermes.testing.scripted_http import Out, Sleep

REFUSED = "refused"
DRIP_S = 0.02
RETRY_DATE = "Sun, 15 Nov 2026 10:00:07 GMT"
_NOW = "Sun, 15 Nov 2026 10:00:00 GMT"
_BOMB_BYTES = 33_554_432
_BIG_HEADER = 65_536
_BIG_ERROR = 1_048_576
# How many iterations of the loop a caller in it needs to read what was written.
_TURNS = 25
_GARBAGE = b"}{ nothing of the kind"
_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


class Scene(msgspec.Struct, frozen=True):
    """One request being answered; `key` is its credential, which every error repeats."""

    out: Out
    answer: Answer
    key: str
    sleep: Sleep

    def begin(self, *headers: str, kind: str | None = None) -> None:
        """Begin a 200 with a chunked body."""
        lines = (
            "HTTP/1.1 200 OK",
            f"Content-Type: {kind or self.answer.kind}",
            "Transfer-Encoding: chunked",
            *headers,
        )
        self.out.raw("\r\n".join((*lines, "", "")).encode())

    async def say(self, frames: Iterable[bytes]) -> None:
        """Send pieces, and give the caller time to read them."""
        for frame in frames:
            self.out.frame(frame)
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def open(self) -> None:
        """Begin, and send what precedes any output."""
        self.begin()
        await self.say(self.answer.preamble)

    async def half(self) -> None:
        """Begin, and send the first two pieces of the output."""
        await self.open()
        await self.say(self.answer.deltas[:2])

    def words(self, text: str) -> str:
        """Return `text` as an error that repeats the key."""
        return f"{text} (asked with {self.key})"


Fault = Callable[[Scene], Awaitable[None]]


def _spoiled(
    frames: Callable[[Scene], Iterable[bytes]] = lambda _scene: (),
    *headers: str,
    after: Literal["headers", "preamble", "half"] = "headers",
    then: Literal["end", "cut", "reset", "hang"] = "end",
) -> Fault:
    """Return the fault of an answer that begins well, goes on with some frames, and ends."""

    async def fault(scene: Scene) -> None:
        if after == "headers":
            scene.begin(*headers)
        else:
            await (scene.open() if after == "preamble" else scene.half())
        await scene.say(frames(scene))
        if then == "hang":
            await asyncio.Event().wait()
        {"end": scene.out.end, "cut": scene.out.cut, "reset": scene.out.reset}[then]()

    return fault


def _lines(payload: bytes) -> Callable[[Scene], Iterable[bytes]]:
    return lambda scene: [scene.answer.line(payload)]


def _overloaded(scene: Scene) -> Iterable[bytes]:
    return [scene.answer.error(scene.words("overloaded"))]


none = _spoiled(lambda scene: scene.answer.whole)


async def reset_before_headers(scene: Scene) -> None:
    scene.out.reset()


async def closed_before_headers(scene: Scene) -> None:
    scene.out.cut()


async def half_headers(scene: Scene) -> None:
    scene.out.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")
    scene.out.cut()


async def not_http(scene: Scene) -> None:
    scene.out.raw(b"SSH-2.0-OpenSSH_9.6\r\n")
    scene.out.cut()


async def hang_before_headers(_scene: Scene) -> None:
    await asyncio.Event().wait()


async def garbage_between(scene: Scene) -> None:
    await scene.half()
    await scene.say([scene.answer.line(_GARBAGE)])
    await scene.say(scene.answer.deltas[2:])
    await scene.say(scene.answer.closing)
    scene.out.end()


async def page(scene: Scene) -> None:
    scene.out.whole(200, _PAGE, kind="text/html; charset=utf-8")


async def error_in_json(scene: Scene) -> None:
    body = scene.answer.refusal(503, scene.words("the backend is down"))
    scene.out.whole(200, body, kind="application/json")


async def double_deltas(scene: Scene) -> None:
    answer = scene.answer
    await scene.open()
    await scene.say([piece for delta in answer.deltas for piece in (delta, delta)])
    await scene.say(answer.closing)
    scene.out.end()


async def endless_comments(scene: Scene) -> None:
    await scene.open()
    while True:
        await scene.say([scene.answer.filler])
        await scene.sleep(DRIP_S)


async def slow_drip(scene: Scene) -> None:
    await scene.open()
    while True:
        await scene.say(scene.answer.deltas[:1])
        await scene.sleep(DRIP_S)


async def wrong_charset(scene: Scene) -> None:
    await scene.open()
    first, second, *_ = scene.answer.deltas
    await scene.say([first])
    middle = len(second) // 2 if scene.answer.kind == "application/json" else second.index(b"morn")
    await scene.say([second[:middle] + b"\xff" + second[middle:]])
    await scene.say(scene.answer.closing)
    scene.out.end()


async def short_body(scene: Scene) -> None:
    said = b"".join((*scene.answer.preamble, *scene.answer.deltas[:2]))
    length = len(b"".join(scene.answer.whole))
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {scene.answer.kind}\r\nContent-Length: {length}\r\n\r\n"
    )
    scene.out.raw(head.encode() + said)
    await scene.say(())
    scene.out.cut()


async def bad_chunk(scene: Scene) -> None:
    await scene.half()
    scene.out.raw(b"no length\r\nof anything\r\n")


def _half_of(frame: bytes) -> bytes:
    return frame[: len(frame) // 2]


def _huge(scene: Scene) -> Iterable[bytes]:
    return [scene.answer.line(b'"' + b"x" * scene.answer.longest + b'"')]


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(b'data: "' + b"x" * _BOMB_BYTES)
    return packed + packer.flush()


def _status(status: int, words: str, **headers: str) -> Fault:
    async def fault(scene: Scene) -> None:
        scene.out.whole(status, scene.answer.refusal(status, scene.words(words)), **headers)

    return fault


async def page_502(scene: Scene) -> None:
    scene.out.whole(502, _PAGE, kind="text/html")


async def cut_401(scene: Scene) -> None:
    scene.out.raw(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 999\r\n\r\n")
    scene.out.raw(scene.answer.refusal(401, "no")[:9])
    await scene.say(())
    scene.out.cut()


async def huge_500(scene: Scene) -> None:
    scene.out.whole(500, scene.answer.refusal(500, "x" * _BIG_ERROR))


def _named(*faults: Fault) -> dict[str, Fault]:
    return {fault.__name__: fault for fault in faults}


FAULTS: dict[str, Fault] = {
    **_named(reset_before_headers, closed_before_headers, half_headers, not_http),
    **_named(hang_before_headers, garbage_between, page, error_in_json, double_deltas),
    **_named(endless_comments, slow_drip, wrong_charset, short_body, bad_chunk),
    **_named(page_502, cut_401, huge_500),
    "huge_header": _spoiled(lambda scene: scene.answer.whole, "X-Filler: " + "x" * _BIG_HEADER),
    "hang_mid_stream": _spoiled(after="half", then="hang"),
    "reset_mid_stream": _spoiled(after="half", then="reset"),
    "closed_mid_stream": _spoiled(after="half", then="cut"),
    "closed_after_preamble": _spoiled(after="preamble", then="cut"),
    "ended_after_preamble": _spoiled(after="preamble"),
    "empty_body": _spoiled(),
    "garbage": _spoiled(_lines(_GARBAGE)),
    "garbage_mid_stream": _spoiled(_lines(_GARBAGE), after="half"),
    "half_json": _spoiled(_lines(b'{"id":"c","model":"st')),
    "other_json": _spoiled(_lines(b'{"hello":"world"}')),
    "no_end": _spoiled(lambda scene: (*scene.answer.preamble, *scene.answer.deltas)),
    "no_last_marker": _spoiled(lambda scene: scene.answer.whole[:-1]),
    "cut_mid_delta": _spoiled(lambda scene: [_half_of(scene.answer.deltas[-1])], after="half"),
    "error_first": _spoiled(_overloaded),
    "error_mid_stream": _spoiled(_overloaded, after="half"),
    "double_end": _spoiled(lambda scene: (*scene.answer.whole, *scene.answer.closing[-1:])),
    "cut_arguments": _spoiled(lambda scene: scene.answer.called),
    "huge_line": _spoiled(_huge, after="half"),
    "bomb": _spoiled(lambda _scene: [_bomb()], "Content-Encoding: gzip"),
    "unknown_encoding": _spoiled(
        lambda scene: [piece[::-1] for piece in scene.answer.whole], "Content-Encoding: x-cipher"
    ),
    "status_400": _status(400, "messages: at least one message is needed"),
    "status_400_parameter": _status(400, "Unsupported parameter: 'top_p'"),
    "status_400_context": _status(400, "the prompt is too long: 9 tokens over the context"),
    "status_401": _status(401, "the key is wrong"),
    "status_403": _status(403, "the key may not do this"),
    "status_404": _status(404, "the model stand-in-1 does not exist"),
    "status_405": _status(405, "not this way"),
    "status_413": _status(413, "the body is enormous"),
    "status_422": _status(422, "messages: must be a list"),
    "status_429": _status(429, "slow down"),
    "status_429_seconds": _status(429, "slow down", Retry_After="7"),
    "status_429_date": _status(429, "slow down", Retry_After=RETRY_DATE, Date=_NOW),
    "status_429_millis": _status(429, "slow down", Retry_After_Ms="1500", Retry_After="7"),
    "status_500": _status(500, "something broke"),
    "status_503": _status(503, "come back", Retry_After="3"),
    "status_529": _status(529, "overloaded"),
    "redirect": _status(307, "elsewhere", Location="/elsewhere"),
}

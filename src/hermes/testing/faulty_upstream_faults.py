"""Every way in which the faulty upstream fails, by name: one function for each.

A fault gets a `Scene` and spoils the good answer in it. It knows no dialect: the answer knows what
an error, a line or an end marker looks like.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache

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


async def none(scene: Scene) -> None:
    """Give the good answer."""
    scene.begin()
    await scene.say(scene.answer.whole)
    scene.out.end()


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


async def huge_header(scene: Scene) -> None:
    scene.begin("X-Filler: " + "x" * _BIG_HEADER)
    await scene.say(scene.answer.whole)
    scene.out.end()


async def hang_before_headers(_scene: Scene) -> None:
    await asyncio.Event().wait()


async def hang_mid_stream(scene: Scene) -> None:
    await scene.half()
    await asyncio.Event().wait()


async def reset_mid_stream(scene: Scene) -> None:
    await scene.half()
    scene.out.reset()


async def closed_mid_stream(scene: Scene) -> None:
    await scene.half()
    scene.out.cut()


async def closed_after_preamble(scene: Scene) -> None:
    await scene.open()
    scene.out.cut()


async def ended_after_preamble(scene: Scene) -> None:
    await scene.open()
    scene.out.end()


async def empty_body(scene: Scene) -> None:
    scene.begin()
    scene.out.end()


async def garbage(scene: Scene) -> None:
    scene.begin()
    await scene.say([scene.answer.line(b"}{ nothing of the kind")])
    scene.out.end()


async def garbage_mid_stream(scene: Scene) -> None:
    await scene.half()
    await scene.say([scene.answer.line(b"}{ nothing of the kind")])
    scene.out.end()


async def garbage_between(scene: Scene) -> None:
    await scene.half()
    await scene.say([scene.answer.line(b"}{ nothing of the kind")])
    await scene.say(scene.answer.deltas[2:])
    await scene.say(scene.answer.closing)
    scene.out.end()


async def half_json(scene: Scene) -> None:
    scene.begin()
    await scene.say([scene.answer.line(b'{"id":"c","model":"st')])
    scene.out.end()


async def other_json(scene: Scene) -> None:
    scene.begin()
    await scene.say([scene.answer.line(b'{"hello":"world"}')])
    scene.out.end()


async def page(scene: Scene) -> None:
    scene.out.whole(200, _PAGE, kind="text/html; charset=utf-8")


async def error_in_json(scene: Scene) -> None:
    body = scene.answer.refusal(503, scene.words("the backend is down"))
    scene.out.whole(200, body, kind="application/json")


async def no_end(scene: Scene) -> None:
    scene.begin()
    await scene.say((*scene.answer.preamble, *scene.answer.deltas))
    scene.out.end()


async def no_last_marker(scene: Scene) -> None:
    scene.begin()
    await scene.say(scene.answer.whole[:-1])
    scene.out.end()


async def cut_mid_delta(scene: Scene) -> None:
    await scene.half()
    last = scene.answer.deltas[-1]
    await scene.say([last[: len(last) // 2]])
    scene.out.end()


async def error_first(scene: Scene) -> None:
    scene.begin()
    await scene.say([scene.answer.error(scene.words("overloaded"))])
    scene.out.end()


async def error_mid_stream(scene: Scene) -> None:
    await scene.half()
    await scene.say([scene.answer.error(scene.words("overloaded"))])
    scene.out.end()


async def double_deltas(scene: Scene) -> None:
    answer = scene.answer
    await scene.open()
    await scene.say([piece for delta in answer.deltas for piece in (delta, delta)])
    await scene.say(answer.closing)
    scene.out.end()


async def double_end(scene: Scene) -> None:
    scene.begin()
    await scene.say((*scene.answer.whole, *scene.answer.closing[-1:]))
    scene.out.end()


async def cut_arguments(scene: Scene) -> None:
    scene.begin()
    await scene.say(scene.answer.called)
    scene.out.end()


async def huge_line(scene: Scene) -> None:
    await scene.half()
    filler = b'"' + b"x" * scene.answer.longest + b'"'
    await scene.say([scene.answer.line(filler)])
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


async def bomb(scene: Scene) -> None:
    scene.begin("Content-Encoding: gzip")
    await scene.say([_bomb()])
    scene.out.end()


async def unknown_encoding(scene: Scene) -> None:
    scene.begin("Content-Encoding: x-cipher")
    await scene.say([piece[::-1] for piece in scene.answer.whole])
    scene.out.end()


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
    **_named(
        reset_before_headers,
        closed_before_headers,
        half_headers,
        not_http,
        huge_header,
        hang_before_headers,
        hang_mid_stream,
        reset_mid_stream,
        closed_mid_stream,
        closed_after_preamble,
        ended_after_preamble,
    ),
    **_named(empty_body, garbage, garbage_mid_stream, garbage_between, half_json, other_json),
    **_named(page, error_in_json),
    **_named(no_end, no_last_marker, cut_mid_delta, error_first, error_mid_stream),
    **_named(double_deltas, double_end, cut_arguments, huge_line, endless_comments, slow_drip),
    **_named(wrong_charset, short_body, bad_chunk, bomb, unknown_encoding),
    **_named(page_502, cut_401, huge_500),
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

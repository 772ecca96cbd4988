"""Hostile clients: how long others wait while a hundred clients are silent, slow, huge or gone."""

import asyncio
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import msgspec

from bench.gateway import Running, echo_server, gateway
from bench.hostile import CLIENTS, ROUNDS
from bench.http import Connection, connect
from bench.process import rss_mb
from bench.registry import Group, Say, Settings, Target

_ASKED = 150
_CALM = "nobody"
_OK = 200


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    with echo_server() as model, gateway(model) as running:
        for what in (_CALM, *ROUNDS):
            say(f"{what} beside {_ASKED} others")
            with hostile(running, what):
                yield asyncio.run(_measure_others(running, what))
        yield {"hostile_rss_mb": rss_mb(running.pid)}


@contextmanager
def hostile(running: Running, what: str, *, token: str = "") -> Iterator[None]:
    """Run hostile clients of one kind beside the block, with the gateway's first token or another."""
    if what == _CALM:
        yield
        return
    command = [
        sys.executable,
        "-m",
        "bench.hostile",
        str(running.port),
        token or running.token,
        what,
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


async def _measure_others(running: Running, what: str) -> dict[str, float]:
    connection = await connect("127.0.0.1", running.port)
    health: list[float] = []
    messages: list[float] = []
    try:
        for number in range(_ASKED):
            health.append(await ask(connection, health_request()))
            messages.append(
                await ask(connection, message_request(running.token, f"{what} {number}"))
            )
    finally:
        connection.close()
    return {
        f"hostile_{what}_{name}_{part}_ms": value
        for name, took in (("health", health), ("message", messages))
        for part, value in _times(took).items()
    }


def _times(took_s: list[float]) -> dict[str, float]:
    took = sorted(took_s)
    return {"p50": statistics.median(took) * 1000, "p99": took[int(len(took) * 0.99)] * 1000}


async def ask(connection: Connection, request: bytes) -> float:
    """Return how long an answer took."""
    started = perf_counter()
    status, body = await connection.ask(request)
    if status != _OK:
        raise RuntimeError(f"the gateway answered {status}: {body[:300]!r}")
    return perf_counter() - started


def health_request() -> bytes:
    """Return the request that every monitor makes."""
    return b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


def message_request(token: str, name: str, *, text: str = "hello") -> bytes:
    """Return a message of Ann's as a program sends it."""
    body = msgspec.json.encode({"sender": "ann", "text": text, "id": name})
    head = (
        f"POST /api/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}"
        f"\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "hostile": f"{CLIENTS} clients in a process of their own; each comes again when it was closed",
        "others": f"one connection: {_ASKED} times /healthz and a message, one after the other",
        "settings": "the shipped defaults",
    }


GROUP = Group(
    name="hostile",
    about="others beside silent, slow, huge and aborted clients",
    targets={f"hostile_{what}_health_p99_ms": Target(at_most=250) for what in ROUNDS},
    settings=effective_settings,
    run=measure,
    has_gateway_cpu=False,
)

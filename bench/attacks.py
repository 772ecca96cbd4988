"""What one client can do to others: floods, open calls, large requests, and texts that are slow to read.

The figures belong to the group `first`. Each attack runs in a process of its own against a fresh gateway with
the shipped defaults, while another person asks one thing after the other.
"""

import asyncio
import subprocess
from collections.abc import Iterator

import msgspec

from bench.caller import Caller, make_caller
from bench.gateway import Model, Running, environment, gateway, hermes_command, upstream
from bench.groups.hostile import ask, health_request, hostile, message_request
from bench.http import connect
from bench.regexes import rows, worst_of_all
from bench.registry import Say, Settings, Target

_ASKED = 300
_TURNS = 100
_COMMAND_S = 60.0
TARGETS = {
    "head_flood_others_p99_ms": Target(at_most=100),
    "fair_share_other_p99_s": Target(at_most=2),
    "worst_regex_ms": Target(at_most=50),
}


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run all attacks."""
    say("a head of 100 MB and 500 silent connections")
    with upstream() as model, gateway(model) as running, hostile(running, "head_flood"):
        took = asyncio.run(_ask_again(running, [health_request()] * _ASKED))
        yield {"head_flood_others_p99_ms": _p99(took) * 1000}
    shares: dict[str, float] = {}
    say("one sender floods the inbox")
    with upstream() as model, gateway(model) as running:
        shares["fair_share_inbox_p99_s"] = _beside_inbox_flood(running, model)
    say("30 open calls of one key")
    with upstream() as model, gateway(model) as running:
        caller = make_caller(running, model)
        with hostile(running, "open_calls", token=caller.secret):
            took = asyncio.run(_ask_again(running, _turns(running.token)))
        shares["fair_share_calls_p99_s"] = _p99(took)
    say("three requests for embeddings of 2,048 texts")
    with upstream() as model, gateway(model) as running:
        shares["fair_share_embeddings_p99_s"] = _beside_embeddings(running, model)
    yield {"fair_share_other_p99_s": max(shares.values()), **shares}
    say("every regular expression with its worst input")
    worst = worst_of_all(rows())
    for one in worst[:3]:
        say(f"{one.ms:.1f} ms at {one.size} characters: {one.place[:100]}")
    yield {"worst_regex_ms": worst[0].ms}


def _beside_inbox_flood(running: Running, model: Model) -> float:
    told = subprocess.run(
        hermes_command("token", "--json"),
        env=environment(model, running.home),
        capture_output=True,
        timeout=_COMMAND_S,
        check=True,
    )
    other = str(msgspec.json.decode(told.stdout)["token"])
    with hostile(running, "inbox_flood"):
        return _p99(asyncio.run(_ask_again(running, _turns(other))))


def _beside_embeddings(running: Running, model: Model) -> float:
    mallory, ann = make_caller(running, model), make_caller(running, model, user="ann")
    one = [_embedding(ann)]
    # The first request loads the embedder.
    asyncio.run(_ask_again(running, one))
    with hostile(running, "embeddings", token=mallory.secret):
        return _p99(asyncio.run(_ask_again(running, one * _TURNS)))


async def _ask_again(running: Running, requests: list[bytes]) -> list[float]:
    connection = await connect("127.0.0.1", running.port)
    try:
        return [await ask(connection, request) for request in requests]
    finally:
        connection.close()


def _turns(token: str) -> list[bytes]:
    text = "What should I wear? [[short]]"
    return [message_request(token, f"other {number}", text=text) for number in range(_TURNS)]


def _embedding(caller: Caller) -> bytes:
    body = b'{"model":"minilm","input":"hello"}'
    head = (
        "POST /v1/embeddings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {caller.secret}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _p99(took_s: list[float]) -> float:
    return sorted(took_s)[int(len(took_s) * 0.99)]


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "attacks": "a fresh gateway for each, with the shipped defaults; the attacker in a process of its own",
        "others": f"{_ASKED} times /healthz, or {_TURNS} turns or embeddings, one after the other",
    }

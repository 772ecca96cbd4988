"""The same answer on every wire: each kind of answer through every pair of wires, whole and streamed.

A real gateway stands between a service of every wire and a caller of every wire. What the caller
reads is compared as a whole: words and their order, calls, stop reason, usage, the model's name,
and the status, code and field of an error.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path

import aiohttp
import msgspec
import pytest

from tests.system.live import live_gateway
from tests.system.wire_kinds import (
    KINDS,
    MODES,
    NO_WORD,
    WIRES,
    Heard,
    Mode,
    Wire,
    asked_for,
    expected,
)
from tests.system.wire_readers import PATHS, body_for, heard
from tests.system.wire_service import WireService

# The `kind` of each service in config.yaml, and the path of its API.
UPSTREAMS = {
    "openai": ("openai", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", ""),
    "ollama": ("ollama", ""),
}


@asynccontextmanager
async def between(tmp_path: Path, service: WireService) -> AsyncIterator[aiohttp.ClientSession]:
    """Run a gateway over `service` on all its wires; gives a client of the gateway."""
    home = tmp_path / "home"
    home.mkdir()
    async with service.server() as server:
        # One try for each call, and no rest after it: every answer is the service's own.
        lines = ["routing:", "  retry_s: 0", "  breaker:", "    rate_limit_s: 0", "providers:"]
        for name, (kind, path) in UPSTREAMS.items():
            url = f"{server.origin}/{name}{path}"
            lines += [f"  {name}:", f"    kind: {kind}", f"    base_url: {url}"]
            lines += ["    model: asked"]
        (home / "config.yaml").write_text("\n".join(lines) + "\n")
        async with (
            live_gateway(home) as live,
            aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        ):
            yield http


async def ask(
    http: aiohttp.ClientSession, service: WireService, upstream: str, *, wire: Wire, mode: Mode
) -> Heard:
    asked = asked_for(service.kind, wire, mode)
    body = body_for(wire, mode, model=f"{upstream}:{asked}")
    async with http.post(PATHS[wire], json=body) as answer:
        return heard(wire, answer.status, answer.headers, await answer.read())


@pytest.mark.req("M1", "M3", "M5", "M7", "P5")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_the_same_answer_on_every_wire(upstream: str, tmp_path: Path) -> None:
    service = WireService()
    differ = []
    async with between(tmp_path, service) as http:
        for (name, kind), wire, mode in product(KINDS.items(), WIRES, MODES):
            service.kind = kind
            heard_now = await ask(http, service, upstream, wire=wire, mode=mode)
            found = msgspec.structs.replace(heard_now, seals=())
            wanted = expected(kind, upstream, wire, mode)
            if found != wanted:
                differ.append((name, wire, mode, found, wanted))
    assert differ == []


@pytest.mark.req("M3", "M7")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_seals_are_the_same_in_streams_and_whole_answers(
    upstream: str, tmp_path: Path
) -> None:
    service = WireService()
    service.kind = KINDS["sealed thoughts"]
    async with between(tmp_path, service) as http:
        for wire in WIRES:
            whole, streamed = [
                await ask(http, service, upstream, wire=wire, mode=mode) for mode in MODES
            ]
            assert streamed.seals == whole.seals, wire
            assert bool(whole.seals) is ((upstream, "seal") not in NO_WORD), wire


@pytest.mark.req("M1", "P5")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_what_cannot_be_read_in_an_answer_is_skipped_and_said(
    upstream: str, tmp_path: Path
) -> None:
    service = WireService()
    service.kind = msgspec.structs.replace(KINDS["text"], noise=b"}{ nothing of the kind")
    async with between(tmp_path, service) as http:
        for wire, mode in product(WIRES, MODES):
            asked = asked_for(KINDS["text"], wire, mode)
            body = body_for(wire, mode, model=f"{upstream}:{asked}")
            async with http.post(PATHS[wire], json=body) as answer:
                data = await answer.read()
                found = heard(wire, answer.status, answer.headers, data)
                said = answer.headers.get("x-hermes-skipped") == "unreadable"

            assert msgspec.structs.replace(found, seals=()) == expected(
                KINDS["text"], upstream, wire, mode
            )
            assert said or b": x-hermes-skipped: unreadable\n\n" in data

"""Every stand-in runs as the same kind of program, which other processes drive."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

# A program for several platforms is told which it is.
NAMES = (
    *("discord", "email", "irc", "matrix", "qq", "slack", "sms", "telegram", "webhook"),
    *("meta whatsapp", "meta instagram", "meta messenger"),
)


@asynccontextmanager
async def program(name: str) -> AsyncIterator[dict[str, Any]]:
    """Run a stand-in; it ends with its standard input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *f"hermes.testing.{name}".split(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) == 0


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", NAMES)
async def test_it_is_driven_by_other_processes(name: str) -> None:
    async with program(name) as told, aiohttp.ClientSession() as http:

        async def ask(verb: str, body: object) -> tuple[int, Any]:
            async with http.post(f"{told['control']}/{verb}", json=body) as answer:
                text = await answer.text()
                return answer.status, json.loads(text) if answer.status == 200 else text

        assert told["settings"]
        assert await ask("write", {"text": "hello", "chat": "chat-1"}) == (200, {})
        assert await ask("posts", {"chat": "chat-1"}) == (200, [])
        status, state = await ask("state", {"chat": "chat-1"})
        assert (status, state["posts"], state["rejections"]) == (200, [], [])
        assert await ask("plan", {"kind": "rate_limited"}) == (200, {})
        assert await ask("point_at", {"url": "http://127.0.0.1:1/"}) == (200, {})
        for wrong in ({"text": 5}, {"chat_type": "crowd"}):
            assert (await ask("say", wrong))[0] == 400
        assert (await ask("dance", {}))[0] == 404


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", NAMES)
async def test_it_helps_rather_than_starts(name: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *f"hermes.testing.{name}".split(),
        "--help",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    told = await asyncio.wait_for(process.stdout.read(), 30)
    assert told.startswith(b"usage: ")
    assert await process.wait() == 0

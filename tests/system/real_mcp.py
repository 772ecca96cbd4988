"""The real MCP servers of the tests: where `make test` puts them, and how they are started."""

import asyncio
import os
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

# Pytest rewrites what is imported, and Python 3.11 may fail to parse in a thread (gh-106905).
import hermes.tools.mcp.sdk_connection  # noqa: F401

PARTS = Path(__file__).resolve().parents[2] / "build" / "test-parts"
NODE = PARTS / "mcp-node" / "node_modules" / ".bin"
PYTHON = PARTS / "mcp-python" / "bin"
EVERYTHING = NODE / "mcp-server-everything"
FILES = NODE / "mcp-server-filesystem"
TIME = PYTHON / "mcp-server-time"
GIT = PYTHON / "mcp-server-git"


def need(*programs: Path) -> None:
    """Skip the test where a server is not installed."""
    missing = [program.name for program in programs if not program.exists()]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: run tools/install_test_parts.sh")


def time_server() -> dict[str, Any]:
    need(TIME)
    return {"command": str(TIME), "args": ["--local-timezone", "UTC"]}


def files_server(folder: Path) -> dict[str, Any]:
    need(FILES)
    return {"command": str(FILES), "args": [str(folder)]}


def git_server(folder: Path) -> dict[str, Any]:
    need(GIT)
    return {"command": str(GIT), "args": ["-r", str(folder)]}


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


async def everything(kind: str, port: int) -> Process:
    """Start the server that has everything, over HTTP, and wait until it takes connections."""
    need(EVERYTHING)
    machine = os.environ  # noqa: TID251  a test hands its own environment on
    env = {"PATH": machine["PATH"], "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        str(EVERYTHING), kind, env=env, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
    )
    await until(partial(_answers, port))
    return process


async def until(happened: Callable[[], Awaitable[bool]], *, within_s: float = 30.0) -> None:
    """Ask again and again; other processes tell nobody when they are done."""
    async with asyncio.timeout(within_s):
        for _ in count():
            if await happened():
                return
            await asyncio.sleep(0.02)


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def end(process: Process) -> None:
    """Kill a server, however it stands."""
    if process.returncode is None:
        process.kill()
    await process.wait()

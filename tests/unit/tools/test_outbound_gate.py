"""The outbound gate finds every way out that is not listed, and every row that nothing needs."""

from pathlib import Path

import pytest

from tools.outbound_gate import MAY_CONNECT, MAY_TRUST, Gate, check, main

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "hermes"


def breaches_of(text: str, path: str = "channels/x/client.py") -> list[tuple[int, str]]:
    return [(breach.line, breach.text) for breach in Gate().read(path, text)]


@pytest.mark.req("W34")
def test_nothing_of_ours_connects_but_what_is_listed() -> None:
    assert check(PACKAGE) == []


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "text",
    [
        "import socket",
        "import socket as quiet",
        "from socket import create_connection",
        "import ssl",
        "import http.client",
        "from http import client",
        "import urllib.request",
        "from urllib.request import urlopen",
        "from urllib import request",
        "import smtplib",
        "import xmlrpc.client",
        "import logging.handlers",
        "import aiohttp",
        "from aiohttp import ClientSession",
        "import httpx",
        "import requests",
        "import redis.asyncio",
        "def f():\n    import websockets",
        "from importlib import import_module\nx = import_module('httpx')",
        "import asyncio\nasync def f(host):\n    await asyncio.open_connection(host, 80)",
        "from asyncio import open_connection",
        "async def f(loop, host):\n    await loop.create_connection(P, host, 80)",
        "async def f(loop, host):\n    await loop.create_datagram_endpoint(P, host)",
        "async def f(loop, sock):\n    await loop.sock_connect(sock, ('h', 1))",
        "async def f(session, url):\n    await session.ws_connect(url)",
        "import subprocess",
        "from asyncio import create_subprocess_exec",
        "import asyncio\nasync def f():\n    await asyncio.create_subprocess_exec('curl')",
        "import os\nos.system('curl x')",
        "import os\nos.execv('curl', [])",
        "import multiprocessing",
        "import ctypes",
        "def f(name):\n    __import__(name)",
        "def f(text):\n    exec(text)",
        "from importlib import import_module\ndef f(n):\n    import_module(n)",
        "def f(HttpClient, s):\n    return HttpClient(s)",
        "async def f(c, u):\n    async with c.client.request('n', 'GET', u, trusted=True): ...",
        "async def f(c, u, t):\n    async with c.client.request('n', 'GET', u, trusted=t): ...",
        "async def f(c, u, k):\n    async with c.client.request('n', 'GET', u, **k): ...",
        "def f(client):\n    return client.session(trusted=True)",
    ],
)
def test_a_way_out_that_is_not_listed_is_found(text: str) -> None:
    assert len(breaches_of(text)) == 1


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "text",
    [
        "import jsonschema_rs\njsonschema_rs.validator_for(s)",
        "import jsonschema_rs\njsonschema_rs.validator_for(s, offline=False)",
        "x.from_pretrained(path)",
        "x.from_pretrained(path, local_files_only=flag)",
    ],
)
def test_a_library_that_fetches_unless_told_not_to_is_found_where_it_is_listed(text: str) -> None:
    path = "schema/checker.py" if "schema" in text else "graph/exports/tokenizer_file.py"

    [(_, told)] = breaches_of(text, path)

    assert "it would connect to any address" in told


@pytest.mark.parametrize(
    "text",
    [
        "import msgspec, os, asyncio\nfrom hermes.net.client import HttpClient",
        "from urllib.parse import urljoin\nfrom http import HTTPStatus",
        "import asyncio\nasync def f():\n    await asyncio.start_server(g, 'h', 1)",
        "async def f(c, u):\n    async with c.client.request('n', 'GET', u, trusted=False): ...",
        "import importlib\nimportlib.import_module('hermes.cli.up')",
        "import os\nos.fsync(1)\nre.compile('x')\nsystem = 1",
    ],
)
def test_what_stays_here_passes(text: str) -> None:
    assert breaches_of(text) == []


def test_a_listed_module_and_a_listed_folder_pass() -> None:
    assert breaches_of("import aiohttp", "net/client.py") == []
    assert breaches_of("import aiohttp", "testing/push/platform.py") == []
    assert len(breaches_of("import aiohttp", "testing.py")) == 1
    assert len(breaches_of("import aiohttp", "net/page_fetch.py")) == 1


@pytest.mark.req("W34")
def test_every_row_has_a_reason_and_something_that_needs_it(tmp_path: Path) -> None:
    package = tmp_path / "hermes"
    package.mkdir()
    (package / "quiet.py").write_text("x = 1\n")

    told = [breach.path for breach in check(package)]

    assert {row for row in MAY_CONNECT if not row.endswith("/")} <= set(told)
    assert all(len(reason) > 10 for reason in (*MAY_CONNECT.values(), *MAY_TRUST.values()))


def test_the_command_fails_and_names_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "sly.py").write_text("x = 1\nimport httpx\n")
    (tmp_path / "broken.py").write_text("def (\n")

    status = main([str(tmp_path)])

    told = capsys.readouterr().out.splitlines()
    assert status == 1
    assert f"{tmp_path}/broken.py:1: is no Python: invalid syntax" in told
    assert any(line.startswith(f"{tmp_path}/inner/sly.py:2: imports httpx") for line in told)


def test_the_command_says_when_the_folder_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "absent")]) == 2
    assert "no such folder" in capsys.readouterr().err

"""MCP servers that need tokens: the SDK's own server and authorization server, and a real gateway."""

import asyncio
import json
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.live import Live, environment, live_gateway, model_server, run_command, with_model
from tests.system.real_mcp import free_port, until

SERVER = Path(__file__).with_name("oauth_server.py")
# Masked by its own connection at once, and everywhere a moment later.
HIDDEN = ("called with ****", "called with [secret OAUTH_GRANT]")
SECRET = "the-secret-of-hermes-0123456789"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Run the server that needs tokens; gives its port and its log of tokens."""
    port, log = free_port(), tmp_path_factory.mktemp("oauth") / "tokens.log"
    # Tokens are renewed 30 s before their end, so each of these is used for three seconds.
    command = [sys.executable, str(SERVER), str(port), str(log), "33"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield port, log
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def guarded(server: tuple[int, Path]) -> tuple[int, Path]:
    port, log = server

    async def answers() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    await until(answers, within_s=120)
    log.write_text("")
    return server


def settings(port: int, **oauth: Any) -> dict[str, str]:
    server = {
        "url": f"http://127.0.0.1:{port}/mcp",
        "approval": "never",
        "oauth": oauth,
        "timeout_s": 20,
    }
    return {
        "HERMES_MCP": json.dumps({"servers": {"guarded": server}, "start_wait_s": 60}),
        "HERMES_LOGS__LEVEL": "debug",
    }


def credentials(port: int, **more: Any) -> dict[str, str]:
    return settings(
        port,
        **{
            "issuer": f"http://127.0.0.1:{port}/cc",
            "grant": "client_credentials",
            "client_id": "hermes",
            "client_secret": SECRET,
            **more,
        },
    )


@asynccontextmanager
async def gateway(
    home: Path, env: dict[str, str]
) -> AsyncIterator[tuple[Live, aiohttp.ClientSession]]:
    async with (
        model_server() as url,
        live_gateway(home, {**with_model(url), **env}) as live,
        aiohttp.ClientSession(headers=live.bearer) as session,
    ):
        yield live, session


async def use(live: Live, session: aiohttp.ClientSession) -> str:
    message = {"sender": "ann", "text": "[[tool:mcp_guarded_leak {}]]"}
    return str((await live.post(session, **message))["reply"])


async def state_of(live: Live, session: aiohttp.ClientSession) -> tuple[str, str]:
    async with session.get(f"{live.url}/control/mcp") as answer:
        (server,) = (await answer.json())["servers"]
    return server["state"], server["problem"] or ""


async def log_in(
    live: Live, env: dict[str, str], change: tuple[str, str] = ("", "")
) -> tuple[int, str]:
    """Run `hermes mcp login`, and be the browser; returns its code and what it has printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hermes", "mcp", "login", "guarded",
        env=environment(live.home, env), stdout=PIPE, stderr=PIPE, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stderr is not None
    printed = ""
    async with asyncio.timeout(120):
        while line := (await process.stderr.readline()).decode():
            printed += line
            if line.startswith("http"):
                await _browse(line.strip(), change)
        out, _ = await process.communicate()
    return process.returncode or 0, printed + out.decode()


async def _browse(address: str, change: tuple[str, str]) -> None:
    async with aiohttp.ClientSession() as browser:
        async with browser.get(address, allow_redirects=False) as answer:
            back = answer.headers["location"]
        back = back.replace(*change)
        async with browser.get(back.split("/callback")[0] + "/favicon.ico") as answer:
            assert answer.status == 404
        async with browser.get(back) as answer:
            assert answer.status == 200


@pytest.mark.req("W37")
async def test_client_credentials_get_renew_and_hide_tokens(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    port, log = guarded
    async with gateway(tmp_path / "home", credentials(port)) as (live, session):
        assert (await use(live, session)).endswith(HIDDEN)
        before = len(log.read_text().split())
        await asyncio.sleep(3.1)
        assert (await use(live, session)).endswith(HIDDEN)
        given = log.read_text().split()
        assert (set(given), len(given) > before > 0) == ({"credentials"}, True)
        assert SECRET not in live.said()


@pytest.mark.req("W37", "J1")
async def test_a_login_in_a_browser_is_kept_over_a_kill_and_renewed(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    port, log = guarded
    env = settings(port, issuer=f"http://127.0.0.1:{port}", redirect_port=free_port(), scope="read")
    async with gateway(tmp_path / "home", env) as (live, session):
        state, problem = await state_of(live, session)
        assert (state, "run `hermes mcp login guarded`" in problem) == ("waiting", True)
        code, printed = await log_in(live, env)
        assert (code, "guarded: connected" in printed) == (0, True), printed
        # The server names no scope, which does not take away the one of the settings.
        assert "&scope=read" in printed
        assert (await use(live, session)).endswith(HIDDEN)
        assert log.read_text().split()[0] == "code"
        await live.stop(signal.SIGKILL)
    log.write_text("")
    await asyncio.sleep(3.1)
    async with gateway(tmp_path / "home", env) as (live, session):
        assert (await use(live, session)).endswith(HIDDEN)
        assert set(log.read_text().split()) == {"refresh"}
        database = b"".join(path.read_bytes() for path in live.home.glob("*.db*"))
        assert b"access_token" not in database
        shown = await run_command(live.home, "mcp", "logout", "guarded", more=env)
        assert "it needs a login" in shown.stdout
        assert (await state_of(live, session))[0] == "waiting"


@pytest.mark.req("W37", "M9")
async def test_a_login_uses_a_client_whose_id_and_secret_are_stored(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    (port, log), back = guarded, free_port()
    named = {"client_id": "${TICKETS_ID}", "client_secret": "${TICKETS_SECRET}"}
    env = settings(port, issuer=f"http://127.0.0.1:{port}", redirect_port=back, **named)
    async with gateway(tmp_path / "home", env) as (live, session):
        state, problem = await state_of(live, session)
        refused, told = await log_in(live, env)
        client = await _registered(session, port, back)
        for name, field in (("TICKETS_ID", "client_id"), ("TICKETS_SECRET", "client_secret")):
            body = {"key": name, "value": client[field]}
            async with session.put(f"{live.url}/settings/secrets", json=body) as answer:
                assert answer.status == 200
        code, printed = await log_in(live, env)
        used = await use(live, session)
        await asyncio.sleep(3.1)
        renewed = await use(live, session)

    assert (state, "secrets set TICKETS_ID" in problem) == ("waiting", True)
    assert (refused, "neither a stored secret nor a variable" in told) == (1, True), told
    assert (code, "guarded: connected" in printed) == (0, True), printed
    assert f"client_id={client['client_id']}" in printed
    assert client["client_secret"] not in printed + live.said()
    assert used.endswith(HIDDEN)
    assert renewed.endswith(HIDDEN)
    assert log.read_text().split()[:2] == ["code", "refresh"]


async def _registered(session: aiohttp.ClientSession, port: int, back: int) -> dict[str, str]:
    """Register a client with a secret, as an operator does on the pages of the issuer."""
    wish = {
        "redirect_uris": [f"http://127.0.0.1:{back}/callback"],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    async with session.post(f"http://127.0.0.1:{port}/register", json=wish) as answer:
        assert answer.status == 201
        return dict(await answer.json())


@pytest.mark.req("W37")
async def test_what_comes_back_of_another_login_gets_no_token(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    port, log = guarded
    env = settings(port, issuer=f"http://127.0.0.1:{port}", redirect_port=free_port())
    changes = {
        ("state=", "state=x"): "State parameter mismatch",
        ("iss=http", "iss=https"): "iss mismatch",
        ("code=", "error=access_denied&x="): "answered 'access_denied'",
    }
    async with gateway(tmp_path / "home", env) as (live, session):
        for change, told in changes.items():
            code, printed = await log_in(live, env, change)
            assert (code, told in printed) == (1, True), printed
            assert "Traceback" not in printed
        assert log.read_text() == ""
        assert (await state_of(live, session))[0] == "waiting"


@pytest.mark.req("W37")
async def test_nobody_is_sent_to_another_issuer(tmp_path: Path, guarded: tuple[int, Path]) -> None:
    port, log = guarded
    env = settings(port, issuer="https://login.example.org", redirect_port=free_port())
    async with gateway(tmp_path / "home", env) as (live, _session):
        code, printed = await log_in(live, env)
        assert (code, "nobody is sent there" in printed) == (1, True), printed
        assert "/authorize" not in printed
        assert log.read_text() == ""


@pytest.mark.req("W37")
async def test_a_hostile_or_wrong_issuer_is_a_clear_problem(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    port, log = guarded
    base = f"http://127.0.0.1:{port}"
    wrong = {
        "cloud": ({"issuer": f"{base}/cloud"}, "OAuth leads to http://169.254.169.254:80"),
        "port": ({"issuer": f"{base}/port"}, "OAuth leads to http://127.0.0.1:1"),
        "other": ({"issuer": f"{base}/other"}, "is of the issuer https://other.example.org"),
        "secret": ({"client_secret": "another-secret"}, "invalid_client"),
        "unset": ({"client_secret": "${NOBODY_HAS_SET}"}, "secrets set NOBODY_HAS_SET"),
    }
    servers = {
        name: json.loads(credentials(port, **oauth)["HERMES_MCP"])["servers"]["guarded"]
        for name, (oauth, _) in wrong.items()
    }
    env = {"HERMES_MCP": json.dumps({"servers": servers, "start_wait_s": 60})}
    async with gateway(tmp_path / "home", env) as (live, session):
        async with session.get(f"{live.url}/control/mcp") as answer:
            found = {one["name"]: one for one in (await answer.json())["servers"]}
        for name, (_, told) in wrong.items():
            assert found[name]["state"] == "waiting"
            assert told in found[name]["problem"]
            assert SECRET not in found[name]["problem"]
        assert log.read_text() == ""


@pytest.mark.req("W37")
async def test_tokens_of_a_login_at_another_server_are_not_kept(
    tmp_path: Path, guarded: tuple[int, Path]
) -> None:
    port, _log = guarded
    env = settings(port, issuer=f"http://127.0.0.1:{port}", redirect_port=free_port())
    right = {"url": f"http://127.0.0.1:{port}/mcp", "issuer": f"http://127.0.0.1:{port}"}
    async with gateway(tmp_path / "home", env) as (live, session):
        for wrong in (
            {"url": "https://other.example.org/mcp"},
            {"issuer": "https://other.example"},
        ):
            login = {"server": "guarded", "client_id": "x", "access_token": SECRET, **right}
            address = f"{live.url}/control/mcp/login"
            async with session.post(address, json={**login, **wrong}) as answer:
                assert (answer.status, "other settings" in await answer.text()) == (400, True)
        assert (await state_of(live, session))[0] == "waiting"
        shown = await run_command(live.home, "audit", more=env)
        assert "mcp.login" in shown.stdout
        assert SECRET not in shown.stdout + live.said()

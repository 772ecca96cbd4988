"""Identity providers for the tests: a real one, and one of our own that tells lies when asked to."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from hermes.ports.clock import SystemClock

PARTS = Path(__file__).resolve().parents[2] / "build" / "test-parts"
PROGRAM = PARTS / "identity" / "bin" / "oidc-provider-mock"
START_S = 30.0


@asynccontextmanager
async def real_provider(users: Mapping[str, Mapping[str, object]]) -> AsyncIterator[str]:
    """Run the identity provider that `make test` installs; gives its issuer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    named = [f"--user-claims={json.dumps({'sub': sub, **one})}" for sub, one in users.items()]
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        f"--port={port}",
        "--require-nonce=true",
        *named,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    issuer = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(START_S), aiohttp.ClientSession() as http:
            while not await _answers(http, issuer):  # noqa: ASYNC110  a program of its own
                await asyncio.sleep(0.05)
        yield issuer
    finally:
        process.terminate()
        await process.wait()


async def _answers(http: aiohttp.ClientSession, issuer: str) -> bool:
    try:
        async with http.get(f"{issuer}/.well-known/openid-configuration") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


class Liar:
    """An identity provider that is strict about what it is asked, and says what the test wants.

    `claims` change the id token, `document` what it says of itself; `key` is the name of the key with
    which it signs, `published` are those that it shows.
    """

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.keys = {"k1": rsa.generate_private_key(65537, 2048)}
        self.key = "k1"
        self.published = ["k1"]
        self.status = 200
        self.asked: list[dict[str, str]] = []
        self.authorization: list[str] = []
        self.key_reads = 0
        self.issuer = ""
        self.nonce = ""

    async def run(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._configuration)
        app.router.add_get("/keys", self._keys)
        app.router.add_post("/token", self._token)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _configuration(self, _request: web.Request) -> web.Response:
        told = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        return web.json_response({**told, **self.document}, status=self.status)

    async def _keys(self, _request: web.Request) -> web.Response:
        self.key_reads += 1
        shown = [
            {**json.loads(RSAAlgorithm.to_jwk(self.keys[name].public_key())), "kid": name}
            for name in self.published
        ]
        return web.json_response({"keys": shown})

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        self.authorization.append(request.headers.get("authorization", ""))
        now = int(SystemClock().now())
        claims = {
            "iss": self.issuer,
            "aud": form.get("client_id"),
            "sub": "ann",
            "nonce": self.nonce,
            "iat": now,
            "exp": now + 300,
            "email": "ann@example.org",
            "email_verified": True,
            **self.claims,
        }
        token = jwt.encode(
            claims, self.keys[self.key], algorithm="RS256", headers={"kid": self.key}
        )
        return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": token})

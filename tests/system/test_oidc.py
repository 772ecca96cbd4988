"""Signing in with an identity provider: a real one, and one that lies."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from hermes.app import Gateway
from hermes.config import load
from hermes.errors import Unauthenticated
from hermes.net.client import HttpClient, HttpSettings
from hermes.server.oidc.id_token import AllowedPeople
from hermes.server.oidc.provider import OidcClient, OidcProvider
from hermes.testing.manual_time import ManualClock
from tests.system.identity_server import PROGRAM, Liar, real_provider

pytestmark = pytest.mark.req("W35")
ANN = {"email": "ann@example.org", "email_verified": True, "name": "Ann Lee"}


@dataclass
class Door:
    """A running gateway, as a browser sees it that keeps cookies by hand."""

    http: aiohttp.ClientSession
    url: str
    local: str
    cookies: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, path: str, **more: Any) -> tuple[int, str, list[str]]:
        """Send a request; returns the status, the text and the names of the cookies that it sets."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"cookie": cookie, "origin": self.url} | more.pop("headers", {})
        async with self.http.request(
            method, path, headers=headers, allow_redirects=False, **more
        ) as answer:
            for name, one in answer.cookies.items():
                self.cookies[name] = one.value
            return answer.status, await answer.text(), list(answer.cookies)

    async def leave(self) -> tuple[str, dict[str, str]]:
        """Press the button; returns where the browser is sent, and with which query."""
        status, text, _ = await self.send("POST", "/signin/provider")
        assert status == 200, text
        there = urlsplit(json.loads(text)["url"])
        return f"{there.scheme}://{there.netloc}{there.path}", dict(parse_qsl(there.query))

    async def come_back(self, **said: str) -> tuple[int, str]:
        status, text, _ = await self.send("GET", "/signin/provider", params=said)
        return status, text

    async def me(self) -> Any:
        status, text, _ = await self.send("GET", "/web/me")
        return json.loads(text)["user"] if status == 200 else status

    async def order(self, path: str, body: object) -> Any:
        headers = {"authorization": f"Bearer {self.local}"}
        async with self.http.post(f"/control/{path}", json=body, headers=headers) as answer:
            return await answer.json()


@asynccontextmanager
async def gateway_with(home: Path, oidc: Mapping[str, object]) -> AsyncIterator[Door]:
    home.mkdir()  # noqa: ASYNC240
    own = {"client_id": "hermes", "name": "Example <ID>", **oidc}
    (home / "config.yaml").write_text(json.dumps({"access": {"oidc": own}}))
    variables = {
        "HERMES_SERVER__PORT": "0",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "sk-test-not-a-real-key",
        "HERMES_IDENTITY": "a-client-secret:%+",
    }
    loaded = load(variables, home)
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        async with aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield Door(http, url, address["token"])


@pytest.fixture
async def liar() -> AsyncIterator[Liar]:
    made = Liar()
    runner = await made.run()
    yield made
    await runner.cleanup()


@pytest.fixture
async def door(liar: Liar, tmp_path: Path) -> AsyncIterator[Door]:
    oidc = {"issuer": liar.issuer, "domains": ["example.org"], "secret": "HERMES_IDENTITY"}
    async with gateway_with(tmp_path / "home", oidc) as made:
        yield made


async def sign_in(door: Door, liar: Liar, **said: str) -> tuple[int, str]:
    """Go to the provider and come back."""
    _, asked = await door.leave()
    liar.nonce = asked["nonce"]
    return await door.come_back(**{"code": "c-1", "state": asked["state"], **said})


@pytest.mark.skipif(not PROGRAM.exists(), reason="no identity provider here: make test brings one")
async def test_a_real_identity_provider_signs_people_in(tmp_path: Path) -> None:
    users = {"ann": ANN, "eve": {**ANN, "email": "eve@evil.example"}}
    async with real_provider(users) as issuer, aiohttp.ClientSession() as browser:
        oidc = {"issuer": issuer, "domains": ["example.org"], "secret": "HERMES_IDENTITY"}
        async with gateway_with(tmp_path / "home", oidc) as door:
            _, page, _ = await door.send("GET", "/")
            assert "Sign in with Example &lt;ID&gt;" in page
            found: dict[str, object] = {}
            for sub in ("ann", "ann", "eve"):
                door.cookies = {}
                address, asked = await door.leave()
                async with browser.post(
                    address, params=asked, data={"sub": sub}, allow_redirects=False
                ) as answer:
                    back = urlsplit(answer.headers["location"])
                said = dict(parse_qsl(back.query))
                status, text = await door.come_back(**said)
                found.setdefault(sub, await door.me())
                assert found[sub] == await door.me()
                assert status == (401 if sub == "eve" else 200), text
                # The code was used up, at the provider; another browser cannot use the answer.
                assert (await door.come_back(**said))[0] == 401
            user = str(found["ann"])
    assert (user[:4], found["eve"]) == ("sso-", 401)


async def test_what_the_provider_is_asked_is_bound_to_the_browser(door: Door, liar: Liar) -> None:
    address, asked = await door.leave()
    secret = door.cookies["hermes_provider"]
    liar.nonce = asked["nonce"]

    status, page = await door.come_back(code="c-1", state=asked["state"])

    (form,) = liar.asked
    assert address == f"{liar.issuer}/authorize"
    assert {**asked, "state": "", "nonce": "", "code_challenge": ""} == {
        "response_type": "code",
        "client_id": "hermes",
        "redirect_uri": f"{door.url}/signin/provider",
        "scope": "openid email profile",
        "state": "",
        "nonce": "",
        "code_challenge": "",
        "code_challenge_method": "S256",
    }
    verifier = sha256(form["code_verifier"].encode()).digest()
    assert urlsafe_b64encode(verifier).rstrip(b"=").decode() == asked["code_challenge"]
    assert form["redirect_uri"] == asked["redirect_uri"]
    assert liar.authorization == ["Basic aGVybWVzOmEtY2xpZW50LXNlY3JldCUzQSUyNSUyQg=="]
    assert len({secret, asked["state"], asked["nonce"], form["code_verifier"]}) == 4
    assert (status, "You are signed in" in page) == (200, True)
    assert str(await door.me()).startswith("sso-")


async def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(
    door: Door, liar: Liar
) -> None:
    _, asked = await door.leave()
    liar.nonce = asked["nonce"]
    mine = dict(door.cookies)

    tries = {
        "another state": await door.come_back(code="c-1", state="x"),
        "no state": await door.come_back(code="c-1"),
        "no code": await door.come_back(state=asked["state"]),
        "another issuer": await door.come_back(code="c", state=asked["state"], iss="https://evil"),
        "refused there": await door.come_back(error="access_denied", state=asked["state"]),
    }
    door.cookies = {}
    tries["another browser"] = await door.come_back(code="c-1", state=asked["state"])

    assert {name: one[0] for name, one in tries.items()} == dict.fromkeys(tries, 401)
    assert (liar.asked, await door.me()) == ([], 401)
    door.cookies = mine
    assert (await door.come_back(code="c-1", state=asked["state"]))[0] == 200


LIES: Mapping[str, Mapping[str, Any]] = {
    "another issuer": {"iss": "https://accounts.example"},
    "another client": {"aud": "other"},
    "another sign-in": {"nonce": "n"},
    "expired": {"exp": 1_000},
    "an address that is not verified": {"email_verified": False},
    "another domain": {"email": "ann@example.org.evil.example"},
    "no address": {"email": None},
    "nobody": {"sub": None},
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_of_the_provider_signs_nobody_in(door: Door, liar: Liar, lie: str) -> None:
    liar.claims = dict(LIES[lie])

    status, page = await sign_in(door, liar)

    assert (status, await door.me()) == (401, 401)
    assert "Sign-in failed" in page


async def test_a_new_key_of_the_provider_is_learnt_and_an_unknown_one_is_not_believed(
    liar: Liar,
) -> None:
    clock = ManualClock()
    client = OidcClient(
        issuer=liar.issuer,
        client_id="hermes",
        secret=lambda: None,
        allowed=AllowedPeople(everyone=True),
    )
    http = HttpClient(HttpSettings())
    provider = OidcProvider(client, name="ID", http=http, clock=clock, random_bytes=token_bytes)
    liar.keys["k2"] = rsa.generate_private_key(65537, 2048)

    async def is_believed(key: str) -> bool:
        there = await provider.begin(return_to="http://here")
        asked = dict(parse_qsl(urlsplit(there.url).query))
        liar.key, liar.nonce = key, asked["nonce"]
        liar.claims = {"iat": clock.now(), "exp": clock.now() + 60}
        said = {"code": "c-1", "state": asked["state"]}
        try:
            return bool(await provider.finish(there.secret, said, return_to="http://here"))
        except Unauthenticated:
            return False

    first = [await is_believed("k1"), await is_believed("k2")]
    early = liar.key_reads
    clock.advance(11.0)
    unknown = await is_believed("k2")
    liar.published.append("k2")
    clock.advance(11.0)
    learnt = [await is_believed("k2"), await is_believed("k1")]
    await http.close()

    assert (first, early, unknown, learnt) == ([True, False], 1, False, [True, True])
    assert liar.key_reads == 3
    assert [form.get("client_secret") for form in liar.asked] == [None] * 5


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://127.0.0.1:1/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"jwks_uri": 7},
    ],
)
async def test_a_provider_that_leads_elsewhere_is_not_followed(
    door: Door, liar: Liar, document: dict[str, object]
) -> None:
    liar.document = document

    status, text, cookies = await door.send("POST", "/signin/provider")

    assert (status, cookies, liar.asked) == (401, [], [])
    assert "not valid" in json.loads(text)["error"]["message"]


async def test_a_provider_that_is_down_is_said_and_asked_again_later(
    door: Door, liar: Liar
) -> None:
    liar.status = 500

    down = await door.send("POST", "/signin/provider")
    liar.status = 200
    soon = await door.send("POST", "/signin/provider")

    assert (down[0], soon[0]) == (503, 503)
    assert "does not answer" in json.loads(down[1])["error"]["message"]


async def test_another_sites_page_sends_nobody_to_the_provider(door: Door) -> None:
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        status, _, cookies = await door.send("POST", "/signin/provider", headers=headers)
        assert (status, cookies) == (403, [])


async def test_whoever_is_blocked_is_not_signed_in_again(door: Door, liar: Liar) -> None:
    await sign_in(door, liar)
    user = await door.me()

    await door.order("users/block", {"user": f"web:{user}"})

    assert await door.me() == 401
    status, page = await sign_in(door, liar)
    assert (status, "is blocked" in page, await door.me()) == (401, True, 401)


async def test_without_a_provider_there_is_no_such_page(tmp_path: Path) -> None:
    variables = {"HERMES_SERVER__PORT": "0", "OPENAI_API_KEY": "sk-not-real"}
    loaded = load(variables, tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        async with aiohttp.ClientSession(url) as http, http.post("/signin/provider") as answer:
            assert answer.status == 404

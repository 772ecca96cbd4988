"""The calls of a platform's API: read strictly, refused by rows, and no secret in any error."""

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from hermes.channel_kit.access_token import AccessToken, IssuedToken
from hermes.channel_kit.api import Api
from hermes.channel_kit.multipart import UploadPart
from hermes.errors import (
    AddressRefused,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    NotDelivered,
    TooLarge,
)
from hermes.message.ids import make_id
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel_rows import AnswerRow, ChannelRows, RefusalRow
from hermes.testing.loopback import HttpLoopback
from hermes.testing.manual_time import ManualClock

TOKEN = "123:s3cret/token"
ROWS = ChannelRows(
    answer=AnswerRow(ok="ok", code="code", says="says"),
    refusal=(RefusalRow(code="gone", then="done"), RefusalRow(status=401, credential=True)),
)


@dataclass
class Platform:
    """Answers as it was told, and remembers what it was asked."""

    answers: list[web.Response] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.path_qs, dict(request.headers), body))
        return self.answers.pop(0) if self.answers else web.json_response({"ok": True, "n": 1})


@dataclass
class Rig:
    platform: Platform
    server: HttpLoopback
    api: Api
    client: HttpClient
    refused: list[DeliveryError]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


@asynccontextmanager
async def api_rig(**options: Any) -> AsyncIterator[Rig]:
    platform, server = Platform(), HttpLoopback()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", platform.handle)
    await server.start(app)
    client = HttpClient(HttpSettings(timeout_s=1.0))
    refused: list[DeliveryError] = []
    api = Api(
        client,
        platform="example",
        base_url=f"http://127.0.0.1:{server.port}/bot{TOKEN}/",
        make_id=make_id,
        masked=(TOKEN, TOKEN.partition(":")[2], ""),
        hosts=("example.com",),
        on_refused=refused.append,
        **{"rows": ROWS, **options},
    )
    try:
        yield Rig(platform, server, api, client, refused)
    finally:
        await client.close()
        await server.stop()


def everything(error: BaseException) -> str:
    """Return all that a log of an error could show."""
    return "".join(traceback.format_exception(error)) + repr(error)


async def test_a_call_has_the_headers_of_the_account_and_its_own_body() -> None:
    async with api_rig(headers={"X-App": "7"}) as rig:
        found = await rig.api.call("POST", "send", json={"text": "ä"})
        await rig.api.call("POST", "/send", form={"a": "ä b", "n": 1, "yes": True})
        await rig.api.call("GET", "list", query={"cursor": "a&b"}, headers={"X-App": "8"})

        (method, path, headers, body), form, query = rig.platform.asked
        assert (found, method, path, body) == (
            {"ok": True, "n": 1},
            "POST",
            f"/bot{TOKEN}/send",
            '{"text":"ä"}'.encode(),
        )
        assert (headers["X-App"], headers["Content-Type"]) == (
            "7",
            "application/json; charset=utf-8",
        )
        assert form[3] == b"a=%C3%A4+b&n=1&yes=true"
        assert (query[1], query[2]["X-App"]) == (f"/bot{TOKEN}/list?cursor=a%26b", "8")


async def test_files_are_sent_as_an_upload() -> None:
    async with api_rig() as rig:
        file = UploadPart(name='a"\r\nX: y.png', data=b"\x00\r\n--", mime="image/png\r\nX: y")
        await rig.api.call("POST", "send", form={"caption": "ä"}, files={"photo": file})

        _, _, headers, body = rig.platform.asked[0]
        boundary = headers["Content-Type"].partition("boundary=")[2].encode()
        assert body.count(b"--" + boundary) == 3
        assert (
            b'name="photo"; filename="aX: y.png"\r\nContent-Type: application/octet-stream\r\n'
            in body
        )
        assert b'name="caption"\r\n\r\n\xc3\xa4\r\n' in body


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (web.json_response({"ok": False, "code": "bad"}, status=400), DeliveryRejected),
        (web.json_response({"ok": False, "code": "bad"}), DeliveryRejected),
        (web.json_response({"ok": False}), DeliveryUnknown),
        (web.Response(text="<html>"), DeliveryUnknown),
        (web.Response(status=502, text="<html>"), NotDelivered),
        (web.Response(status=429, headers={"Retry-After": "7"}), NotDelivered),
    ],
)
async def test_every_answer_but_a_success_is_an_error(
    answer: web.Response, kind: type[DeliveryError]
) -> None:
    async with api_rig() as rig:
        rig.platform.answers.append(answer)
        with pytest.raises(kind) as caught:
            await rig.api.call("POST", "send", json={})

        assert rig.refused == [caught.value]


async def test_what_is_as_it_should_be_by_a_row_is_a_success() -> None:
    async with api_rig() as rig:
        rig.platform.answers.append(web.json_response({"code": "gone"}, status=404))

        assert await rig.api.call("DELETE", "message") == {"code": "gone"}
        assert rig.refused == []


async def test_an_empty_answer_is_a_success_where_the_status_says_so() -> None:
    async with api_rig(rows=ChannelRows()) as rig:
        rig.platform.answers.append(web.Response(status=204))

        assert await rig.api.call("POST", "typing", json={}) == {}


async def test_a_success_that_cannot_be_read_leaves_it_open() -> None:
    async with api_rig(rows=ChannelRows()) as rig:
        rig.platform.answers.append(web.Response(text="<html>"))
        with pytest.raises(DeliveryUnknown, match="cannot be read"):
            await rig.api.call("POST", "send", json={})


async def test_no_error_names_the_token_or_the_address() -> None:
    async with api_rig() as rig:
        said = f"no method /bot{TOKEN}/send, nor 123%3As3cret%2Ftoken"
        rig.platform.answers.append(web.json_response({"code": TOKEN, "says": said}, status=404))
        with pytest.raises(DeliveryRejected) as refused:
            await rig.api.call("POST", f"{TOKEN}/send?{TOKEN}", json={})
        await rig.server.stop()
        with pytest.raises(DeliveryUnknown) as cut:
            await rig.api.call("POST", "send", json={})
        with pytest.raises(NotDelivered) as download:
            await rig.api.download("file", limit=9)

        for error in (refused.value, cut.value, download.value):
            assert "s3cret" not in everything(error)
            assert error.__cause__ is None
            assert error.__context__ is None
        assert "s3cret" not in repr(rig.api)


class Issuer:
    """Issues numbered tokens."""

    def __init__(self) -> None:
        self.count = 0

    async def issue(self) -> IssuedToken:
        self.count += 1
        return IssuedToken(f"t{self.count}", 7200)


async def test_a_token_that_ended_is_renewed_and_the_call_made_once_more() -> None:
    token = AccessToken(Issuer().issue, clock=ManualClock())
    async with api_rig(token=token) as rig:
        refusal = {"ok": False, "code": "expired"}
        rig.platform.answers += [web.json_response(refusal, status=401)]
        await rig.api.call("POST", "send", json={})
        rig.platform.answers += [web.json_response(refusal, status=401) for _ in range(2)]
        with pytest.raises(DeliveryRejected) as caught:
            await rig.api.call("POST", "send", json={})

        shown = [headers["Authorization"] for _, _, headers, _ in rig.platform.asked]
        assert shown == ["Bearer t1", "Bearer t2", "Bearer t2", "Bearer t3"]
        assert caught.value.credential


async def test_a_file_is_fetched_up_to_a_limit() -> None:
    async with api_rig(headers={"X-Key": "k"}) as rig:
        rig.platform.answers += [web.Response(body=b"x" * 10), web.Response(body=b"x" * 11)]

        assert (await rig.api.download("file", limit=10)).body == b"x" * 10
        with pytest.raises(TooLarge):
            await rig.api.download("file", limit=10)
        rig.platform.answers.append(web.Response(status=404, body=b"x" * 100_000))
        with pytest.raises(DeliveryRejected):
            await rig.api.download("file", limit=10)


async def test_a_redirect_stays_on_the_platforms_hosts_and_gets_no_token() -> None:
    async with api_rig(headers={"X-Key": "k"}) as rig:
        for place in ("/cdn/1", "https://evil.example/1", "http://127.0.0.1:1/x", "//[bad"):
            rig.platform.answers.append(web.Response(status=302, headers={"Location": place}))
            if place == "/cdn/1":
                rig.platform.answers.append(web.Response(body=b"file"))
                assert (await rig.api.download("file", limit=10)).body == b"file"
            else:
                with pytest.raises(AddressRefused):
                    await rig.api.download("file", limit=10)

        keys = [headers.get("X-Key") for _, _, headers, _ in rig.platform.asked]
        assert keys == ["k", None, "k", "k", "k"]


async def test_a_circle_of_redirects_ends() -> None:
    async with api_rig() as rig:
        rig.platform.answers += [
            web.Response(status=302, headers={"Location": "/a"}) for _ in range(9)
        ]
        with pytest.raises(DeliveryRejected, match="redirected"):
            await rig.api.download("file", limit=10)

        assert len(rig.platform.asked) == 4


async def test_a_redirect_is_a_refusal_where_none_is_followed() -> None:
    async with api_rig() as rig:
        rig.platform.answers.append(web.Response(status=302, headers={"Location": "/sign-in"}))
        with pytest.raises(DeliveryRejected, match="redirected"):
            await rig.api.download("file", limit=10, most_hops=0)

        assert len(rig.platform.asked) == 1


async def test_an_upload_goes_to_the_named_address_without_the_headers_of_the_account() -> None:
    async with api_rig(headers={"X-Key": "k"}) as rig:
        await rig.api.upload(f"{rig.base}/up?ticket=1", b"data", method="PUT", mime="image/png")
        rig.platform.answers.append(web.Response(status=500))
        with pytest.raises(NotDelivered):
            await rig.api.upload(f"{rig.base}/up", b"data")

        method, path, headers, body = rig.platform.asked[0]
        assert (method, path, body) == ("PUT", "/up?ticket=1", b"data")
        assert ("X-Key" in headers, headers["Content-Type"]) == (False, "image/png")


def api(base_url: str) -> Api:
    return Api(
        HttpClient(HttpSettings()),
        platform="example",
        base_url=base_url,
        make_id=make_id,
        hosts=("example.com", "cdn.example.net"),
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a",
        "https://files.example.com:8443/a?b=c",
        "wss://cdn.example.net/",
        "https://EXAMPLE.com/",
    ],
)
def test_the_platforms_own_hosts_are_used(url: str) -> None:
    assert api("https://api.example.org").own_address(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/a",
        "ws://example.com/a",
        "ftp://example.com/a",
        "https://evilexample.com/",
        "https://example.com.evil.org/",
        "https://example.com@evil.org/",
        "https://user:pass@example.com/",
        "https://evil.org/example.com",
        "https://evil.org#.example.com",
        "https://evil.org\\.example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "//example.com/",
        "https://",
        "",
        "https://exa mple.com/",
        "https://example.com:99999/",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        api("https://api.example.org").own_address(url)


def test_an_address_without_encryption_is_used_only_where_the_base_is_one() -> None:
    stand_in = api("http://127.0.0.1:8080/api")

    assert stand_in.own_address("ws://127.0.0.1:8080/socket") == "ws://127.0.0.1:8080/socket"
    for url in ("http://127.0.0.1:8081/", "http://example.com/", "http://localhost:8080/"):
        with pytest.raises(AddressRefused):
            stand_in.own_address(url)

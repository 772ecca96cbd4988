"""The set-up calls of a platform are rows: whose a credential is, what is registered, a code to scan."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from aiohttp import web

from hermes.channel_kit.setup_calls import CredentialProof, SetupCalls, SetupCommand
from hermes.errors import ConfigurationError
from hermes.message.ids import make_id
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel_rows import AnswerRow, ChannelRows
from hermes.ports.setup_rows import SetupRows
from hermes.testing.loopback import HttpLoopback

TOKEN = "123:s3cret/token"
ROWS: Mapping[str, Any] = {
    "base": "{api_url}/bot{token}",
    "headers": {"Authorization": "Bearer {token}"},
    "invite": "https://example.org/add?client={proven.app.id}&back={team}",
    "prove": {"get": "me?as={team}", "shows": "You are {name} of {app.id}.", "hint": "copy it"},
    "register": [
        {
            "put": "apps/{proven.app.id}/commands",
            "json": "{commands}",
            "does": "List {team}'s commands for {proven.name}.",
            "commands": {
                "each": {"name": "{name}", "description": "{about}", "type": 1},
                "names": "[a-z]+",
                "about_chars": 9,
            },
        },
        {
            "post": "hook",
            "json": {"url": "{webhook_url}", "loud": "{loud}", "tags": ["{team}!"]},
            "when": {"mode": "webhook", "loud": "true"},
            "does": "Set the webhook to {webhook_url}.",
        },
    ],
    "qr": {
        "start": {"post": "code"},
        "code": "shown.text",
        "poll": {"get": "code/{scan.id}"},
        "state": "state",
        "waiting": ["wait", "seen"],
        "done": "done",
        "sets": {"token": "given.token"},
        "every_s": 2,
        "within_s": 8,
    },
}


@dataclass
class Platform:
    """Answers as it was told, and remembers what it was asked."""

    answers: list[Any] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        sent = msgspec.json.decode(body) if body else None
        self.asked.append((request.method, request.path_qs, sent))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, web.Response) else web.json_response(answer)  # fmt: skip


@asynccontextmanager
async def rig(*answers: Any, rows: Mapping[str, Any] = ROWS, **settings: Any) -> AsyncIterator[Any]:
    platform, server = Platform(list(answers)), HttpLoopback()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", platform.handle)
    await server.start(app)
    client = HttpClient(HttpSettings(timeout_s=1.0))
    calls = SetupCalls(
        client,
        msgspec.convert(rows, SetupRows),
        platform="example",
        settings={
            "api_url": f"http://127.0.0.1:{server.port}/",
            "token": TOKEN,
            "team": "a&b/c",
            **settings,
        },
        secrets=["token"],
        make_id=make_id,
        webhook_url="https://hermes.example/webhooks/example",
        wire=ChannelRows(answer=AnswerRow(ok="ok", code="error")),
        commands=[SetupCommand("help", "what you can say here"), SetupCommand("re-load", "x")],
    )
    try:
        yield platform, calls
    finally:
        await client.close()
        await server.stop()


@pytest.mark.req("W12")
async def test_a_proof_says_whose_the_credential_is_and_where_the_bot_is_invited() -> None:
    me = {"ok": True, "name": f"hermes {TOKEN}", "app": {"id": "7 7"}}
    async with rig(me) as (platform, calls):
        assert await calls.prove() == CredentialProof(
            shows="You are hermes **** of 7 7.",
            invite="https://example.org/add?client=7%207&back=a%26b%2Fc",
        )
    assert platform.asked == [("GET", "/bot123:s3cret%2Ftoken/me?as=a%26b/c", None)]


@pytest.mark.req("W12", "W35")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"ok": False, "error": f"bad {TOKEN}"},
            "example: me was refused (200 bad ****); copy it",
        ),
        (web.Response(status=401), "example: me was refused (401); copy it"),
        (web.Response(text="<html>"), "example: me was refused (200); copy it"),
        ({"ok": True, "name": "x"}, "example: app.id is not known: "),
        ({"ok": True, "name": "x", "app": {"id": [7]}}, "example: app.id is not known: "),
    ],
)
async def test_a_refused_proof_says_why_and_what_to_do(answer: Any, said: str) -> None:
    async with rig(answer) as (_, calls):
        with pytest.raises(ConfigurationError) as refused:
            await calls.prove()
    assert str(refused.value).startswith(said)
    assert "s3cret" not in f"{refused.value!r} {calls!r}"


@pytest.mark.req("W12")
async def test_a_proof_is_left_out_where_it_does_not_apply() -> None:
    rows = {**ROWS, "prove": {**ROWS["prove"], "when": {"token": ""}}}
    async with rig(rows=rows) as (platform, calls):
        assert await calls.prove() is None
    assert platform.asked == []


@pytest.mark.req("W12")
async def test_what_is_registered_is_told_first_and_fits_the_platform() -> None:
    me = {"ok": True, "name": "hermes", "app": {"id": "77"}}
    async with rig(me, {"ok": True}, {"ok": True}, mode="webhook", loud=True) as (platform, calls):
        await calls.prove()
        rows = calls.registers()
        told = [calls.does(row) for row in rows]
        for row in rows:
            await calls.register(row)
    assert told == [
        "List a&b/c's commands for hermes.",
        "Set the webhook to https://hermes.example/webhooks/example.",
    ]
    assert [(method, body) for method, _, body in platform.asked[1:]] == [
        ("PUT", [{"name": "help", "description": "what you ", "type": 1}]),
        (
            "POST",
            {
                "url": "https://hermes.example/webhooks/example",
                "loud": True,
                "tags": ["a&b/c!"],
            },
        ),
    ]


@pytest.mark.req("W12")
async def test_only_what_applies_is_registered() -> None:
    async with rig(mode="webhook", loud=False) as (_, calls):
        assert [row.method for row in calls.registers()] == ["PUT"]


async def _no_wait(_seconds: float) -> None:
    """Pass the time between two polls at once."""


@pytest.mark.req("W12")
async def test_a_scanned_code_gives_the_settings() -> None:
    shown: list[str] = []
    begun = {"ok": True, "id": "q1", "shown": {"text": "https://example.org/q1"}}
    polled = [{"ok": True, "state": state} for state in ("wait", "seen")]
    done = {"ok": True, "state": "done", "given": {"token": "t9"}}
    async with rig(begun, *polled, done) as (platform, calls):
        found = await calls.scan(shown.append, sleep=_no_wait)
    assert (found, shown) == ({"token": "t9"}, ["https://example.org/q1"])
    assert [path.rpartition("/")[2] for _, path, _ in platform.asked] == ["code", "q1", "q1", "q1"]


@pytest.mark.req("W12")
@pytest.mark.parametrize(
    ("polled", "said"),
    [
        ([{"ok": True, "state": "expired"}], "the scan ended (expired); start it once more"),
        ([{"ok": True, "state": "wait"}] * 4, "nobody scanned the code within 8 s"),
        ([{"ok": True, "state": "done"}], "its answer has no given.token"),
    ],
)
async def test_a_scan_that_does_not_succeed_says_why(polled: list[Any], said: str) -> None:
    begun = {"ok": True, "id": "q1", "shown": {"text": "code"}}
    async with rig(begun, *polled) as (_, calls):
        with pytest.raises(ConfigurationError) as failed:
            await calls.scan([].append, sleep=_no_wait)
    assert said in str(failed.value)


@pytest.mark.req("W12")
async def test_a_setting_that_is_missing_is_named() -> None:
    async with rig(api_url="") as (_, calls):
        with pytest.raises(ConfigurationError, match=r"set platforms\.example\.api_url"):
            await calls.prove()


@pytest.mark.req("W12")
def test_a_call_has_one_method() -> None:
    for wrong in ({}, {"get": "a", "post": "b"}):
        rows = {"prove": {**wrong, "shows": "x"}}
        with pytest.raises(msgspec.ValidationError, match="expected one of get, post"):
            msgspec.convert(rows, SetupRows)

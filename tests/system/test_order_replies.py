"""What operators are told over REST: who may not is told so before anything is read, models by name,
and when each platform was last used.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.app import Gateway
from hermes.config import load
from hermes.control.orders import BY_NAME
from tests.system.test_control_matrix import CALLS, Ways, whole_path

# Nothing is sent to it: no message is answered here by a model.
SERVICES = {
    "HERMES_SERVER__PORT": "0",
    "ANTHROPIC_API_KEY": "sk-test-not-a-real-key",
    "HERMES_ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["ann"]',
}
TYPO = "anthropic:claude-sonet-4-6"
REAL = "anthropic:claude-sonnet-4-6"


@pytest.fixture
async def ways(tmp_path: Path) -> AsyncIterator[Ways]:
    loaded = load(SERVICES, tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        async with aiohttp.ClientSession(url) as http:
            yield Ways(http, address["token"])


async def status_without_body(ways: Ways, path: str, token: str) -> int:
    """Promise a body, send none of it, and return the status that comes all the same."""
    base = ways.http._base_url
    assert base is not None
    reader, writer = await asyncio.open_connection(base.host, base.port)
    credential = f"authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {whole_path(path)} HTTP/1.1\r\nhost: 127.0.0.1\r\n{credential}"
    writer.write(f"{head}content-length: 1000000\r\n\r\n".encode())
    try:
        async with asyncio.timeout(30):
            return int((await reader.readline()).split()[1])
    finally:
        writer.close()


@pytest.mark.req("W7", "J20")
async def test_the_body_of_who_may_not_give_an_order_is_never_read(ways: Ways) -> None:
    token_id, viewer = await ways.token("viewer")
    posts = {
        name: path for name, (method, path, body) in CALLS.items() if method == "POST" and body
    }

    assert len(posts) > 20
    for name, path in posts.items():
        assert await status_without_body(ways, path, "") == 401
        if BY_NAME[name].least != "viewer":
            assert await status_without_body(ways, path, viewer) == 403

    rows = await ways.orders(actor=f"token:{token_id}")
    assert {row["action"] for row in rows} == {
        name for name in posts if BY_NAME[name].least != "viewer"
    }
    assert {(row["code"], tuple(row["targets"])) for row in rows} == {("forbidden", ())}


@pytest.mark.req("W7", "J20")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/control/keys", {"user": 7}),
        ("POST", "/control/users/block", {"nobody": "reads this"}),
        ("GET", "/control/memory?usr=telegram:1", None),
        ("GET", "/control/audit?limit=many", None),
    ],
)
async def test_the_role_is_told_before_what_is_wrong_with_the_order(
    ways: Ways, method: str, path: str, body: Any
) -> None:
    _, viewer = await ways.token("viewer")
    _, operator = await ways.token("operator")

    refused, told = await ways._send(method, path, viewer, body)

    assert (refused, told["error"]["code"]) == (403, "forbidden")
    assert (await ways._send(method, path, operator, body))[0] == 400


@pytest.mark.req("W7")
async def test_the_record_names_the_model_that_was_swapped_in(ways: Ways) -> None:
    _, first = await ways._send("POST", "/control/models/swap", ways.local, {"model": REAL})
    _, typo = await ways._send("POST", "/control/models/swap", ways.local, {"model": TYPO})
    status, _ = await ways._send("POST", "/control/models/swap", ways.local, {"model": "no:one"})
    await ways._send("POST", "/control/models/swap", ways.local, {"model": "default"})

    rows = await ways.orders(action="models.swap")
    assert [(row["targets"], row["state"]) for row in rows] == [
        ([REAL], "ok"),
        ([TYPO], "ok"),
        ([], "refused"),
        (["auto"], "ok"),
    ]
    assert status == 404
    assert first == {"model": REAL, "before": "auto", "note": ""}
    assert "is not in the catalogue of" in typo["note"]


@pytest.mark.req("W18", "P1")
async def test_a_model_that_nobody_knows_is_taken_with_a_warning_and_what_cannot_be_is_refused(
    ways: Ways,
) -> None:
    known = await ways.say("ann", f"/model {REAL}")
    unknown = await ways.say("ann", f"/model {TYPO}")
    other = await ways.say("ann", "/model local:gpt-9")
    nobody = await ways.say("ann", "/model nosuch:gpt-9")

    assert known["reply"] == f"From now on {REAL} answers here, until /new or /model auto."
    assert f"From now on {TYPO} answers here" in unknown["reply"]
    assert "not in the catalogue" in unknown["reply"]
    assert "which knows of anthropic: claude-sonnet-4-6, " in unknown["reply"]
    assert (other["outcome"], nobody["outcome"]) == ("refused", "refused")
    assert "has one model, smollm2" in other["reply"]
    assert "known providers: anthropic, openai, local" in nobody["reply"]


@pytest.mark.req("W7", "W28")
async def test_the_list_of_channels_says_when_each_was_last_asked_and_answered(ways: Ways) -> None:
    async def seen() -> dict[str, tuple[float | None, float | None]]:
        _, found = await ways._send("GET", "/control/channels", ways.local)
        return {one["platform"]: (one["last_in"], one["last_out"]) for one in found["channels"]}

    before = await seen()
    body = {"sender": "ann", "text": "/whoami", "id": "later"}
    await ways.say("ann", "/whoami")
    waited = await seen()
    _, later = await ways._send("POST", "/api/messages?wait=false", ways.local, body)
    asked = await seen()
    async with asyncio.timeout(20):
        state = ""
        while state != "done":
            _, one = await ways._send("GET", f"/api/messages/{later['id']}", ways.local)
            state = one["state"]
    taken = await seen()

    assert before["rest"] == before["web"] == (None, None)
    came, went = waited["rest"]
    assert came is not None
    assert went is not None
    assert went >= came
    assert asked["rest"][0] > came  # type: ignore[operator]
    assert asked["rest"][1] == went
    assert taken["rest"][1] > went  # type: ignore[operator]
    assert taken["web"] == (None, None)

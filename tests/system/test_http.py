"""The REST API and the server around it, over a real socket."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import pytest
from structlog.testing import capture_logs

from hermes.channels.rest.channel import RestSettings
from hermes.errors import ProviderTimeout
from hermes.testing.gateway_api import Ask, Hold, Note
from tests.system.twin_gateway import Gateway, Options

Http = aiohttp.ClientSession
HELLO = {"sender": "ann", "text": "hello"}


async def raw_request(gateway: Gateway, request: bytes) -> bytes:
    """Send bytes and return everything that comes back until the server closes."""
    where = urlsplit(gateway.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(request)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


async def events_of(answer: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, dict]]:
    async for block in answer.content.iter_any():
        for frame in block.decode().strip().split("\n\n"):
            if frame.startswith("event: "):
                name, data = frame.removeprefix("event: ").split("\ndata: ")
                yield name, json.loads(data)


@pytest.mark.req("A1", "A30")
async def test_a_message_is_answered_with_what_it_took(gateway: Gateway, http: Http) -> None:
    gateway.script.on("hello", Note("tool", "clock"), "Good ", "day")
    answer = await http.post("/api/messages", json={**HELLO, "id": "1"}, headers=gateway.bearer)
    body = await answer.json()
    message_id = body.pop("id")
    assert answer.status == 200
    assert body == {
        "state": "done",
        "outcome": "answered",
        "conversation": "ann",
        "reply": "Good day",
        "tokens_in": 1,
        "tokens_out": 2,
        "cost_usd": pytest.approx(0.000006),
        "model": "scripted",
        "tool_calls": [{"name": "clock", "arguments": "{}", "failed": False}],
        "duplicate": False,
    }
    again = await http.get(f"/api/messages/{message_id}", headers=gateway.bearer)
    assert await again.json() == {"id": message_id, **body}


@pytest.mark.req("J1")
async def test_the_same_id_is_answered_once(gateway: Gateway, http: Http) -> None:
    message = {**HELLO, "id": "one"}
    first = await (await http.post("/api/messages", json=message, headers=gateway.bearer)).json()
    again = await (await http.post("/api/messages", json=message, headers=gateway.bearer)).json()
    assert again == {**first, "duplicate": True}
    assert len(gateway.gateway_api.messages()) == 1


@pytest.mark.req("J1", "A8")
async def test_an_id_reused_for_another_body_is_refused_and_recorded(
    gateway: Gateway, http: Http
) -> None:
    await http.post("/api/messages", json={**HELLO, "id": "one"}, headers=gateway.bearer)
    other = {"sender": "ann", "text": "other", "id": "one"}
    answer = await http.post("/api/messages", json=other, headers=gateway.bearer)
    error = (await answer.json())["error"]
    assert (answer.status, error["code"]) == (409, "conflict")
    assert [(r.id, r.external_id) for r in gateway.gateway_api.refusals] == [
        (error["refusal"], "one")
    ]


@pytest.mark.req("A3")
async def test_only_the_owner_writes_as_the_owner(gateway: Gateway, http: Http) -> None:
    secret = await gateway.access.make_token("op", role="operator")
    operator = {"authorization": f"Bearer {secret}"}
    as_owner = {"sender": "cli", "text": "hello"}

    refused = await http.post("/api/messages", json=as_owner, headers=operator)
    error = (await refused.json())["error"]
    allowed = await http.post("/api/messages", json=as_owner, headers=gateway.bearer)
    other = await http.post("/api/messages", json=HELLO, headers=operator)

    assert (refused.status, error["code"]) == (403, "forbidden")
    assert "use another sender" in error["message"]
    assert [one.id for one in gateway.gateway_api.refusals] == [error["refusal"]]
    assert (allowed.status, other.status) == (200, 200)
    assert len(gateway.gateway_api.messages()) == 2


@pytest.mark.req("A1")
async def test_without_waiting_the_answer_comes_at_once(gateway: Gateway, http: Http) -> None:
    hold = Hold()
    gateway.script.on("hello", hold, "late")
    answer = await http.post("/api/messages?wait=false", json=HELLO, headers=gateway.bearer)
    body = await answer.json()
    assert (answer.status, body["state"], body["duplicate"]) == (202, "new", False)
    await hold.reached()
    running = await http.get(answer.headers["location"], headers=gateway.bearer)
    state = await running.json()
    assert (state["state"], state["outcome"], state["reply"]) == ("running", None, None)


@pytest.mark.req("A1")
class TestShortWait:
    @pytest.fixture
    def options(self) -> Options:
        return Options(rest=RestSettings(wait_s=0.02))

    async def test_a_turn_longer_than_the_wait_gets_its_state(
        self, gateway: Gateway, http: Http
    ) -> None:
        gateway.script.on("hello", Hold())
        answer = await http.post("/api/messages", json=HELLO, headers=gateway.bearer)
        body = await answer.json()
        assert (answer.status, body["state"]) == (202, "running")
        assert gateway.gateway_api.watchers() == 0


@pytest.mark.req("A6", "A8")
async def test_a_failed_turn_says_so(gateway: Gateway, http: Http) -> None:
    gateway.script.on("hello", ProviderTimeout("the model was silent for 45 s"))
    answer = await http.post("/api/messages", json=HELLO, headers=gateway.bearer)
    body = await answer.json()
    assert (answer.status, body["outcome"]) == (200, "failed")
    assert body["reason"] == "the model was silent for 45 s"


@pytest.mark.req("J10")
async def test_a_client_that_leaves_does_not_stop_the_turn(gateway: Gateway, http: Http) -> None:
    hold = Hold()
    gateway.script.on("hello", hold, "still here")
    body = {**HELLO, "id": "left"}
    asking = asyncio.create_task(http.post("/api/messages", json=body, headers=gateway.bearer))
    await hold.reached()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    hold.release()
    again = await http.post("/api/messages", json=body, headers=gateway.bearer)
    assert (await again.json())["reply"] == "still here"


@pytest.mark.req("M7")
async def test_events_stream_the_turn(gateway: Gateway, http: Http) -> None:
    begin, hold = Hold(), Hold()
    gateway.script.on("hello", begin, Note("status", "loading"), "Good ", hold, "day")
    headers = {**gateway.bearer, "accept": "text/event-stream"}
    answer = await http.post("/api/messages", json=HELLO, headers=headers)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    seen = []
    async for name, data in events_of(answer):
        seen.append((name, data.get("text", data.get("reply"))))
        {"accepted": begin, "delta": hold}.get(name, begin).release()
    assert seen == [
        ("accepted", None),
        ("status", "loading"),
        ("delta", "Good "),
        ("delta", "day"),
        ("done", "Good day"),
    ]


@pytest.mark.req("P5")
async def test_an_answer_that_begins_again_replaces_the_text(gateway: Gateway, http: Http) -> None:
    begin = Hold()
    gateway.script.on("hello", begin, "Goo", Note("restart"), "Bonjour")
    headers = {**gateway.bearer, "accept": "text/event-stream"}
    answer = await http.post("/api/messages", json=HELLO, headers=headers)
    seen = []
    async for name, data in events_of(answer):
        seen.append((name, data.get("text", data.get("reply"))))
        begin.release()
    assert seen[1:] == [
        ("delta", "Goo"),
        ("snapshot", ""),
        ("delta", "Bonjour"),
        ("done", "Bonjour"),
    ]


@pytest.mark.req("J9")
async def test_a_parked_turn_says_what_it_waits_for(gateway: Gateway, http: Http) -> None:
    gateway.script.on("delete it", Ask("May I delete it?"), "Deleted.")
    message = {"sender": "ann", "text": "delete it", "id": "1"}
    parked = await http.post("/api/messages", json=message, headers=gateway.bearer)
    body = await parked.json()
    assert (parked.status, body["state"], body["outcome"]) == (202, "parked", None)
    assert body["reply"] == "May I delete it?"
    approve = {"sender": "ann", "text": "/approve"}
    assert (await http.post("/api/messages", json=approve, headers=gateway.bearer)).status == 200
    done = await http.post("/api/messages", json=message, headers=gateway.bearer)
    assert (done.status, (await done.json())["reply"]) == (200, "Deleted.")


@pytest.mark.req("M7")
class TestKeepAlive:
    @pytest.fixture
    def options(self) -> Options:
        return Options(rest=RestSettings(keep_alive_s=0.01))

    async def test_a_silent_stream_gets_comments(self, gateway: Gateway, http: Http) -> None:
        hold = Hold()
        gateway.script.on("hello", hold, "day")
        headers = {**gateway.bearer, "accept": "text/event-stream"}
        answer = await http.post("/api/messages", json=HELLO, headers=headers)
        await answer.content.readuntil(b": keep-alive\n\n")
        hold.release()
        assert b"event: done" in await answer.content.read()

    async def test_a_reader_that_leaves_is_no_longer_served(
        self, gateway: Gateway, http: Http
    ) -> None:
        hold = Hold()
        gateway.script.on("hello", hold)
        headers = {**gateway.bearer, "accept": "text/event-stream"}
        answer = await http.post("/api/messages", json=HELLO, headers=headers)
        await hold.reached()
        assert gateway.gateway_api.watchers() == 1
        answer.close()
        async with asyncio.timeout(30):
            while gateway.gateway_api.watchers():
                await http.get("/healthz")


@pytest.mark.req("J2", "W35")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic dTpw"},
        {"cookie": "hermes_session=x"},
    ],
)
async def test_unauthenticated_input_makes_no_rows(
    gateway: Gateway, http: Http, headers: dict[str, str]
) -> None:
    answer = await http.post("/api/messages", json=HELLO, headers=headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert (await answer.json())["error"]["code"] == "unauthenticated"
    assert (gateway.gateway_api.messages(), gateway.gateway_api.refusals) == ((), [])


BAD_BODIES = {
    "not json": (b"{", "not valid JSON"),
    "empty": (b"", "not valid JSON"),
    "not an object": (b"[1]", "Expected `object`"),
    "wrong type": (b'{"sender": 1, "text": "x"}', "$.sender"),
    "no text": (b'{"sender": "a"}', "no 'text'"),
    "empty text": (b'{"sender": "a", "text": ""}', "no 'text'"),
    "blank text": (b'{"sender": "a", "text": " \\n\\t "}', "no 'text'"),
    "long text": (b'{"sender": "a", "text": "%b"}' % (b"x" * 100_001), "<= 100000"),
    "long sender": (b'{"sender": "%b", "text": "x"}' % (b"a" * 201), "$.sender"),
    "empty id": (b'{"sender": "a", "text": "x", "id": ""}', "$.id"),
    "lone surrogate": (b'{"sender": "a", "text": "\\ud800 x"}', "surrogate"),
    "invalid utf-8": (b'{"sender": "a", "text": "\xff"}', "UTF-8"),
    "near key": (b'{"sender": "a", "txet": "x"}', "did you mean 'text'?"),
    "unknown key": (b'{"sender": "a", "text": "x", "zzz": 1}', "Known keys: sender, text"),
    "deep": (b'{"sender": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "Expected `str | null`"),
}


@pytest.mark.req("A2", "A8")
@pytest.mark.parametrize("name", BAD_BODIES)
async def test_a_malformed_message_is_refused_with_what_to_fix(
    gateway: Gateway, http: Http, name: str
) -> None:
    raw, expected = BAD_BODIES[name]
    headers = {**gateway.bearer, "content-type": "application/json"}
    answer = await http.post("/api/messages", data=raw, headers=headers)
    error = (await answer.json())["error"]
    assert (answer.status, error["code"]) == (400, "bad_request")
    assert expected in error["message"]
    assert [refusal.id for refusal in gateway.gateway_api.refusals] == [error["refusal"]]
    assert gateway.gateway_api.messages() == ()


@pytest.mark.req("A2")
async def test_the_longest_message_fits(gateway: Gateway, http: Http) -> None:
    text = "\U0001f600" * 100_000
    body = io.BytesIO(json.dumps({"sender": "a", "text": text}).encode())
    headers = {**gateway.bearer, "content-type": "application/json"}
    answer = await http.post("/api/messages", data=body, headers=headers)
    assert (answer.status, (await answer.json())["reply"]) == (200, f"You said: {text}")


@pytest.mark.req("A2")
async def test_another_content_type_is_refused(gateway: Gateway, http: Http) -> None:
    headers = {**gateway.bearer, "content-type": "text/plain"}
    answer = await http.post("/api/messages", data=json.dumps(HELLO), headers=headers)
    error = (await answer.json())["error"]
    assert (answer.status, error["code"]) == (415, "unsupported_media_type")
    assert error["refusal"] == gateway.gateway_api.refusals[0].id


@pytest.mark.req("J2")
async def test_a_full_gateway_says_when_to_come_back(gateway: Gateway, http: Http) -> None:
    gateway.gateway_api.full = True
    answer = await http.post("/api/messages", json=HELLO, headers=gateway.bearer)
    assert (answer.status, answer.headers["retry-after"]) == (503, "8")
    assert (await answer.json())["error"]["code"] == "overloaded"
    assert gateway.gateway_api.messages() == ()


@pytest.mark.req("A3")
async def test_an_unknown_agent_is_not_found(gateway: Gateway, http: Http) -> None:
    body = {**HELLO, "agent": "nobody"}
    answer = await http.post("/api/messages", json=body, headers=gateway.bearer)
    assert (answer.status, (await answer.json())["error"]["code"]) == (404, "not_found")


@pytest.mark.req("W35")
@pytest.mark.parametrize("key", ["token", "access_token"])
async def test_a_credential_in_the_address_is_refused(
    gateway: Gateway, http: Http, key: str
) -> None:
    answer = await http.post(f"/api/messages?{key}={gateway.token}", json=HELLO)
    assert answer.status == 400
    assert "Authorization: Bearer" in (await answer.json())["error"]["message"]
    assert (gateway.gateway_api.messages(), gateway.gateway_api.refusals) == ((), [])


@pytest.mark.req("A2")
async def test_an_odd_wait_is_refused(gateway: Gateway, http: Http) -> None:
    answer = await http.post("/api/messages?wait=0", json=HELLO, headers=gateway.bearer)
    assert (answer.status, gateway.gateway_api.messages()) == (400, ())


@pytest.mark.req("A1")
async def test_an_unknown_message_is_not_found(gateway: Gateway, http: Http) -> None:
    answer = await http.get("/api/messages/m_none", headers=gateway.bearer)
    assert (answer.status, (await answer.json())["error"]["code"]) == (404, "not_found")


@pytest.mark.req("J2")
async def test_a_declared_body_over_the_limit_is_refused_before_it_is_sent(
    gateway: Gateway,
) -> None:
    head = (
        f"POST /api/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {gateway.token}"
        "\r\ncontent-type: application/json\r\ncontent-length: 2097153\r\n"
        "expect: 100-continue\r\n\r\n"
    )
    answer = await raw_request(gateway, head.encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer
    assert b'"code":"too_large"' in answer


@pytest.mark.req("J2")
async def test_a_client_that_sends_it_all_first_still_reads_why(gateway: Gateway) -> None:
    body = b" " * 6_000_000
    head = (
        f"POST /api/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {gateway.token}"
        f"\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    # Closing with unread bytes would reset the connection before the answer is read.
    answer = await raw_request(gateway, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 2097152 are accepted" in answer


@pytest.mark.req("J2")
async def test_a_chunked_body_is_cut_at_the_limit(gateway: Gateway) -> None:
    head = (
        f"POST /api/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {gateway.token}"
        "\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    chunk = b"%x\r\n%b\r\n" % (1_100_000, b" " * 1_100_000)
    # The body never ends: only a server that stops at the limit can answer.
    answer = await raw_request(gateway, head.encode() + chunk * 2)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


@pytest.mark.req("J2")
class TestSlowBody:
    @pytest.fixture
    def options(self) -> Options:
        return Options(rest=RestSettings(body_timeout_s=0.02))

    async def test_a_body_that_never_arrives_is_given_up(self, gateway: Gateway) -> None:
        head = (
            f"POST /api/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
            f"{gateway.token}\r\ncontent-type: application/json\r\ncontent-length: 20\r\n"
            "connection: close\r\n\r\n{"
        )
        answer = await raw_request(gateway, head.encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"did not arrive whole within 0.02 s" in answer


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:99", 200),
        ("LOCALHOST:80", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ],
)
async def test_a_foreign_host_name_is_refused(
    gateway: Gateway, http: Http, host: str, status: int
) -> None:
    assert (await http.get("/healthz", headers={"host": host})).status == status


@pytest.mark.req("W34")
async def test_two_host_headers_are_refused(gateway: Gateway) -> None:
    request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    assert not (await raw_request(gateway, request)).startswith(b"HTTP/1.1 200")


@pytest.mark.req("W34")
class TestPublicUrl:
    @pytest.fixture
    def options(self) -> Options:
        return Options(public_url="https://chat.example.org/")

    async def test_the_public_name_is_known(self, gateway: Gateway, http: Http) -> None:
        answer = await http.get("/healthz", headers={"host": "chat.example.org"})
        assert answer.status == 200

    async def test_its_cookie_is_secure_and_its_origin_is_ours(
        self, gateway: Gateway, http: Http
    ) -> None:
        link = (await gateway.link()).removeprefix(gateway.url)
        headers = {"host": "chat.example.org"}
        answer = await http.get(link, headers=headers, allow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
        origin = {"origin": "https://chat.example.org", "cookie": cookie.partition(";")[0]}
        sent = await http.post("/api/messages", json=HELLO, headers=origin)
        assert sent.status == 200


@pytest.mark.req("W7")
async def test_health_and_readiness(gateway: Gateway, http: Http) -> None:
    ready = await http.get("/readyz")
    assert (ready.status, await ready.json()) == (200, {"ready": True, "reasons": []})
    gateway.reasons.append("draining")
    unready = await http.get("/readyz")
    assert (unready.status, await unready.json()) == (
        503,
        {"ready": False, "reasons": ["draining"]},
    )
    assert (await http.get("/healthz")).status == 200
    assert (await http.head("/healthz")).status == 200


# What is no order is refused as such before its role is looked at.
_ORDERS = {
    "/control/keys": '{"user": "ann"}',
    "/control/keys/revoke": '{"id": "k_1"}',
    "/control/kill-switch": '{"is_on": true}',
    "/control/consent": '{"user": "x:1", "may_train": true}',
    "/control/credits/grant": '{"user": "x:1", "amount": 5}',
    "/control/credits/refund": '{"message": "m_1"}',
    "/control/credits/refer": '{"user": "x:1", "code": "AB12CD"}',
}


@pytest.mark.req("W7")
async def test_control_needs_a_credential_of_the_role_that_an_order_needs(
    gateway: Gateway, http: Http
) -> None:
    viewer = {"authorization": f"Bearer {await gateway.access.make_token('v', role='viewer')}"}
    ride = {**await gateway.cookie(), "origin": "http://elsewhere.example"}
    paths = [("POST", "/control/link"), ("POST", "/control/keys"), ("POST", "/control/keys/revoke")]
    paths += [("POST", "/control/kill-switch"), ("POST", "/control/consent")]
    paths += [("GET", "/control/consent?user=x:1"), ("GET", "/control/why/m?text=true")]
    paths += [("GET", "/control/credits"), ("GET", "/control/credits/wallet?user=x:1")]
    paths += [("POST", f"/control/credits/{word}") for word in ("grant", "refund", "refer")]
    for method, path in paths:
        assert (await http.request(method, path)).status == 401
        assert (await http.request(method, path, headers=ride)).status == 403
        refused = await http.request(method, path, headers=viewer, data=_ORDERS.get(path))
        assert (refused.status, "needs the role" in await refused.text()) == (403, True)
    for headers in (gateway.bearer, await gateway.cookie(), viewer):
        assert (await http.get("/control/status", headers=headers)).status == 200
    link = await http.post("/control/link", headers=gateway.bearer)
    assert link.status == 200
    status = await http.get("/control/status", headers=gateway.local)
    assert await status.json() == {"state": "connected"}
    why = await http.get("/control/why/m/1", headers=gateway.local)
    assert await why.json() == {"id": "m/1"}
    assert (await http.get("/control/why/m2", headers=gateway.local)).status == 404
    link = await http.post("/control/link", headers=gateway.local)
    assert (await link.json())["url"].startswith(f"{gateway.url}/signin?code=")


@pytest.mark.req("A20", "A22")
async def test_control_takes_orders_as_json_and_refuses_what_is_none(
    gateway: Gateway, http: Http
) -> None:
    async def ask(path: str, body: str | None = None) -> tuple[int, object]:
        method = "GET" if body is None else "POST"
        answer = await http.request(method, path, data=body, headers=gateway.local)
        return answer.status, await answer.json()

    assert await ask("/control/keys", '{"user": "ann"}') == (200, {"user": "ann"})
    assert await ask("/control/keys/revoke", '{"id": "k_1"}') == (200, {"id": "k_1"})
    assert await ask("/control/kill-switch", '{"is_on": true}') == (200, {"is_on": True})
    assert await ask("/control/costs?by=day&days=7") == (200, {"by": "day", "days": 7})
    assert await ask("/control/credits?below=3") == (200, {"below": 3})
    grant = '{"user":"x:1","amount":-5}'
    assert await ask("/control/credits/grant", grant) == (200, {"user": "x:1", "amount": -5})
    ann = {"user": "x:1", "may_train": True}
    assert await ask("/control/consent", '{"user": "x:1", "may_train": true}') == (200, ann)
    assert await ask("/control/consent?user=x:1") == (200, ann | {"may_train": False})
    for path, body in [
        ("/control/keys", '{"label": "nobody"}'),
        ("/control/keys", '{"user": "ann", "budget_period": "week"}'),
        ("/control/kill-switch", '{"is_on": "yes"}'),
        ("/control/keys/revoke", "not json"),
        ("/control/costs?by=planet", None),
        ("/control/costs?days=many", None),
        ("/control/consent", '{"user": "x:1"}'),
        ("/control/consent", None),
        ("/control/credits?limit=many", None),
        ("/control/credits/wallet", None),
        ("/control/credits/grant", '{"user": "x:1", "amount": "5"}'),
    ]:
        assert (await ask(path, body))[0] == 400


@pytest.mark.req("A1")
async def test_a_webhook_reaches_its_channel_raw(gateway: Gateway, http: Http) -> None:
    headers = {"x-signature": "good"}
    answer = await http.post("/webhooks/echo?a=1", data=b"\x00\xff", headers=headers)
    assert (answer.status, answer.headers["x-a"]) == (201, "b")
    assert await answer.read() == b"POST /webhooks/echo {'a': '1'} \x00\xff"
    assert (await http.post("/webhooks/echo", data=b"x")).status == 401
    assert (await http.post("/webhooks/none", data=b"x")).status == 404
    assert (await http.post("/webhooks/echo", data=b"x" * 1001, headers=headers)).status == 413
    assert (await http.put("/webhooks/echo", data=b"x")).status == 405


@pytest.mark.req("W35")
async def test_an_inner_error_shows_an_id_and_nothing_else(gateway: Gateway, http: Http) -> None:
    with capture_logs() as logs:
        answer = await http.post("/webhooks/echo", data=b"break", headers={"x-signature": "good"})
    text = await answer.text()
    assert answer.status == 500
    assert "secret" not in text
    assert [line["error_id"] in text for line in logs if line["event"] == "request_failed"] == [
        True
    ]


@pytest.mark.req("A1")
async def test_unknown_paths_and_methods_get_json(gateway: Gateway, http: Http) -> None:
    missing = await http.get("/nothing/here")
    assert (missing.status, (await missing.json())["error"]["code"]) == (404, "not_found")
    method = await http.delete("/api/messages")
    assert (method.status, method.headers["allow"]) == (405, "POST")
    assert (await method.json())["error"]["code"] == "method_not_allowed"
    assert "server" not in method.headers

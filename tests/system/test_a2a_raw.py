"""A2A by raw JSON: what the protocol says about errors, cards, and what a stranger may send."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.system.a2a_client import raw
from tests.system.live import Live, live_gateway, model_server, with_model

V1 = {"a2a-version": "1.0"}
MESSAGE = {"role": "ROLE_USER", "parts": [{"text": "Hello"}]}


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as running:
        yield running


# Any: JSON.
def rpc(method: str, params: Any = None, **more: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, **more}
    return body if params is None else {**body, "params": params}


def old(*parts: Any, **more: Any) -> Any:
    message = {"role": "user", "parts": list(parts) or [{"kind": "text", "text": "Hi"}], **more}
    return rpc("message/send", {"message": message})


def new(*parts: Any, **more: Any) -> Any:
    return rpc(
        "SendMessage", {"message": {**MESSAGE, "parts": list(parts) or MESSAGE["parts"], **more}}
    )


INFINITE = (
    b'{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"role":"ROLE_USER",'
    b'"parts":[{"data":{"a":1e999}}]}}}'
)
DEEP: Any = {"a": 1}
for _ in range(60):
    DEEP = {"a": DEEP}
CODES = {
    "no JSON": (b"{", {}, -32700),
    "no UTF-8": (b'{"\xff": 1}', {}, -32700),
    "nested": (b"[" * 100_000, {}, -32700),
    "no object": (b"[]", {}, -32600),
    "a batch": ([rpc("message/send")], {}, -32600),
    "no method": ({"jsonrpc": "2.0", "id": 7}, {}, -32600),
    "another version of JSON-RPC": (rpc("message/send", {}, jsonrpc="1.0"), {}, -32600),
    "an id that is a flag": (rpc("message/send", {}, id=True), {}, -32600),
    "an unknown method": (rpc("tasks/dance", {}), {}, -32601),
    "an unknown version": (new(), {"a2a-version": "9.9"}, -32009),
    "1.0 without its header": (new(), {}, -32009),
    "0.3 with the header of 1.0": (old(), V1, -32603),
    "old params that do not fit": (rpc("message/send", {"message": 3}), {}, -32600),
    "new params that do not fit": (rpc("SendMessage", {"message": 3}), V1, -32602),
    "no parts": (new(parts=[]), V1, -32602),
    "no content": (new({"filename": "x"}), V1, -32602),
    "only white space": (new({"text": " \n"}), V1, -32602),
    "a long text": (new({"text": "x" * 100_001}), V1, -32602),
    "a long id": (new(messageId="x" * 201), V1, -32602),
    "many parts": (new(*[{"text": "x"}] * 101), V1, -32602),
    "many values": (new(metadata={"a": [1] * 20_000}), V1, -32602),
    "deep values": (new(metadata=DEEP), V1, -32602),
    "an infinite number": (INFINITE, V1, -32700),
    "bytes that are no base64": (old({"kind": "file", "file": {"bytes": "%%%"}}), {}, -32602),
    "an address of a file that is none": (new({"url": "gopher://x"}), V1, -32602),
    "a type that nobody reads": (new({"raw": "UmFyIRoH"}), V1, -32005),
    "an unknown task": (rpc("GetTask", {"id": "m_none"}), V1, -32001),
    "an unknown task, old": (rpc("tasks/get", {"id": "m_none"}), {}, -32001),
    "an unknown task to cancel": (rpc("tasks/cancel", {"id": "m_none"}), {}, -32001),
    "an unknown task to answer": (new(taskId="m_none"), V1, -32001),
    "an output that nobody writes": (
        rpc(
            "SendMessage",
            {"message": MESSAGE, "configuration": {"acceptedOutputModes": ["video/mp4"]}},
        ),
        V1,
        -32005,
    ),
    "a negative history": (rpc("GetTask", {"id": "m_none", "historyLength": -1}), V1, -32602),
    "a large page": (rpc("ListTasks", {"pageSize": 101}), V1, -32602),
    "a token that is none": (rpc("ListTasks", {"pageToken": "%"}), V1, -32602),
    "a push to this machine": (
        rpc(
            "SendMessage",
            {
                "message": MESSAGE,
                "configuration": {"taskPushNotificationConfig": {"url": "http://127.0.0.1/"}},
            },
        ),
        V1,
        -32602,
    ),
}


@pytest.mark.req("M10")
async def test_errors_have_the_codes_of_the_protocol(live: Live) -> None:
    found = {
        case: (await raw(live, body, headers=headers))["error"]["code"]
        for case, (body, headers, _) in CODES.items()
    }

    assert found == {case: code for case, (_, _, code) in CODES.items()}


@pytest.mark.req("M10")
async def test_an_error_says_what_to_do_and_nothing_of_the_inside(live: Live) -> None:
    answer = await raw(live, rpc("GetTask", {"id": "m_none"}), headers=V1)

    assert answer == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {
            "code": -32001,
            "message": "There is no task 'm_none'.",
            "data": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "TASK_NOT_FOUND",
                    "domain": "a2a-protocol.org",
                    "metadata": {},
                }
            ],
        },
    }


@pytest.mark.req("M10")
async def test_a_missing_message_id_is_filled_in_for_both_versions(live: Live) -> None:
    texts = [
        (await raw(live, old(contextId="a")))["result"]["parts"][0]["text"],
        (await raw(live, old(contextId="b", messageId="")))["result"]["parts"][0]["text"],
        (await raw(live, new(contextId="c"), headers=V1))["result"]["message"]["parts"][0]["text"],
    ]

    assert texts == ["#1 Hi", "#1 Hi", "#1 Hello"]


@pytest.mark.req("M10")
async def test_one_card_serves_both_versions_and_is_found_where_clients_look(live: Live) -> None:
    places = ("", "/workspaces/main", "/workspaces/main/a2a")
    names = ("/.well-known/agent-card.json", "/.well-known/agent.json")
    async with httpx.AsyncClient(base_url=live.url, headers=live.bearer) as http:
        cards = [(await http.get(place + name)).json() for place in places for name in names]
        async with httpx.AsyncClient() as stranger:
            nobody = await stranger.get(live.url + names[0])
        missing = await http.get("/workspaces/nobody" + names[0])

    url = f"{live.url}/workspaces/main/a2a"
    first = cards[0]
    assert cards == [first] * 6
    assert (first["url"], first["preferredTransport"]) == (url, "JSONRPC")
    assert [(one["url"], one["protocolVersion"]) for one in first["supportedInterfaces"]] == [
        (url, "1.0"),
        (url, "0.3"),
    ]
    assert first["capabilities"] == {
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": True,
    }
    assert (nobody.status_code, missing.status_code) == (401, 404)


@pytest.mark.req("M10")
async def test_cards_are_public_if_the_operator_says_so(tmp_path: Path) -> None:
    more = {"HERMES_A2A__PUBLIC_CARDS": "true"}
    async with live_gateway(tmp_path / "home", more) as live, httpx.AsyncClient() as http:
        card = await http.get(f"{live.url}/.well-known/agent-card.json")
        call = await http.post(f"{live.url}/workspaces/main/a2a", json=old())

    assert (card.status_code, card.json()["name"]) == (200, "main"), card.text
    assert (call.status_code, call.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.req("M10")
async def test_what_may_succeed_later_says_so_in_http_too(live: Live) -> None:
    async with httpx.AsyncClient(base_url=live.url, headers=live.bearer) as http:
        await http.post("/control/channels/pause", json={"platform": "a2a"})
        answer = await http.post("/workspaces/main/a2a", json=old())
        await http.post("/control/channels/resume", json={"platform": "a2a"})

    assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (503, True)
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, -32603)


@pytest.mark.req("M10")
async def test_a_key_in_the_address_is_refused(live: Live) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{live.url}/workspaces/main/a2a?token=secret", json=old())

    assert answer.status_code == 400


@pytest.mark.req("M10")
async def test_a_push_configuration_is_found_by_its_task_alone_as_0_3_allows(live: Live) -> None:
    wish = {**old()["params"], "configuration": {"blocking": False}}
    task = (await raw(live, rpc("message/send", wish)))["result"]["id"]
    config = {"url": "https://caller.example.org/told"}
    await raw(
        live,
        rpc(
            "tasks/pushNotificationConfig/set",
            {"taskId": task, "pushNotificationConfig": config},
        ),
    )

    found = await raw(live, rpc("tasks/pushNotificationConfig/get", {"id": task}))
    other = await raw(
        live,
        rpc("tasks/pushNotificationConfig/get", {"id": task, "pushNotificationConfigId": "other"}),
    )

    assert found["result"]["pushNotificationConfig"] == {**config, "id": task}
    assert other["error"]["code"] == -32001

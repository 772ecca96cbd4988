"""Hermes as an MCP server: the real gateway, with the official SDK as the client."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from mcp.shared.exceptions import MCPError

from hermes.server.mcp.endpoints import ENDPOINTS, McpRefusal
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.mcp_client import ERAS, data_of, mcp_client, text_of
from tests.system.test_gateway import hermes
from tests.system.test_v1_stored_responses import gateway, secret_of

EVERYTHING = {
    "send_message",
    "run_agent",
    "get_message",
    "list_agents",
    "search_messages",
    "list_sessions",
}
TOOL = """
from hermes.tools import tool


@tool
def price(of: str) -> str:
    \"\"\"Tell the price of something.\"\"\"
    return f"{of} costs 3"
"""
DESCRIBED = {str(status) for status in ENDPOINTS[0].refusals}
HISTORY = {"search_messages", "list_sessions"}
COACH = {"HERMES_AGENTS": json.dumps({"coach": {"name": "Coach"}})}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


async def until_found(client: Any, **ask: object) -> list[dict[str, Any]]:
    """Search until something is found: the index follows a moment later."""
    async with asyncio.timeout(20):
        while True:
            found = data_of(await client.call_tool("search_messages", ask))["found"]
            if found:
                return list(found)
            await asyncio.sleep(0.05)


@pytest.mark.req("W43")
@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_sends_runs_finds_and_lists(tmp_path: Path, era: str) -> None:
    async with gateway(tmp_path / "home", **COACH) as live:
        secret = await secret_of(live, "--read-history")
        async with mcp_client(live, secret, era) as client:
            listed = await client.list_tools()
            assert {tool.name for tool in listed.tools} == EVERYTHING

            first = await client.call_tool("send_message", {"text": "hello blackbird"})
            assert text_of(first) == "#1 hello blackbird"
            assert data_of(first)["outcome"] == "answered"
            second = await client.call_tool("send_message", {"text": "and again"})
            assert text_of(second) == "#2 and again"
            apart = await client.call_tool("send_message", {"text": "new", "conversation": "b"})
            assert text_of(apart) == "#1 new"

            agents = data_of(await client.call_tool("list_agents", {}))["agents"]
            assert {"name": "coach", "title": "Coach"} in agents
            ran = await client.call_tool("run_agent", {"agent": "coach", "task": "run"})
            assert text_of(ran) == "#1 run"

            (found,) = [
                one for one in await until_found(client, text="blackbird") if one["role"] == "user"
            ]
            assert (found["platform"], found["message_id"]) == ("v1", data_of(first)["id"])
            sessions = data_of(await client.call_tool("list_sessions", {}))["sessions"]
            assert len(sessions) == 3
            assert {one["agent"] for one in sessions} == {"main", "coach"}
            assert found["session"] in {one["id"] for one in sessions}


@pytest.mark.req("W43")
async def test_a_key_sees_and_does_only_what_it_may(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home", **COACH) as live:
        anns = await secret_of(live, "--models", "agent:coach")
        bobs = await secret_of(live, "--read-history", user="bob")
        async with mcp_client(live, anns) as ann, mcp_client(live, bobs) as bob:
            listed = await ann.list_tools()
            assert {tool.name for tool in listed.tools} == EVERYTHING - HISTORY
            agents = data_of(await ann.call_tool("list_agents", {}))["agents"]
            assert [one["name"] for one in agents] == ["coach"]
            sent = data_of(
                await ann.call_tool("run_agent", {"agent": "coach", "task": "quicksilver"})
            )

            for tool, arguments, told in (
                ("send_message", {"text": "hello"}, "may not use 'agent:main'"),
                ("run_agent", {"agent": "main", "task": "hello"}, "may not use 'agent:main'"),
                ("run_agent", {"agent": "nobody", "task": "hello"}, "There is no agent 'nobody'"),
                ("search_messages", {"text": "hello"}, "--read-history"),
                ("list_sessions", {}, "--read-history"),
                ("nothing", {}, "There is no tool 'nothing'"),
                ("send_message", {"text": ""}, "do not fit"),
                ("send_message", {"text": "a", "sender": "bob"}, "do not fit"),
                ("send_message", {"text": "a", "wait_s": -1}, "do not fit"),
            ):
                refused = await ann.call_tool(tool, arguments)
                assert refused.is_error, tool
                assert told in text_of(refused)

            # Bob sees nothing of Ann: no message, no session, and no result once all is indexed.
            mine = data_of(await bob.call_tool("send_message", {"text": "quicksilver too"}))
            found = await until_found(bob, text="quicksilver")
            assert {one["message_id"] for one in found} == {mine["id"]}
            sessions = data_of(await bob.call_tool("list_sessions", {}))["sessions"]
            assert [one["agent"] for one in sessions] == ["main"]
            hidden = await bob.call_tool("get_message", {"id": sent["id"]})
            assert hidden.is_error
            assert "No message" in text_of(hidden)


@pytest.mark.req("W43")
async def test_a_key_without_the_right_finds_nothing_of_other_conversations(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path / "home", **COACH) as live:
        reader = await secret_of(live, "--read-history")
        bare = await secret_of(live)
        wish = json.dumps({"words": "blackbird"})
        asks = ("/search blackbird", f"[[tool:session_search {wish}]]")
        async with mcp_client(live, reader) as client:
            await client.call_tool("send_message", {"text": "the blackbird sings"})
            await until_found(client, text="blackbird")
            for ask in asks:
                found = await client.call_tool("send_message", {"text": ask, "conversation": ask})
                assert "blackbird sings" in text_of(found)
        async with mcp_client(live, bare) as client:
            for ask in asks:
                found = await client.call_tool("send_message", {"text": ask, "conversation": "b"})
                assert "blackbird sings" not in text_of(found)
            # In its own conversation it finds what it said there.
            own = await client.call_tool("send_message", {"text": asks[0]})
            assert "blackbird sings" in text_of(own)
        sent = {"model": "agent:main", "messages": [{"role": "user", "content": asks[0]}]}
        async with (
            aiohttp.ClientSession(headers={"authorization": f"Bearer {bare}"}) as session,
            session.post(f"{live.url}/v1/chat/completions", json=sent) as answer,
        ):
            assert "blackbird sings" not in await answer.text()


@pytest.mark.req("W43")
async def test_who_is_blocked_reads_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--read-history")
        async with mcp_client(live, secret) as client:
            sent = data_of(await client.call_tool("send_message", {"text": "the blackbird"}))
            await until_found(client, text="blackbird")
            code, _, err = await hermes(live, "users", "block", "v1:ann")
            assert code == 0, err
            for tool, arguments in (
                ("search_messages", {"text": "blackbird"}),
                ("list_sessions", {}),
                ("get_message", {"id": sent["id"]}),
                ("send_message", {"text": "/search blackbird"}),
            ):
                assert "You are blocked here" in text_of(await client.call_tool(tool, arguments))


@pytest.mark.req("W43")
async def test_a_key_gets_no_code_that_would_outlive_it(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live)
        async with mcp_client(live, secret) as client:
            refused = await client.call_tool("send_message", {"text": "/link"})
            assert data_of(refused)["outcome"] == "refused"
            assert "gets no code" in text_of(refused)


@pytest.mark.req("W43", "J1")
async def test_a_message_is_done_once_although_the_gateway_dies(tmp_path: Path) -> None:
    home, calls = tmp_path / "home", tmp_path / "calls"
    async with model_server("--count-file", str(calls)) as url:
        async with live_gateway(home, with_model(url)) as live:
            secret = await secret_of(live)
            async with mcp_client(live, secret) as client:
                ask = {"text": "[[slow:1]] once", "id": "mine-1", "wait_s": 0}
                sent = data_of(await client.call_tool("send_message", ask))
                assert sent["state"] in ("new", "running")
            await live.stop(signal.SIGKILL)
        async with (
            live_gateway(home, with_model(url)) as live,
            mcp_client(live, secret, "legacy") as client,
        ):
            again = await client.call_tool("send_message", {**ask, "wait_s": 20})
            assert data_of(again)["id"] == sent["id"]
            assert data_of(again)["duplicate"]
            assert text_of(again) == "#1 [[slow:1]] once"
            read = await client.call_tool("get_message", {"id": sent["id"]})
            assert text_of(read) == text_of(again)
            # The next message is the second of the conversation: the first was not done twice.
            following = await client.call_tool("send_message", {"text": "next"})
            assert text_of(following) == "#2 next"


@pytest.mark.req("W43")
async def test_who_stops_waiting_gets_the_reply_later(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live)
        async with mcp_client(live, secret) as client:
            ask = {"text": "[[slow:2]] slow", "id": "slow"}
            with pytest.raises(MCPError):
                await client.call_tool("send_message", ask, read_timeout_seconds=0.5)
            reply = await client.call_tool("send_message", ask)
            assert (data_of(reply)["duplicate"], text_of(reply)) == (True, "#1 [[slow:2]] slow")


@pytest.mark.req("W43")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_wants_progress_hears_what_the_turn_does(
    tmp_path: Path, era: str
) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "shop.py").write_text(TOOL)
    (home / "shop.py").chmod(0o600)
    (home / "config.yaml").write_text("tools:\n  modules: [shop.py]\n")
    async with gateway(home) as live:
        secret = await secret_of(live)
        async with mcp_client(live, secret, era) as client:
            ask = {"text": '[[tool:price {"of":"tea"}]] please', "id": "mine"}
            reply = await client.call_tool("send_message", ask, progress_callback=hear)
            told, sent = list(heard), data_of(reply)
            # Somebody who only asks after a message hears of it, too; who asks for nothing, nothing.
            await client.call_tool("send_message", {"text": "quietly"})
            silent = list(heard)
            slow = {"text": "[[slow:1]] slow", "wait_s": 0}
            other = data_of(await client.call_tool("send_message", slow))["id"]
            look = {"id": other, "wait_s": 20}
            await client.call_tool("get_message", look, progress_callback=hear)

    assert sent["outcome"] == "answered"
    assert told[0] == (1.0, None, f"{sent['id']}: accepted")
    assert "runs price" in [message for _, _, message in told]
    assert any("characters so far" in (message or "") for _, _, message in told)
    assert [number for number, _, _ in told] == [float(one) for one in range(1, len(told) + 1)]
    assert silent == told
    assert heard[len(told)] == (1.0, None, f"{other}: accepted")


async def post(
    live: Live, body: bytes, secret: str, **headers: str
) -> tuple[int, dict[str, Any], str]:
    """Post raw bytes; returns the status, the JSON of the answer, and its text."""
    sent = {
        "authorization": f"Bearer {secret}",
        "content-type": "application/json",
        **ACCEPT,
        **headers,
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{live.url}/mcp", data=body, headers=sent) as answer,
    ):
        text = await answer.text()
        is_json = answer.content_type == "application/json"
        return answer.status, json.loads(text) if is_json else {}, text


@pytest.mark.req("W43")
async def test_a_hostile_client_gets_a_clear_error(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home", HERMES_SERVER__MAX_BODY_BYTES="100000") as live:
        secret = await secret_of(live)
        good = json.dumps(INITIALIZE).encode()
        deep = b'{"a":' + b"[" * 50_000 + b"]" * 40_000 + b"}"
        for body, headers, status, told in (
            (good, {"authorization": "Bearer hk_wrong"}, 401, "Unknown key"),
            (good, {"authorization": ""}, 401, "No key was sent"),
            (good, {"origin": "https://evil.example"}, 403, "another site"),
            (good, {"host": "evil.example"}, 421, "localhost"),
            (good, {"mcp-session-id": "0123456789abcdef"}, 404, "Initialize again"),
            (good, {"mcp-protocol-version": "1999-01-01"}, 400, "protocolVersion"),
            (good, {"accept": "text/html"}, 406, "Not Acceptable"),
            (good, {"content-type": "text/plain"}, 400, "expected application/json"),
            (b"x" * 100_001, {}, 413, "100001"),
            (b"{", {}, 400, "not one JSON-RPC message"),
            (b"[]", {}, 400, "not one JSON-RPC message"),
            (deep, {}, 400, "nested too deeply"),
            (b"{}", {}, 400, ""),
        ):
            found, told_back, text = await post(live, body, secret, **headers)
            assert found == status, (headers, body[:40], text)
            assert told in json.dumps(told_back, ensure_ascii=False), told_back
            # What OpenAPI says of refusals; a foreign host is refused before the path is looked at.
            if status != 421:
                assert str(status) in DESCRIBED
                msgspec.convert(told_back, McpRefusal)
        async with aiohttp.ClientSession(headers=live.bearer) as session:
            async with session.get(f"{live.url}/mcp", headers=ACCEPT) as answer:
                assert (answer.status, answer.headers["allow"]) == (405, "POST")
            async with session.delete(f"{live.url}/mcp") as answer:
                assert answer.status == 405
            async with session.post(f"{live.url}/mcp?token=x", data=good) as answer:
                assert answer.status == 400
        # It still serves, and nothing of what was refused is in the log as a failure.
        async with mcp_client(live, secret) as client:
            assert text_of(await client.call_tool("send_message", {"text": "hi"})) == "#1 hi"
        assert "request_failed" not in live.said()
        assert "mcp_call_failed" not in live.said()


@pytest.mark.req("W43")
async def test_the_rate_of_a_key_counts_on_both_doors(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--rate", "2")
        good = json.dumps(INITIALIZE).encode()
        assert (await post(live, good, secret))[0] == 200
        async with (
            aiohttp.ClientSession(headers={"authorization": f"Bearer {secret}"}) as session,
            session.get(f"{live.url}/v1/models") as answer,
        ):
            assert answer.status == 200
        status, refused, _ = await post(live, good, secret)
        assert (status, "2 times a minute" in refused["error"]["message"]) == (429, True)

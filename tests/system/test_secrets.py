"""Stored secrets in a running gateway: who uses them, from when on, and that nobody reads them back."""

import asyncio
import json
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.app import Gateway
from hermes.config import LoadedConfig, load
from hermes.ops.logs import plan_of, secrets_in, set_up
from hermes.ports.clock import SystemClock
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.system.live import run_command

GLOBAL = "sk-global-0123456789abcdef"
COACHES = "sk-coach-fedcba9876543210"
TOOLS = "marimba/token+0123456789~value"
MCP_SERVER = Path(__file__).parents[1] / "unit" / "tools" / "mcp" / "raw_server.py"
SAID = "please"


def words_of(received: ReceivedRequest) -> str:
    """Return what the last user message of a call says."""
    said = [one for one in received.json()["messages"] if one["role"] == "user"][-1]["content"]
    return said if isinstance(said, str) else " ".join(part.get("text", "") for part in said)


def frame(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode()


async def parrot(received: ReceivedRequest, out: Out) -> None:
    """Say which key came, in pieces, or refuse with it, or call the tool that is named."""
    key, asked = received.headers.get("authorization", "none"), words_of(received)
    if "refuse" in asked:
        coded = b64encode(key.encode()).decode()
        out.whole(400, json.dumps({"error": {"message": f"unknown field {coded} {key}"}}).encode())
        return
    out.begin("text/event-stream")
    has_result = received.json()["messages"][-1]["role"] == "tool"
    if "tool" in asked and not has_result:
        call = {"index": 0, "id": "t1", "function": {"name": "mcp_raw_leak", "arguments": "{}"}}
        out.frame(frame({"tool_calls": [call]}) + frame({}, "tool_calls"))
    else:
        text = f"{key} {b64encode(key.encode()).decode()} is my key, {asked}"
        if "quiet" in asked:
            text = "fine"
        if has_result:
            text = received.json()["messages"][-1]["content"]
        for at in range(0, len(text), 3):
            out.frame(frame({"content": text[at : at + 3]}))
        out.frame(frame({}, "stop"))
    out.frame(b"data: [DONE]\n\n")
    out.end()


class Home:
    """A running gateway with a model service that repeats the key of each call."""

    def __init__(self, loaded: LoadedConfig, http: aiohttp.ClientSession, token: str) -> None:
        self.loaded = loaded
        self.home = loaded.home
        self.token = token
        self._http = http

    async def ask(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        """Ask the gateway; the answer is JSON."""
        headers = {"authorization": f"Bearer {self.token}", **more}
        async with self._http.request(method, path, json=body, headers=headers) as answer:
            return json.loads(await answer.text())

    async def put(self, key: str, value: str, *, agent: str = "") -> Any:
        path = f"/workspaces/{agent}/secrets" if agent else "/settings/secrets"
        return await self.ask("PUT", path, {"key": key, "value": value})

    async def say(self, text: str, agent: str = "main") -> dict[str, Any]:
        body = {"sender": "ann", "text": text, "agent": agent, "conversation": agent}
        return dict(await self.ask("POST", "/api/messages", body))

    async def stream(self, text: str) -> str:
        """Return everything that a watcher is sent."""
        headers = {"authorization": f"Bearer {self.token}", "accept": "text/event-stream"}
        body = {"sender": "ann", "text": text}
        async with self._http.post("/api/messages", json=body, headers=headers) as answer:
            return await answer.text()

    async def candidates(self, agent: str = "") -> tuple[list[str], dict[str, str]]:
        """Return the providers of a plan, and why others are not in it."""
        found = await self.ask("POST", "/control/route", {"prompt": "hi", "agent": agent})
        dropped = {one["provider"]: one["reason"] for one in found["dropped"]}
        return [one["provider"] for one in found["candidates"]], dropped

    async def until_connected(self) -> None:
        """Wait until an MCP server is connected that was not called yet."""
        async with asyncio.timeout(20):
            while True:
                servers = (await self.ask("GET", "/control/mcp"))["servers"]
                if [(one["state"], one["calls"]) for one in servers] == [("connected", 0)]:
                    return
                await asyncio.sleep(0.02)


def configure(home: Path, providers: Mapping[str, Any], more: Mapping[str, Any]) -> LoadedConfig:
    home.mkdir(mode=0o700, exist_ok=True)
    told = {
        "server": {"port": 0},
        "logs": {"level": "debug", "format": "json"},
        "providers": providers,
        "agents": {"coach": {"name": "Coach"}},
        **more,
    }
    # JSON is YAML.
    (home / "config.yaml").write_text(json.dumps(told))
    return load({"HERMES_PROCESS__LOCK_DIR": str(home.parent / "locks")}, home)


@asynccontextmanager
async def running(home: Path, config: Mapping[str, Any] | None = None) -> AsyncIterator[Home]:
    async with ScriptedHttp(parrot) as service:
        loaded = configure(home, {"openai": {"base_url": f"{service.origin}/v1"}}, config or {})
        with (home / "printed.log").open("wb") as printed:
            plan, known = plan_of(loaded.settings.logs, home), secrets_in(loaded.settings)
            logs = set_up(plan, known, clock=SystemClock(), stream=printed)
            try:
                async with Gateway(loaded, logs=logs, hide=logs.hide):
                    address = json.loads((home / "run" / "gateway.json").read_text())
                    url = f"http://{address['host']}:{address['port']}"
                    async with aiohttp.ClientSession(url) as http:
                        yield Home(loaded, http, address["token"])
            finally:
                logs.close()


def leaks(folder: Path, *values: str) -> list[str]:
    """Return the files in which one of the values is, in plain text or in base64."""
    found = [form.encode() for form in forms(*values)]
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in found)
    )


def forms(*values: str) -> list[str]:
    """Return values in plain text, and what is the same of them wherever they begin in base64."""
    coded = [b64encode(b" " * n + value.encode()) for value in values for n in range(3)]
    return [*values, *(one[4:-4].decode() for one in coded)]


@pytest.mark.req("M9")
async def test_each_agent_calls_with_its_own_key_from_the_next_call_on(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as home:
        before = await home.say(SAID)
        await home.put("OPENAI_API_KEY", GLOBAL)
        shared = await home.say(SAID)
        await home.put("OPENAI_API_KEY", COACHES, agent="coach")
        own = await home.say(SAID, "coach")
        again = await home.say(SAID)
        await home.put("OPENAI_API_KEY", f"{GLOBAL}-2")
        rotated = await home.say(SAID)
        await home.ask("DELETE", "/workspaces/coach/secrets/OPENAI_API_KEY")
        fallen_back = await home.say(SAID, "coach")
        await home.ask("DELETE", "/settings/secrets/OPENAI_API_KEY")
        without = await home.say(SAID)

    # The service says which key it was called with; people are told its name.
    assert before["reply"].startswith("none")
    assert shared["reply"] == (
        f"Bearer [secret OPENAI_API_KEY] {masked(f'Bearer {GLOBAL}')} is my key, {SAID}"
    )
    assert own["reply"].startswith("Bearer [secret OPENAI_API_KEY]")
    assert again["reply"] == shared["reply"]
    assert rotated["reply"] != "none"
    assert fallen_back["reply"].startswith("Bearer [secret OPENAI_API_KEY]")
    assert without["reply"].startswith("none")


def masked(text: str) -> str:
    """Return base64 of a text with the letters replaced that its secret alone decides."""
    coded = b64encode(text.encode()).decode()
    value = text.partition(" ")[2].encode()
    begin = len(text.encode()) - len(value)
    first, last = -(-begin * 8 // 6), (begin + len(value)) * 8 // 6
    return f"{coded[:first]}[secret OPENAI_API_KEY]{coded[last:]}"


@pytest.mark.req("M9", "M1")
async def test_the_service_gets_the_key_of_the_agent_that_calls(tmp_path: Path) -> None:
    async with ScriptedHttp(parrot) as service:
        address = {
            "providers": {"openai": {"base_url": f"{service.origin}/v1", "api_key": "k-file"}}
        }
        async with running(tmp_path / "home", address) as home:
            await home.say(SAID)
            await home.put("OPENAI_API_KEY", GLOBAL)
            await home.put("OPENAI_API_KEY", COACHES, agent="coach")
            await home.say(SAID)
            await home.say(SAID, "coach")
            await home.ask("DELETE", "/settings/secrets/OPENAI_API_KEY")
            await home.say(SAID)

    keys = [one.headers["authorization"] for one in service.requests]
    assert keys == ["Bearer k-file", f"Bearer {GLOBAL}", f"Bearer {COACHES}", "Bearer k-file"]


@pytest.mark.req("M9", "M1")
async def test_a_key_makes_a_service_available_and_an_empty_one_hides_it(tmp_path: Path) -> None:
    async with running(tmp_path / "home", {"providers": {}}) as home:
        nothing = await home.candidates()
        await home.put("GEMINI_API_KEY", GLOBAL)
        await home.put("ANTHROPIC_API_KEY", f"{GLOBAL}-a")
        both = await home.candidates()
        await home.put("ANTHROPIC_API_KEY", "", agent="coach")
        hidden = await home.candidates("coach")
        others = await home.candidates("main")
        await home.put("OPENROUTER_API_KEY", COACHES, agent="coach")
        own = await home.candidates("coach")
        everybody = await home.candidates()

    assert nothing[0] == ["local"]
    assert both[0] == others[0] == ["anthropic", "gemini"]
    assert hidden[0] == ["gemini"]
    assert hidden[1]["anthropic"] == "the agent coach hides its key by an empty secret"
    assert own[0] == ["openrouter", "gemini"]
    assert (everybody[0], everybody[1]["openrouter"]) == (["anthropic", "gemini"], "not available")


@pytest.mark.req("M9", "M1")
async def test_a_turn_of_an_agent_passes_over_the_service_whose_key_is_hidden(
    tmp_path: Path,
) -> None:
    async with ScriptedHttp(parrot) as first, ScriptedHttp(parrot) as second:
        services = {
            "openai": {"base_url": f"{first.origin}/v1"},
            "house": {"base_url": f"{second.origin}/v1", "model": "house-1"},
        }
        async with running(tmp_path / "home", {"providers": services}) as home:
            await home.put("OPENAI_API_KEY", "", agent="coach")
            await home.say(SAID)
            coachs = await home.say(SAID, "coach")
            why = await home.ask("GET", f"/control/why/{coachs['id']}")

    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert "the agent coach hides its key by an empty secret" in json.dumps(why)


@pytest.mark.req("M9", "M1")
async def test_secrets_are_used_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path / "home", {"providers": {}}) as home:
        await home.put("GEMINI_API_KEY", GLOBAL)
        await home.put("GEMINI_API_KEY", "", agent="coach")
    async with running(tmp_path / "home", {"providers": {}}) as home:
        found = (await home.candidates())[0], (await home.candidates("coach"))[0]

    assert found == (["gemini"], ["local"])


@pytest.mark.req("M9", "W37")
async def test_an_mcp_server_is_connected_anew_with_a_changed_secret(tmp_path: Path) -> None:
    server = {
        "command": sys.executable,
        "args": [str(MCP_SERVER)],
        "env": {"KEY": "${RAW_TOKEN}"},
        "approval": "never",
    }
    async with running(tmp_path / "home", {"mcp": {"servers": {"raw": server}}}) as home:
        (waiting,) = (await home.ask("GET", "/control/mcp"))["servers"]
        listed = await home.put("RAW_TOKEN", TOOLS)
        await home.until_connected()
        reply = await home.say("use the tool")
        await home.put("RAW_TOKEN", f"{TOOLS}-2")
        await home.until_connected()
        second = await home.say("use the tool")
        why = await home.ask("GET", f"/control/why/{reply['id']}?text=true")

    assert "hermes secrets set RAW_TOKEN" in waiting["problem"]
    assert listed["secret"]["used_by"] == ["MCP server raw"]
    assert "[secret RAW_TOKEN]" in reply["reply"]
    assert "[secret RAW_TOKEN]" in second["reply"]
    assert TOOLS not in json.dumps((reply, second, why))
    assert leaks(tmp_path / "home", TOOLS) == []


@pytest.mark.req("M9", "W35")
async def test_a_value_is_read_back_by_no_door(tmp_path: Path) -> None:
    shown: list[str] = []
    async with running(tmp_path / "home") as home:
        shown.append(json.dumps(await home.put("OPENAI_API_KEY", GLOBAL)))
        shown.append(json.dumps(await home.put("OTHER_TOKEN", TOOLS, agent="coach")))
        # Somebody writes a secret into a chat, and the service repeats what it was sent.
        said = await home.say(f"{SAID} {TOOLS}")
        refused = await home.say("refuse")
        await home.say(f"quiet {TOOLS}", "coach")
        shown += [json.dumps(refused), json.dumps(said["reply"]), await home.stream(SAID)]
        agreed = {"user": "rest:ann", "may_train": True}
        assert "error" not in await home.ask("POST", "/control/consent", agreed)
        _, key = await caller_key(home)
        for stream in (False, True):
            shown.append(await completion(home, key, SAID, stream=stream))
            shown.append(await completion(home, key, "refuse", stream=stream))
        for one in (said, refused):
            shown.append(json.dumps(await home.ask("GET", f"/control/why/{one['id']}?text=true")))
        for path in ("status", "models", "mcp", "audit", "search?text=please", "interactions"):
            shown.append(json.dumps(await home.ask("GET", f"/control/{path}")))
        shown.append(json.dumps(await home.ask("GET", "/settings/secrets")))
        shown.append(json.dumps(await home.ask("GET", "/workspaces/coach/secrets")))
        shown.append(json.dumps(await home.ask("GET", "/openapi.json")))
    rows = tmp_path / "rows.jsonl"
    ran = [await command_output(tmp_path / "home", *words) for words in commands(said["id"], rows)]

    found = {
        place: text
        for place, text in enumerate([*shown, *ran])
        for form in forms(GLOBAL, TOOLS)
        if form in text
    }
    assert found == {}
    assert "[secret OTHER_TOKEN]" in said["reply"]
    assert "[secret OPENAI_API_KEY]" in said["reply"]
    export, drawing, rows_told, story, *_ = ran
    assert [f"{SAID} [secret OTHER_TOKEN]" in one for one in (export, drawing, story)] == [True] * 3
    assert "contains a secret of this gateway" in rows_told
    assert leaks(tmp_path, GLOBAL, TOOLS) == []


def commands(message: str, rows: Path) -> tuple[tuple[str, ...], ...]:
    """Return commands that show what was said, or what there is."""
    return (
        ("users", "export", "rest:ann"),
        ("graph", "show", "agent:main:rest:dm:main:ann"),
        ("graph", "export", "--all", "--format", "openai", "--out", str(rows)),
        ("why", message, "--text"),
        ("secrets", "list", "--json"),
        ("audit",),
    )


async def command_output(home: Path, *words: str) -> str:
    return str((await run_command(home, *words, is_merged=True)).stdout)


async def caller_key(home: Home) -> tuple[str, str]:
    made = await home.ask("POST", "/control/keys", {"user": "ann"})
    return str(made["key"]["id"]), str(made["secret"])


async def completion(home: Home, key: str, text: str, *, stream: bool) -> str:
    body = {
        "model": "openai:m",
        "stream": stream,
        "messages": [{"role": "user", "content": text}],
    }
    headers = {"authorization": f"Bearer {key}"}
    async with home._http.post("/v1/chat/completions", json=body, headers=headers) as answer:
        return await answer.text()


@pytest.mark.req("M9")
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"key": "sk-ant-1234", "value": "x"}, "capital letters"),
        ({"key": "OPENAI_API_KEY", "value": "two words"}, "is one word"),
        ({"key": "OPENAI_API_KEY", "value": ""}, "hermes secrets delete"),
        ({"key": "TOKEN", "value": "x" * 70_000}, "more than 65,536 bytes"),
        ({"key": "TOKEN", "value": "a\u0000b"}, "no variable can have"),
    ],
)
async def test_what_cannot_be_a_secret_is_refused_without_repeating_it(
    tmp_path: Path, body: dict[str, str], problem: str
) -> None:
    async with running(tmp_path / "home") as home:
        answer = await home.ask("PUT", "/settings/secrets", body)
        unknown = await home.ask("PUT", "/workspaces/nobody/secrets", body)
        kept = await home.ask("GET", "/settings/secrets")

    assert answer["error"]["code"] == "bad_request"
    assert problem in answer["error"]["message"]
    assert body["key"] not in answer["error"]["message"] or body["key"].isupper()
    assert unknown["error"]["code"] == "not_found"
    assert kept == {"secrets": []}


@pytest.mark.req("M9", "W1")
async def test_the_command_line_reads_values_from_a_pipe_and_shows_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, {}, {})

    async def hermes(*words: str, text: str = "") -> tuple[int, str]:
        done = await run_command(home, "secrets", *words, text=text, is_merged=True)
        return done.returncode, done.stdout

    offline = await hermes("set", "GEMINI_API_KEY", text=f"{GLOBAL}\n")
    empty = await hermes("set", "OTHER", text="\n")
    as_argument = await hermes("set", "OTHER", "--hide")
    async with running(home, {"providers": {}}) as live:
        hidden = await hermes("set", "GEMINI_API_KEY", "--agent", "coach", "--hide")
        found = (await live.candidates())[0], (await live.candidates("coach"))[0]
        listed = await hermes("list", "--json")
        gone = await hermes("delete", "GEMINI_API_KEY")
        again = await hermes("delete", "GEMINI_API_KEY")
        after = (await live.candidates())[0]

    assert offline[0] == hidden[0] == listed[0] == gone[0] == 0
    assert "The secret GEMINI_API_KEY is set (hash " in offline[1]
    assert (empty[0], "The value is empty" in empty[1]) == (1, True)
    assert (as_argument[0], "--hide needs --agent" in as_argument[1]) == (1, True)
    assert "is hidden from the agent coach" in hidden[1]
    assert (found, after) == ((["gemini"], ["local"]), ["local"])
    (line,) = json.loads(listed[1])["secrets"]
    assert (line["key"], line["used_by"], "value" in line) == (
        "GEMINI_API_KEY",
        ["provider gemini"],
        False,
    )
    assert "The secret GEMINI_API_KEY is deleted." in gone[1]
    assert (again[0], "There is no secret 'GEMINI_API_KEY'" in again[1]) == (1, True)
    assert leaks(home, GLOBAL) == []


@pytest.mark.req("M9", "J24")
async def test_a_backup_carries_secrets_sealed(tmp_path: Path) -> None:
    home, archive = tmp_path / "home", tmp_path / "archive"
    archive.mkdir()
    async with running(home, {"providers": {}}) as live:
        await live.put("GEMINI_API_KEY", GLOBAL)
        made = await command_output(home, "backup", str(archive / "b.hermes"))
    key = ("--key-file", str(home / "keys" / "store.keys"))
    told = ("restore", str(archive / "b.hermes"), *key)
    restored = await command_output(tmp_path / "restored", *told)
    listed = await command_output(tmp_path / "restored", "secrets", "list", "--json")

    assert "GEMINI_API_KEY" in listed, (made, restored)
    assert leaks(archive, GLOBAL) == []

"""Agents that delegate to each other, in a live gateway over HTTP, also when it is killed meanwhile."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, run_command, with_model

MODEL = "openai:test-model"
AT_ONCE = (
    "delegate_task_async digger 'Draft release notes for v2.1' AND "
    "delegate_task_async writer 'Summarise the last 30 days of support tickets'"
)


class Program:
    """Calls a gateway with one token."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        self._session = session
        self._url = url
        self._headers = {"authorization": f"Bearer {token}"}

    # Any: JSON.
    async def ask(self, method: str, path: str, **body: Any) -> tuple[int, Any]:
        async with self._session.request(
            method, f"{self._url}{path}", json=body or None, headers=self._headers
        ) as answer:
            return answer.status, await answer.json()

    async def send(self, path: str, body: dict[str, Any]) -> Any:
        """Post any JSON; return the answer."""
        async with self._session.post(
            f"{self._url}{path}", json=body, headers=self._headers
        ) as answer:
            return await answer.json()

    async def say(self, text: str, **more: str) -> Any:
        """Send a message to the boss, unless another agent is named; return the answer."""
        message = {"agent": "boss", "text": text, **more}
        return (await self.ask("POST", "/api/messages", **message))[1]

    async def tasks(self, text: str, **more: str) -> Any:
        """Send a command; return the tasks in its reply."""
        return json.loads((await self.say(text, **more))["reply"])["tasks"]

    async def until(self, path: str, wanted: int, **fields: str) -> Any:
        """Ask for a path until it is answered so; return the answer."""
        while True:
            status, found = await self.ask("GET", path)
            if status == wanted and all(found[name] == fields[name] for name in fields):
                return found
            await asyncio.sleep(0.02)

    async def story(self, name: str) -> str:
        """Return the id of a message, by its sender's name for it, once it is accepted."""
        return str((await self.until(f"/control/why/{name}", 200))["id"])


@asynccontextmanager
async def programs(live: Live, *tokens: str) -> AsyncIterator[tuple[Program, ...]]:
    """Give programs that call a gateway as its owner and with other tokens."""
    async with aiohttp.ClientSession() as session:
        yield tuple(Program(session, live.url, token) for token in (live.token, *tokens))


async def set_up(live: Live) -> str:
    """Make a boss with two workers, and return a token that may delegate."""
    async with programs(live) as (owner,):
        team = {"digger": [], "writer": [], "boss": ["digger", "writer"]}
        for name, delegates in team.items():
            await owner.ask("POST", "/workspaces", name=name, model=MODEL, delegates=delegates)
            await owner.until(f"/workspaces/{name}", 200, status="ready")
        made = await owner.ask("POST", "/control/tokens", role="operator", may_delegate=True)
        return str(made[1]["secret"])


@pytest.mark.req("M11")
async def test_m11_a_program_gives_tasks_to_two_workers_at_once_and_gets_their_answers(
    tmp_path: Path,
) -> None:
    async with model_server() as model, live_gateway(tmp_path / "home", with_model(model)) as live:
        token = await set_up(live)
        async with programs(live, token) as (_, program):
            answer = await program.say(AT_ONCE)
            given = json.loads(answer["reply"])["tasks"]
            ended = [(await program.tasks(f"task_result {one['task_id']}"))[0] for one in given]
            status = (await program.tasks(f"task_status {given[0]['task_id']}"))[0]

        shown = await run_command(live.home, "why", answer["id"])
        costs = await run_command(live.home, "costs", "--message", answer["id"], "--json")

    assert [one["workspace"] for one in given] == ["digger", "writer"]
    assert [one["reply"] for one in ended] == [
        "#1 Draft release notes for v2.1",
        "#1 Summarise the last 30 days of support tickets",
    ]
    assert (status["state"], status["outcome"], "reply" in status) == ("done", "answered", False)
    assert "Delegated" in shown.stdout
    assert "digger, answered" in shown.stdout
    assert costs.returncode == 0, costs.stderr
    lines = json.loads(costs.stdout)["lines"]
    assert [(one["agent"], one.get("parent")) for one in lines] == [
        ("boss", None),
        ("digger", answer["id"]),
        ("writer", answer["id"]),
    ]
    own = sum(one.get("usage", {}).get("tokens_in", 0) for one in lines)
    assert lines[0]["whole"]["tokens_in"] == own > 0


@pytest.mark.req("M10", "M11")
async def test_m11_a_command_over_a2a_gives_tasks_if_the_credential_may(tmp_path: Path) -> None:
    part = {"kind": "text", "text": "delegate_task digger,writer 'dig'"}
    message = {"kind": "message", "role": "user", "messageId": "m-1", "parts": [part]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    path = "/workspaces/boss/a2a"
    async with (
        model_server() as url,
        live_gateway(tmp_path / "home", with_model(url)) as live,
    ):
        token = await set_up(live)
        async with programs(live, token) as (owner, program):
            other = await owner.ask("POST", "/control/tokens", role="operator")
            async with programs(live, other[1]["secret"]) as (_, stranger):
                told, refused = [await one.send(path, call) for one in (program, stranger)]

    tasks = json.loads(told["result"]["parts"][0]["text"])["tasks"]
    assert [one["reply"] for one in tasks] == ["#1 dig", "#1 dig"]
    assert "may not delegate" in json.dumps(refused)


@pytest.mark.req("M11")
async def test_m11_what_cannot_be_given_is_said_and_everything_else_is_given(
    tmp_path: Path,
) -> None:
    async with model_server() as model, live_gateway(tmp_path / "home", with_model(model)) as live:
        token = await set_up(live)
        async with programs(live, token) as (owner, program):
            await owner.ask("POST", "/workspaces/writer/stop")
            told = await program.tasks("delegate_task digger,writer,boss,nobody 'dig'")
            await owner.ask("DELETE", "/workspaces/writer?grace_s=0")
            await owner.until("/workspaces/writer", 404)
            gone = await program.tasks("delegate_task writer 'write'")
            refused = await owner.ask("POST", "/control/tokens", role="operator")
            async with programs(live, refused[1]["secret"]) as (_, other):
                without = await other.say("delegate_task digger 'dig'")
            half = await program.say("delegate_task digger dig")

    assert told[0]["reply"] == "#1 dig"
    assert [one["error"] for one in told[1:]] == [
        "The agent 'writer' is stopped: `hermes agents start writer` starts it again.",
        "'boss' is the workspace itself: name another one",
        "there is no workspace 'nobody'",
    ]
    assert gone[0]["error"] == "there is no workspace 'writer'"
    assert (without["outcome"], half["outcome"]) == ("refused", "refused")
    assert without["reply"].startswith("This credential may not delegate")


@pytest.mark.req("M11", "J8")
async def test_m11_a_gateway_that_is_killed_while_turns_wait_goes_on_with_the_same_tasks(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    slow = json.dumps({"workspaces": ["digger", "writer"], "task": "[[slow:2]] dig"})
    by_model = {"text": f"[[tool:delegate_task {slow}]]", "id": "by-model", "context_id": "a"}
    by_command = {
        "text": "delegate_task digger,writer '[[slow:4]] write'",
        "id": "by-command",
        "context_id": "b",
    }
    async with model_server() as model:
        async with live_gateway(home, with_model(model)) as live:
            token = await set_up(live)
            async with programs(live, token) as (owner, program):
                waiting = [
                    asyncio.create_task(program.say(**one)) for one in (by_model, by_command)
                ]
                ids = [await owner.story(name) for name in ("by-model", "by-command")]
                given = [
                    await owner.story(f"{message_id}.{number}")
                    for message_id in ids
                    for number in ("1", "1.2")
                ]
                await live.stop(signal.SIGKILL)
                await asyncio.gather(*waiting, return_exceptions=True)

        async with (
            live_gateway(home, with_model(model)) as live,
            programs(live, token) as (
                owner,
                program,
            ),
        ):
            first, second = [await program.say(**one) for one in (by_model, by_command)]
            again = [await owner.ask("GET", f"/control/why/{ids[0]}.{n}") for n in ("2", "1.3")]

    assert [one["id"] for one in (first, second)] == ids
    assert [one["outcome"] for one in (first, second)] == ["answered", "answered"]
    for task_id in given[:2]:
        assert task_id in first["reply"]
    tasks = json.loads(second["reply"])["tasks"]
    assert [(one["task_id"], one["reply"]) for one in tasks] == [
        (task_id, "#1 [[slow:4]] write") for task_id in given[2:]
    ]
    assert [status for status, _ in again] == [404, 404]

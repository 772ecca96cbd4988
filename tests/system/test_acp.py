"""An editor talks to an agent over standard input and output; the protocol's own SDK is the editor."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp import helpers as say
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    AvailableCommandsUpdate,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UserMessageChunk,
)

from tests.system.live import (
    Live,
    environment,
    live_gateway,
    model_server,
    run_command,
    with_model,
)
from tests.system.test_browser_first_week import PAY, first_week
from tests.system.test_life import until_running

pytestmark = pytest.mark.req("W43")
WAIT_S = 120.0
AGENTS = "agents:\n  main: {}\n  work:\n    name: Worker\n"


class Editor:
    """The client's side: it records what it is told, and decides as the test says."""

    def __init__(self, decision: str = "allow") -> None:
        self._decision = decision
        self.updates: list[Any] = []
        self.asked: list[ToolCallUpdate] = []
        self.is_asked = asyncio.Event()
        self.has_text = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_rest: Any) -> None:
        self.updates.append(update)
        if isinstance(update, AgentMessageChunk):
            self.has_text.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        self.is_asked.set()
        if self._decision == "cancel":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(one for one in options if one.option_id == self._decision)
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    def on_connect(self, conn: Any) -> None:
        pass

    def of(self, kind: type[Any]) -> list[Any]:
        return [one for one in self.updates if isinstance(one, kind)]

    @property
    def text(self) -> str:
        """What the agent said, as an editor shows it: each message begins a new line."""
        shown, last = "", None
        for one in self.of(AgentMessageChunk):
            shown += ("\n" if shown and one.message_id != last else "") + one.content.text
            last = one.message_id
        return shown


@asynccontextmanager
async def opened(
    home: Path, editor: Editor, *options: str, more: dict[str, str] | None = None
) -> AsyncIterator[ClientSideConnection]:
    """Start `hermes acp` as an editor does, and say hello."""
    command = (sys.executable, "-m", "hermes", "acp", *options)
    async with (
        asyncio.timeout(WAIT_S),
        spawn_agent_process(editor, *command, env=environment(home, more)) as (agent, _),  # type: ignore[arg-type]
    ):
        hello = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        assert hello.protocol_version == PROTOCOL_VERSION
        yield agent


async def ask(agent: ClientSideConnection, session: str, *blocks: Any) -> Any:
    prompt = [say.text_block(one) if isinstance(one, str) else one for one in blocks]
    return await agent.prompt(prompt=prompt, session_id=session)


async def begun(agent: ClientSideConnection) -> str:
    return (await agent.new_session(cwd="/", mcp_servers=[])).session_id


@asynccontextmanager
async def running_gateway(home: Path, *options: str) -> AsyncIterator[Live]:
    write_config(home)
    async with model_server(*options) as url, live_gateway(home, with_model(url)) as live:
        yield live


def write_config(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(AGENTS)


async def turns(home: Path) -> Sequence[dict[str, Any]]:
    done = await run_command(home, "interactions", "--json")
    return list(json.loads(done.stdout)["interactions"])


async def test_a_prompt_is_answered_and_the_conversation_goes_on(tmp_path: Path) -> None:
    editor = Editor()
    async with running_gateway(tmp_path / "home") as live, opened(live.home, editor) as agent:
        session = await begun(agent)
        first = await ask(agent, session, "hello")
        second = await ask(agent, session, "and again")
        (newest, _) = await turns(live.home)

    assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert editor.text == "#1 hello\n#2 and again"
    assert first.usage.total_tokens > 0
    assert second.field_meta["hermes"]["message"] == newest["message_id"]
    (offered,) = editor.of(AvailableCommandsUpdate)
    assert "compact" in {one.name for one in offered.available_commands}


async def test_an_editor_without_a_gateway_gets_one_in_the_same_process(tmp_path: Path) -> None:
    home, editor = tmp_path / "home", Editor()
    write_config(home)
    async with model_server() as url, opened(home, editor, more=with_model(url)) as agent:
        answer = await ask(agent, await begun(agent), "hello")

    assert (answer.stop_reason, editor.text) == ("end_turn", "#1 hello")


async def test_a_conversation_is_shown_again_and_goes_on_in_another_editor(tmp_path: Path) -> None:
    first, second = Editor(), Editor()
    async with running_gateway(tmp_path / "home") as live:
        async with opened(live.home, first, "--agent", "work") as agent:
            session = await begun(agent)
            await ask(agent, session, "remember the blue door")
        async with opened(live.home, second, "--agent", "work") as agent:
            await agent.load_session(cwd="/", session_id=session, mcp_servers=[])
            said = [one.content.text for one in second.of(UserMessageChunk)]
            told = second.text
            await ask(agent, session, "and now")
        newest = (await turns(live.home))[0]

    assert (said, told) == (["remember the blue door"], "#1 remember the blue door")
    assert second.text.endswith("#2 and now")
    assert newest["agent"] == "work"


async def test_a_file_is_sent_as_text_and_a_picture_is_refused(tmp_path: Path) -> None:
    editor = Editor()
    file = say.resource_block(say.embedded_text_resource("file:///w/door.txt", "the blue ``` door"))
    async with running_gateway(tmp_path / "home") as live, opened(live.home, editor) as agent:
        session = await begun(agent)
        await ask(agent, session, "What is in ", file, "?")
        with pytest.raises(RequestError, match="Pictures and sound"):
            await ask(agent, session, say.image_block("aGk=", "image/png"))
        with pytest.raises(RequestError, match="at most 100,000"):
            await ask(agent, session, "x" * 100_001)
        with pytest.raises(RequestError, match="no such session"):
            await ask(agent, "c_unknown", "hello")

    assert "What is in [door.txt]?" in editor.text
    assert "[file: file:///w/door.txt]\n````\nthe blue ``` door\n````" in editor.text


async def test_a_tool_asks_the_editor_for_permission(tmp_path: Path) -> None:
    home, allows, denies = tmp_path / "home", Editor(), Editor("deny")
    async with first_week(home):
        async with opened(home, allows) as agent:
            allowed = await ask(agent, await begun(agent), PAY)
        async with opened(home, denies) as agent:
            denied = await ask(agent, await begun(agent), PAY)

    assert (allowed.stop_reason, denied.stop_reason) == ("end_turn", "end_turn")
    assert [one.title for one in allows.asked] == ["pay"]
    assert "paid bob" in allows.text
    assert "paid bob" not in denies.text
    assert allows.of(ToolCallStart)[-1].title == "pay"
    assert allows.of(ToolCallProgress)[-1].status == "completed"


async def test_a_cancelled_answer_ends_at_once_and_says_so(tmp_path: Path) -> None:
    editor = Editor()
    async with (
        running_gateway(tmp_path / "home", "--delay-ms", "60000") as live,
        opened(live.home, editor) as agent,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        session = await begun(agent)
        asked = asyncio.create_task(ask(agent, session, "a long story"))
        await until_running(live, http, 1)
        with pytest.raises(RequestError, match="still answering"):
            await ask(agent, session, "more")
        await agent.cancel(session_id=session)
        answer = await asked

    assert answer.stop_reason == "cancelled"


async def test_cancelling_a_question_denies_the_tool(tmp_path: Path) -> None:
    home, editor = tmp_path / "home", Editor("cancel")
    async with first_week(home), opened(home, editor) as agent:
        session = await begun(agent)
        answer = await ask(agent, session, PAY)

    assert answer.stop_reason == "end_turn"
    assert "paid bob" not in editor.text


async def test_a_line_that_is_no_message_is_refused_and_ends_nothing(tmp_path: Path) -> None:
    write_config(tmp_path / "home")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hermes", "acp"),
        env=environment(tmp_path / "home"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    bad = (b"5", b"null", b"[1]", b"{no", b"\xff", b"[" * 100_000, b'"' + b"x" * 17_000_000 + b'"')
    codes = []
    async with asyncio.timeout(WAIT_S):
        for line in bad:
            process.stdin.write(line + b"\n")
            await process.stdin.drain()
            codes.append(json.loads(await process.stdout.readline())["error"]["code"])
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        greeted = json.loads(await process.stdout.readline())
        process.stdin.close()
        status = await process.wait()

    assert codes == [-32600, -32600, -32600, -32700, -32700, -32700, -32600]
    assert greeted["result"]["agentInfo"]["name"] == "hermes"
    assert status == 0

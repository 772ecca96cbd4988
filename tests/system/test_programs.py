"""Agents that a program answers, in a running gateway: its models, its questions, swaps, and kill -9."""

import asyncio
import signal
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.system.a2a_client import raw
from tests.system.live import live_gateway, model_server, run_command, with_model
from tests.system.program_parts import SANDBOX, Desk, costs_of, sessions_in, write_home
from tests.unit.tools.terminal.rigs import until

pytestmark = pytest.mark.req("A25")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    home = write_home(tmp_path / "home")
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as session,
    ):
        yield Desk(live, session)


async def test_a_program_calls_its_model_through_the_gateway_on_the_persons_account(
    desk: Desk,
) -> None:
    assert await desk.make("one") == "ready"

    reply = await desk.say("model hello")
    by_agent = await costs_of(desk.live.home, "agent")
    by_person = await costs_of(desk.live.home, "person")

    assert (reply["outcome"], reply["model"]) == ("answered", "one:script-1")
    assert reply["reply"] == "said: #1 model hello"
    assert "w_" in by_agent
    assert "p_" in by_person
    assert "platform" not in by_person


async def test_its_key_is_for_models_only_and_ends_with_it(desk: Desk) -> None:
    await desk.make("one")

    agent = await desk.say("agent main")
    key = str((await desk.say("leak SCRIPTED_KEY"))["reply"]).removeprefix("said: ")
    headers, url = {"authorization": f"Bearer {key}"}, f"{desk.live.url}/v1/models"
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url) as answer:
        status = answer.status

    assert agent["reply"] == "said: 403"
    assert key.startswith("hermes-run-")
    assert status == 401


async def test_a_program_reaches_nothing_of_the_gateway_but_models(desk: Desk) -> None:
    await desk.make("one")

    told = [await desk.say(f"post {path}") for path in ("/mcp", "/api/messages", "/control")]

    # Without a sandbox it has the network of this machine, and its key opens nothing there.
    expected = "404 404 404" if SANDBOX == "bubblewrap" else "403 401 404"
    assert " ".join(one["reply"].removeprefix("said: ") for one in told) == expected


async def test_a_program_cannot_have_an_address_fetched(desk: Desk) -> None:
    await desk.make("one")

    reply = await desk.say("picture https://example.com/what-it-has-read.png")

    assert reply["reply"] == "said: 403"


async def test_what_a_program_is_given_to_know_is_not_repeated(tmp_path: Path) -> None:
    given = {"SERVICE_API_KEY": "tulips-of-the-operator", "PLACE": "a plain place"}
    home = write_home(tmp_path / "home", variables=given)
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as session,
    ):
        desk = Desk(live, session)
        await desk.make("one")
        key, place = [await desk.say(f"leak {name}") for name in given]

    assert (key["reply"], place["reply"]) == (
        "said: [secret SERVICE_API_KEY]",
        "said: a plain place",
    )


async def test_a_program_cannot_be_used_by_others(desk: Desk) -> None:
    await desk.make("one")

    reply = await desk.say("hello", sender="bob")

    assert (reply["outcome"], reply["reply"]) == (
        "failed",
        "This agent works only for people whom its operator has named.",
    )
    assert sessions_in(desk.live.home) == []


async def test_what_it_asks_waits_for_the_person(desk: Desk) -> None:
    await desk.make("one")

    asked = await desk.say("ask me")
    approved = await desk.say("/approve")
    reply = await desk.reply(asked["id"])

    assert "coder (one) wants to do this:\n```\ndo ask me\n```" in asked["reply"]
    assert approved["outcome"] == "answered"
    assert (reply["outcome"], reply["reply"]) == ("answered", "said: allowed")


async def test_a_swap_counts_for_the_next_turn_and_may_keep_the_folder(desk: Desk) -> None:
    await desk.make("one")
    home = desk.live.home
    await desk.say("first")

    asked = await desk.say("ask me")
    kept = await run_command(home, "agents", "swap", "coder", "two", "--preserve-cwd")
    await desk.say("/approve")
    ended = await desk.reply(asked["id"])
    second = await desk.say("second")
    fresh = await run_command(home, "agents", "swap", "coder", "one")
    third = await desk.say("third")

    assert kept.stdout == "coder is answered by two from its next turn on (version 2).\n"
    assert fresh.returncode == 0, fresh.stderr
    assert [one["model"] for one in (ended, second, third)] == [
        "one:script-1",
        "two:script-1",
        "one:script-1",
    ]
    first, then, last = sessions_in(home)
    assert (first, then[0].split("\n")[-1]) == (["first", "ask me"], "second")
    assert "assistant: said: first" in then[0]
    assert last[0].endswith("third")
    folders = {path.parent for path in home.glob("workdirs/p_*/*/files/sessions/*")}
    assert sorted(len(list(one.iterdir())) for one in folders) == [1, 2]


async def test_a_swap_to_a_program_that_does_not_start_changes_nothing(desk: Desk) -> None:
    await desk.make("one")

    status, refused = await desk.ask("POST", "/workspaces/coder/swap", runtime="broken")
    _, agent = await desk.ask("GET", "/workspaces/coder")
    reply = await desk.say("hello")

    assert (status, refused["error"]["code"]) == (409, "conflict")
    assert "'coder' stays with one, because broken cannot be called" in refused["error"]["message"]
    assert "ended with 7" in refused["error"]["message"]
    assert (agent["runtime"], agent["version"], reply["reply"]) == ("one", 1, "said: hello")


async def test_an_agent_whose_program_does_not_start_says_so(desk: Desk) -> None:
    assert await desk.make("broken") == "failed"

    _, agent = await desk.ask("GET", "/workspaces/coder")

    assert "ended with 7" in agent["reason"]


@pytest.mark.req("A25", "M10")
async def test_a_file_that_was_sent_along_is_in_its_folder(desk: Desk) -> None:
    await desk.make("one", roles=["free"])
    pdf = b64encode(b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n").decode()
    parts = [
        {"kind": "text", "text": "look"},
        {"kind": "file", "file": {"bytes": pdf, "name": "a.pdf", "mimeType": "application/pdf"}},
    ]
    message = {"role": "user", "kind": "message", "parts": parts}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}

    answer = await raw(desk.live, sent, agent="coder")

    assert answer["result"]["parts"][0]["text"] == "said: 48", answer


@pytest.mark.req("A25", "W42")
async def test_the_files_of_the_api_are_those_of_the_folder_it_works_in(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home", terminal={"files": True})
    async with live_gateway(home) as live, aiohttp.ClientSession() as session:
        desk = Desk(live, session)
        await desk.make("one")
        await desk.say("first")

        before = await desk.files()
        await run_command(home, "agents", "swap", "coder", "two")
        fresh = await desk.files()
        await desk.put("in.txt", b"from ann")
        await desk.say("second")
        after = await desk.files()
        await run_command(home, "agents", "swap", "coder", "hermes", "--preserve-cwd")
        kept = await desk.files()

    assert (len(before), fresh) == (1, [])
    assert (len(after), "in.txt" in after, before[0] in after) == (2, True, False)
    assert kept == after


@pytest.mark.req("J1", "A25")
@pytest.mark.parametrize("sandbox", sorted({SANDBOX, "unsafe"}))
async def test_after_kill_9_the_program_is_gone_and_the_turn_goes_on_in_its_session(
    tmp_path: Path, sandbox: str
) -> None:
    home = write_home(tmp_path / "home", sandbox=sandbox)
    async with aiohttp.ClientSession() as session:
        async with live_gateway(home) as live:
            desk = Desk(live, session)
            await desk.make("one")
            hanging = asyncio.create_task(desk.say("nest here"))
            await until(lambda: sessions_in(home) and len(_of(home)) > (sandbox == "unsafe"))
            await live.stop(signal.SIGKILL)
            hanging.cancel()

        async with live_gateway(home) as live:
            desk = Desk(live, session)
            await until(lambda: len(sessions_in(home)[0]) == 2)
            await desk.say("/stop")
            reply = await desk.say("and then?")
        await until(lambda: not _of(home))

    (asked,) = sessions_in(home)
    assert asked[0] == "nest here"
    assert asked[1].startswith("[A restart cut you off")
    assert asked[1].endswith("nest here")
    assert (asked[2], reply["reply"]) == ("and then?", "said: and then?")


@pytest.mark.req("J1", "J8", "A25")
@pytest.mark.parametrize("side", ["before", "after"])
async def test_an_operators_decision_is_kept_or_still_awaited_after_kill_9(
    tmp_path: Path, side: str
) -> None:
    home = write_home(tmp_path / "home")
    kill = {"HERMES_FAILPOINTS": f"store.answer_question.{side}:1"}
    async with aiohttp.ClientSession() as session:
        async with live_gateway(home, kill) as live:
            desk = Desk(live, session)
            await desk.make("one", approvals={"by": "admins"})
            asked = await desk.say("ask me")
            refused = await desk.say("/approve")
            (line,) = (await desk.ask("GET", "/control/approvals"))[1]["approvals"]
            cut_off = await run_command(home, "approvals", "approve", line["id"])
            await asyncio.wait_for(live.process.wait(), 60)

        async with live_gateway(home) as live:
            desk = Desk(live, session)
            open_now = (await desk.ask("GET", "/control/approvals"))[1]["approvals"]
            if side == "before":
                await run_command(home, "approvals", "approve", line["id"])
            reply = await desk.reply(asked["id"])

    assert refused["outcome"] == "refused"
    assert (line["tool"], cut_off.returncode) == ("one", 1)
    assert "do ask me" in line["question"]
    assert [one["id"] for one in open_now] == ([line["id"]] if side == "before" else [])
    assert (reply["outcome"], reply["reply"]) == ("answered", "said: allowed")


@pytest.mark.req("J8", "A25")
async def test_a_gateway_that_is_stopped_leaves_the_question_open(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home")
    async with aiohttp.ClientSession() as session:
        async with live_gateway(home) as live:
            desk = Desk(live, session)
            await desk.make("one")
            asked = await desk.say("ask me")
            await live.stop(signal.SIGTERM)

        async with live_gateway(home) as live:
            desk = Desk(live, session)
            (line,) = (await desk.ask("GET", "/control/approvals"))[1]["approvals"]
            await run_command(home, "approvals", "approve", line["id"])
            reply = await desk.reply(asked["id"])

    assert "do ask me" in line["question"]
    assert (reply["outcome"], reply["reply"]) == ("answered", "said: allowed")


@pytest.mark.req("J1", "J7", "A25")
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("step", ["begin_audit", "change_agent", "end_audit"])
async def test_a_kill_at_any_step_of_a_swap_leaves_the_old_agent_or_the_new_one(
    tmp_path: Path, step: str, side: str
) -> None:
    home = write_home(tmp_path / "home")
    kill = {"HERMES_FAILPOINTS": f"store.{step}.{side}:1"}
    async with aiohttp.ClientSession() as session:
        async with live_gateway(home) as live:
            await Desk(live, session).make("one")

        async with live_gateway(home, kill) as live:
            desk = Desk(live, session)
            await desk.say("first")
            running = await desk.say("hang on", wait=False)
            await until(lambda: len(sessions_in(home)[0]) == 2)
            with pytest.raises(aiohttp.ClientError):
                await desk.ask("POST", "/workspaces/coder/swap", runtime="two")
            await asyncio.wait_for(live.process.wait(), 60)

        async with live_gateway(home) as live:
            desk = Desk(live, session)
            ended = await desk.reply(running["id"])
            _, agent = await desk.ask("GET", "/workspaces/coder")
            then = await desk.say("then")
            status, swapped = await desk.ask("POST", "/workspaces/coder/swap", runtime="two")
            last = await desk.say("last")

    is_done = step == "end_audit" or (step, side) == ("change_agent", "after")
    now = ("two", 2) if is_done else ("one", 1)
    # The turn that ran goes on where it was, in its session; the next one is the new agent's.
    assert (ended["model"], ended["outcome"]) == ("one:script-1", "answered")
    assert [len(one) for one in sessions_in(home)] == ([3, 2] if is_done else [4, 1])
    assert (agent["runtime"], agent["version"]) == now
    assert (then["model"], last["model"]) == (f"{now[0]}:script-1", "two:script-1")
    assert (status, swapped["runtime"], swapped["version"]) == (200, "two", 2)


def _of(home: Path) -> list[int]:
    """Return the programs of a home, and what they have started without a sandbox."""
    found, program = [], str(home.parent / "tools" / "program.py")
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            folder, line = (entry / "cwd").readlink(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if program.encode() in line or folder.is_relative_to(home / "workdirs"):
            found.append(int(entry.name))
    return found

"""Servers come, change, die and return; their tools are one live mapping."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.errors import ToolError, TryLater
from hermes.testing.manual_time import ManualTime, settle
from hermes.tools import tool
from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.connection import Arguments, CallRefused, LinkLost, McpResult, NotTaken
from hermes.tools.mcp.report import Diff, diff_text
from hermes.tools.mcp.servers import McpServers
from hermes.tools.mcp.tool import usable_on
from tests.unit.tools.mcp.twin_link import (
    TwinServer,
    a_client,
    context_of,
    settings_of,
    soon,
)


@pytest.fixture
def time() -> ManualTime:
    return ManualTime()


@pytest.fixture
def twin() -> TwinServer:
    return TwinServer("echo", "other")


@pytest.fixture
async def client(twin: TwinServer, time: ManualTime) -> AsyncIterator[McpServers]:
    client = a_client({"s": twin}, time)
    await client.start()
    yield client
    await client.stop()


async def run(client: McpServers, name: str, person: str = "p_ann") -> str:
    return await client.tools()[name].run(msgspec.Raw(b'{"a":1}'), context_of(person))


async def failure(client: McpServers, name: str) -> str:
    with pytest.raises(ToolError) as caught:
        await run(client, name)
    return str(caught.value)


def state(client: McpServers) -> str:
    return client.status().servers[0].state


@pytest.mark.req("W37")
async def test_tools_are_there_after_the_start_and_gone_after_the_stop(client, twin):
    assert sorted(client.tools()) == ["mcp_s_echo", "mcp_s_other"]
    assert await run(client, "mcp_s_echo") == "p_ann: {'a': 1}"
    assert client.tools()["mcp_s_echo"].traits.cancellable

    await client.stop()

    assert len(client.tools()) == 0
    assert twin.open == 0


@pytest.mark.req("W37", "W3")
async def test_a_reload_after_the_stop_starts_nothing(client, twin):
    await client.stop()

    with pytest.raises(TryLater, match="stopping"):
        await client.reload(settings_of(["s"]))

    assert twin.open == 0


@pytest.mark.req("W37")
async def test_a_list_that_changes_is_followed_and_told(client, twin):
    told: list[Diff] = []
    client.on_change(told.append)

    twin.changes("echo", "third")
    await soon(lambda: bool(told))

    assert sorted(client.tools()) == ["mcp_s_echo", "mcp_s_third"]
    assert told == [Diff(tools_added=("mcp_s_third",), tools_removed=("mcp_s_other",))]


@pytest.mark.req("W37")
async def test_a_server_that_always_says_changed_is_asked_once_a_second(client, twin, time):
    twin.listed = 0
    for _ in range(20):
        twin.changes("echo")
        await settle()
    assert twin.listed == 1

    for _ in range(3):
        twin.changes("echo")
        await time.pass_by(1.0)

    assert twin.listed == 4


@pytest.mark.req("W37")
async def test_a_server_that_dies_is_connected_to_again_and_keeps_its_tools(client, twin, time):
    kept = client.tools()["mcp_s_echo"]

    twin.dies()
    await soon(lambda: state(client) == "waiting")

    assert client.tools()["mcp_s_echo"] is kept
    assert client.status().servers[0].problem == "the program ended with code 1"
    await time.pass_by(1.0)
    assert state(client) == "connected"
    assert await run(client, "mcp_s_echo") == "p_ann: {'a': 1}"


@pytest.mark.req("W37")
async def test_tries_come_less_and_less_often_and_a_good_connection_starts_afresh(
    client, twin, time
):
    twin.refuses = ["no"] * 9
    tries = []
    twin.dies()
    for _ in range(200):
        await time.pass_by(1.0)
        tries.append(len(twin.plans))

    # 1, 2, 4, 8, 16, 32 and then 60 s apart
    gaps = [tries.count(number) for number in sorted(set(tries))]
    assert gaps[:6] == [2, 4, 8, 16, 32, 60]
    # given a connection that lasted, the next one is made at once
    twin.refuses = []
    await time.pass_by(60.0)
    await time.pass_by(10.0)
    before = len(twin.plans)
    twin.dies()
    await settle()
    assert (len(twin.plans), state(client)) == (before + 1, "connected")


@pytest.mark.req("W37")
async def test_a_server_that_the_question_for_the_new_era_kills_is_not_asked_it_again(twin, time):
    twin.refuses = ["the program ended"]
    client = a_client({"s": twin}, time)
    await client.start()
    await time.pass_by(2.0)

    assert [plan.probes for plan in twin.plans] == [True, False]
    await client.stop()


@pytest.mark.req("W37")
async def test_a_call_that_was_cut_off_says_so_and_is_not_repeated(client, twin):
    calls: list[Arguments] = []

    async def dies(arguments: Arguments, _call: RunningCall) -> McpResult:
        calls.append(arguments)
        raise LinkLost("gone")

    twin.does["echo"] = dies

    assert "may or may not have taken effect" in await failure(client, "mcp_s_echo")
    assert len(calls) == 1


@pytest.mark.req("W37")
async def test_a_call_that_did_not_arrive_is_made_again_on_the_next_connection(client, twin, time):
    async def refused_once(arguments: Arguments, call: RunningCall) -> McpResult:
        if len(twin.plans) == 1:
            raise NotTaken("the session is unknown")
        assert not call.not_taken
        return McpResult("second time lucky")

    twin.does["echo"] = refused_once

    running = asyncio.create_task(run(client, "mcp_s_echo"))
    await soon(lambda: state(client) == "waiting")
    await time.pass_by(1.0)

    assert await running == "second time lucky"


@pytest.mark.req("W37")
async def test_a_call_while_it_is_away_hurries_the_next_try_and_else_says_why(client, twin, time):
    # given a server that has failed often, so that the next try is far away
    twin.refuses = ["no"] * 5
    twin.dies()
    await time.pass_by(20.0)
    twin.refuses = []
    assert state(client) == "waiting"

    running = asyncio.create_task(run(client, "mcp_s_echo"))
    await settle()

    assert await running == "p_ann: {'a': 1}"


@pytest.mark.req("W37")
async def test_a_call_that_already_waits_when_a_try_fails_hurries_the_next_one_too(
    client, twin, time
):
    twin.refuses = ["no"] * 5
    twin.dies()
    await time.pass_by(20.0)
    assert len(twin.plans) == 5

    # given two more tries that fail, the next of which would be half a minute away
    twin.refuses = ["no"]
    running = asyncio.create_task(run(client, "mcp_s_echo"))
    await settle()
    assert len(twin.plans) == 6
    await time.pass_by(1.0)

    assert await running == "p_ann: {'a': 1}"


@pytest.mark.req("W37")
async def test_a_call_of_a_server_that_does_not_return_ends_with_its_reason(twin, time):
    client = a_client({"s": twin}, time, each={"timeout_s": 0.05})
    await client.start()
    twin.refuses = ["no route"] * 99
    twin.dies()
    await soon(lambda: state(client) == "waiting")

    told = await failure(client, "mcp_s_echo")

    assert told.startswith("the tool server s ")
    assert client.status().servers[0].calls_failed == 1
    await client.stop()


@pytest.mark.req("W37")
async def test_an_error_of_the_server_and_a_failed_tool_are_told_to_the_model(client, twin):
    async def refuses(_arguments: Arguments, _call: RunningCall) -> McpResult:
        raise CallRefused("unknown tool (code -32602)")

    async def fails(_arguments: Arguments, _call: RunningCall) -> McpResult:
        return McpResult("no such file", failed=True)

    twin.does = {"echo": refuses, "other": fails}

    assert await failure(client, "mcp_s_echo") == (
        "the tool server s answered: unknown tool (code -32602)"
    )
    assert await failure(client, "mcp_s_other") == "no such file"
    assert state(client) == "connected"


@pytest.mark.req("W37")
async def test_a_link_that_is_taking_leave_is_not_borrowed(client, twin, time):
    # given a server that no longer answers, and whose end takes a while
    leaving = asyncio.Event()
    twin.leaving = leaving.wait

    async def gone() -> None:
        raise LinkLost("it did not list its tools")

    twin.listing = gone
    twin.changes("echo")
    await soon(lambda: state(client) == "waiting")
    twin.listing = None

    running = asyncio.create_task(run(client, "mcp_s_echo"))
    await settle()
    assert not running.done()
    leaving.set()
    await time.pass_by(1.0)

    assert await running == "p_ann: {'a': 1}"
    assert len(twin.plans) == 2


async def forever(*_given: object) -> McpResult:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.req("W37")
async def test_a_call_that_hangs_ends_in_time_and_the_server_is_looked_at(twin, time):
    client = a_client({"s": twin}, time, each={"timeout_s": 0.01})
    await client.start()
    twin.does["echo"] = forever
    twin.listed = 0

    assert "gave no result within 0.01 s" in await failure(client, "mcp_s_echo")
    await soon(lambda: twin.listed == 1)

    assert state(client) == "connected"
    await client.stop()


@pytest.mark.req("W37")
async def test_a_doubtful_error_has_the_server_looked_at_and_a_dead_one_given_up(client, twin):
    async def doubtful(_arguments: Arguments, _call: RunningCall) -> McpResult:
        raise CallRefused("stream ended", doubtful=True)

    async def gone() -> None:
        raise LinkLost("no connection")

    twin.does["echo"] = doubtful
    twin.listing = gone

    await failure(client, "mcp_s_echo")
    await soon(lambda: state(client) == "waiting")

    assert client.status().servers[0].problem == "no connection"


@pytest.mark.req("W37")
async def test_one_call_at_a_time_unless_parallel_is_chosen(time):
    running: list[int] = []
    most: list[int] = []

    async def counts(_arguments: Arguments, _call: RunningCall) -> McpResult:
        running.append(1)
        most.append(len(running))
        await settle()
        running.pop()
        return McpResult("done")

    for parallel, expected in ((False, 1), (True, 3)):
        twin = TwinServer("echo")
        twin.does["echo"] = counts
        client = a_client({"s": twin}, time, each={"parallel": parallel})
        await client.start()
        most.clear()
        await asyncio.gather(*(run(client, "mcp_s_echo") for _ in range(3)))
        assert max(most) == expected
        assert client.tools()["mcp_s_echo"].traits.parallel is parallel
        await client.stop()


@pytest.mark.req("W37")
async def test_naming_servers_on_a_platform_allows_these_alone_and_no_mcp_allows_none(time):
    twins = {"a": TwinServer("t"), "b": TwinServer("t")}
    client = a_client(twins, time, platforms={"telegram": ["a"], "irc": ["no_mcp"]})
    await client.start()

    def usable(platform: str) -> list[str]:
        return [tool.spec.name for tool in usable_on(platform, client.tools().values())]

    assert usable("web") == ["mcp_a_t", "mcp_b_t"]
    assert usable("telegram") == ["mcp_a_t"]
    assert usable("irc") == []
    # a reload changes it, too
    await client.reload(settings_of(["a", "b"], platforms={"irc": ["b"]}))
    assert (usable("telegram"), usable("irc")) == (["mcp_a_t", "mcp_b_t"], ["mcp_b_t"])
    await client.stop()


@pytest.mark.req("W37")
def test_a_tool_that_is_not_of_mcp_is_for_every_platform():
    @tool
    def own() -> str:
        """Do something."""
        return ""

    assert usable_on("irc", [own]) == (own,)


@pytest.mark.req("W37")
async def test_a_reload_touches_only_what_changed_and_tells_the_difference(time):
    twins = {name: TwinServer(name) for name in ("kept", "old", "edited", "new", "broken")}
    client = a_client(twins, time, names=("kept", "old", "edited"))
    await client.start()
    twins["edited"].tools = TwinServer("rewritten").tools
    twins["broken"].refuses = ["no such program"]
    wanted = settings_of(["kept", "new", "edited", "broken"])
    servers = dict(wanted.servers)
    servers["edited"] = servers["edited"].model_copy(update={"timeout_s": 5.0})
    servers["off"] = servers["new"].model_copy(update={"enabled": False})

    diff = await client.reload(wanted.model_copy(update={"servers": servers}))

    assert diff == Diff(
        servers_added=("new", "broken"),
        servers_removed=("old",),
        servers_changed=("edited",),
        tools_added=("mcp_edited_rewritten", "mcp_new_new"),
        tools_removed=("mcp_edited_edited", "mcp_old_old"),
        problems=("broken: no such program",),
    )
    assert [len(twin.plans) for twin in twins.values()] == [1, 1, 2, 1, 1]
    assert (twins["old"].open, twins["kept"].open) == (0, 1)
    await client.stop()


@pytest.mark.req("W37")
async def test_a_reload_of_the_same_changes_nothing_and_says_so(client, twin):
    diff = await client.reload(settings_of(["s"]))

    assert diff.is_empty
    assert diff_text(diff) == "The MCP servers were reloaded; nothing changed."
    assert len(twin.plans) == 1


@pytest.mark.req("W37")
async def test_a_new_server_whose_name_begins_alike_renames_what_could_be_mistaken(time):
    twins = {"a": TwinServer("b_c"), "a_b": TwinServer("c")}
    client = a_client(twins, time, names=("a",))
    await client.start()
    assert list(client.tools()) == ["mcp_a_b_c"]

    await client.reload(settings_of(["a", "a_b"]))
    await soon(lambda: len(client.tools()) == 2)
    await settle()

    assert await run(client, "mcp_a_b_c") == "p_ann: {'a': 1}"
    [hers] = client.status().servers[1].tools
    assert (hers.name, hers.original) == ("mcp_a_b_c", "c")
    await client.stop()


@pytest.mark.req("W37")
async def test_one_server_that_hangs_at_the_start_holds_up_no_other(time):
    twins = {"slow": TwinServer("t"), "quick": TwinServer("t")}

    async def never() -> None:
        await asyncio.Event().wait()

    twins["slow"].listing = never
    client = a_client(twins, time, start_wait_s=0.5)

    await client.start()

    assert list(client.tools()) == ["mcp_quick_t"]
    assert [server.state for server in client.status().servers] == ["connecting", "connected"]
    await client.stop()
    assert twins["slow"].open == 0


@pytest.mark.req("W37")
def test_a_diff_is_told_in_words_and_bounded():
    diff = Diff(servers_added=("a",), tools_added=tuple(f"t{n}" for n in range(40)))

    first, second, third = diff_text(diff).splitlines()

    assert (first, second) == ("The MCP servers were reloaded.", "New servers: a.")
    assert third.endswith("t29 and 10 more.")

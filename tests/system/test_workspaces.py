"""Agents that are made while the gateway runs: the story of `/workspaces` over HTTP and by commands."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, run_command, with_model

HELPER = {
    "name": "helper",
    "role": "a helper for the shop",
    "runtime": "hermes",
    "model": "openai:test-model",
    "system_blocks": ["You help the shop.", "", "Be brief."],
}


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as running:
        yield running


class Api:
    """Calls one gateway as its owner, or with a token of somebody else."""

    def __init__(self, live: Live, session: aiohttp.ClientSession, token: str = "") -> None:
        self._live = live
        self._session = session
        self._bearer = {"authorization": f"Bearer {token}"} if token else live.bearer

    # Any: JSON.
    async def ask(self, method: str, path: str, **body: Any) -> tuple[int, Any]:
        async with self._session.request(
            method, f"{self._live.url}{path}", json=body or None, headers=self._bearer
        ) as answer:
            return answer.status, await answer.json()

    async def settled(self, agent: str) -> Any:
        """Return a workspace once its model was checked."""
        while True:
            _, found = await self.ask("GET", f"/workspaces/{agent}")
            if found["status"] != "provisioning":
                return found

    async def say(self, agent: str, text: str, **more: str) -> Any:
        return await self.ask("POST", "/api/messages", agent=agent, text=text, **more)

    async def other(self) -> "Api":
        """Return the same gateway with another token."""
        _, made = await self.ask("POST", "/control/tokens", role="operator", name="other")
        return Api(self._live, self._session, made["secret"])


@pytest.fixture
async def api(live: Live) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession() as session:
        yield Api(live, session)


@pytest.mark.req("M8")
async def test_a_workspace_is_made_prepared_and_answers(api: Api) -> None:
    status, made = await api.ask("POST", "/workspaces", **HELPER)
    assert (status, made["status"], made["name"]) == (200, "provisioning", "helper")

    found = await api.settled(made["id"])
    by_id = await api.say(made["id"], "one")
    by_name = await api.say("helper", "two")

    assert found["status"] == "ready"
    assert [(status, one["outcome"]) for status, one in (by_id, by_name)] == [
        (200, "answered"),
        (200, "answered"),
    ]


async def made(api: Api, **fields: Any) -> Any:
    """Create a workspace and return it once its model was checked."""
    status, found = await api.ask("POST", "/workspaces", **{**HELPER, **fields})
    assert status == 200, found
    return await api.settled(found["id"])


@pytest.mark.req("M8")
async def test_history_belongs_to_a_context_of_a_caller(api: Api) -> None:
    agent, other = (await made(api))["id"], await api.other()
    await api.say(agent, "first")

    own = await api.say("helper", "second")
    apart = await api.say(agent, "third", context_id="c1")
    theirs = await other.say(agent, "fourth")
    theirs_apart = await other.say(agent, "fifth", context_id="c1")

    # The model counts what people have said in the conversation that it sees.
    assert [one["reply"] for _, one in (own, apart, theirs, theirs_apart)] == [
        "#2 second",
        "#1 third",
        "#1 fourth",
        "#1 fifth",
    ]


@pytest.mark.req("M8")
async def test_callers_of_a_shared_workspace_share_its_history(api: Api) -> None:
    agent, other = (await made(api, shared=True))["id"], await api.other()

    await api.say(agent, "first")
    second = await other.say(agent, "second")
    apart = await other.say(agent, "third", context_id="c1")

    assert [one["reply"][:3] for _, one in (second, apart)] == ["#2 ", "#1 "]


@pytest.mark.req("M8")
async def test_a_model_that_cannot_be_called_is_told_with_the_reason(api: Api) -> None:
    found = await made(api, model="anthropic:claude-sonnet-4-5")
    refused = await api.say("helper", "hello")

    assert found["status"] == "failed"
    assert "anthropic" in found["reason"]
    assert (refused[0], refused[1]["error"]["code"]) == (409, "agent_unavailable")
    assert "anthropic" in refused[1]["error"]["message"]


@pytest.mark.req("M8")
async def test_agents_of_the_file_are_listed_and_read_only(api: Api) -> None:
    listed = (await api.ask("GET", "/workspaces"))[1]["workspaces"]
    changed = await api.ask("PATCH", "/workspaces/main", role="another")
    taken = await api.ask("POST", "/workspaces", **{**HELPER, "name": "main"})

    assert [(one["id"], one["source"]) for one in listed] == [("main", "file")]
    assert changed[0] == 409
    assert "config.yaml" in changed[1]["error"]["message"]
    assert taken[0] == 409


@pytest.mark.req("M8")
async def test_changes_are_versions_that_can_be_compared_and_taken_back(api: Api) -> None:
    agent = (await made(api))["id"]
    await api.ask("PATCH", f"/workspaces/{agent}", temperature=0.2, note="calmer")
    await api.ask("PATCH", f"/workspaces/{agent}", temperature=None, role="a clerk")

    diff = (await api.ask("GET", f"/workspaces/{agent}/diff?old=2&new=3"))[1]
    reverted = (await api.ask("POST", f"/workspaces/{agent}/revert", version=2))[1]
    versions = (await api.ask("GET", f"/workspaces/{agent}/versions"))[1]["versions"]

    assert diff["fields"] == [
        {"field": "role", "old": "a helper for the shop", "new": "a clerk"},
        {"field": "temperature", "old": 0.2, "new": None},
    ]
    assert (reverted["version"], reverted["settings"]["temperature"]) == (4, 0.2)
    assert [(one["version"], one["changed"], one["note"]) for one in versions[:3]] == [
        (4, ["role", "temperature"], "version 2 again"),
        (3, ["role", "temperature"], ""),
        (2, ["temperature"], "calmer"),
    ]


@pytest.mark.req("M8")
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"runtime": "langgraph"}, "use hermes"),
        ({"name": "Bad Name"}, "small letters"),
        ({"model": "gpt-4"}, "provider:model"),
        ({"temperature": 9}, "at most 2"),
        ({"approvals": {"by": "nobody"}}, "admins"),
        ({"response_schema": {"type": "strin"}}, "the schema is not valid at $.type"),
        ({"system_blocks": ["x" * 170_000] * 6}, "1,000,000 are the most"),
        ({"modle": "openai:x"}, "no field 'modle'"),
    ],
)
async def test_a_field_that_is_wrong_is_named_with_what_it_takes(
    api: Api, fields: dict[str, Any], told: str
) -> None:
    status, body = await api.ask("POST", "/workspaces", **{**HELPER, **fields})

    assert (status, body["error"]["code"]) == (400, "bad_request")
    assert told in body["error"]["message"]


@pytest.mark.req("M8")
async def test_what_changes_nothing_is_no_version(api: Api) -> None:
    agent = (await made(api))["id"]

    _, same = await api.ask("PATCH", f"/workspaces/{agent}", role=HELPER["role"], tone=None)
    _, none = await api.ask("GET", f"/workspaces/{agent}/versions?before=1")

    assert (same["version"], none["versions"]) == (1, [])


@pytest.mark.req("M8")
async def test_a_stopped_workspace_answers_after_it_was_started(api: Api) -> None:
    agent = (await made(api))["id"]

    stopped = await api.ask("POST", "/workspaces/helper/stop")
    refused = await api.say(agent, "hello")
    await api.ask("POST", "/workspaces/helper/start")
    await api.settled(agent)
    answered = await api.say(agent, "hello")

    assert stopped[1]["status"] == "stopped"
    assert (refused[0], "start" in refused[1]["error"]["message"]) == (409, True)
    assert (answered[0], answered[1]["outcome"]) == (200, "answered")


@pytest.mark.req("M8")
async def test_a_deleted_workspace_is_gone_and_its_name_free_when_its_time_has_come(
    api: Api,
) -> None:
    agent = (await made(api))["id"]

    deleted = await api.ask("DELETE", f"/workspaces/{agent}?grace_s=600")
    refused = await api.say(agent, "hello")
    taken = await api.ask("POST", "/workspaces", **HELPER)
    await api.ask("DELETE", f"/workspaces/{agent}?grace_s=0")
    while (gone := await api.ask("GET", f"/workspaces/{agent}"))[0] == 200:
        pass
    again = await api.ask("POST", "/workspaces", **HELPER)

    assert deleted[1]["status"] == "deleting"
    assert (refused[0], taken[0], gone[0]) == (409, 409, 404)
    assert again[1]["status"] == "provisioning"
    assert (await api.say(agent, "hello"))[0] == 404


@pytest.mark.req("M8", "P1")
async def test_a_workspace_is_a_model_of_v1(api: Api) -> None:
    await made(api)

    _, listed = await api.ask("GET", "/v1/models")
    status, answer = await api.ask(
        "POST",
        "/v1/chat/completions",
        model="agent:helper",
        messages=[{"role": "user", "content": "hello"}],
    )

    assert "agent:helper" in {one["id"] for one in listed["data"]}
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "#1 hello")


@pytest.mark.req("M6", "M8")
async def test_answers_of_a_workspace_with_a_schema_fit_it_or_fail(api: Api) -> None:
    schema = {"type": "object", "properties": {"pick": {"type": "string"}}, "required": ["pick"]}
    agent = (await made(api, response_schema=schema))["id"]

    _, failed = await api.say(agent, "no JSON")

    assert failed["outcome"] == "failed"
    assert "schema" in failed["reason"]


@pytest.mark.req("M8", "W7")
async def test_agents_are_made_and_changed_by_commands(live: Live) -> None:
    async def hermes(*words: str) -> str:
        done = await run_command(live.home, "agents", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    created = await hermes("create", "helper", "--model", "openai:test", "--set", "tools=memory")
    failed = await hermes("create", "other", "--model", "nowhere:model")
    edited = await hermes("edit", "helper", "--unset", "tools", "--set", "shared=true", "--json")
    renamed = await hermes("edit", "helper", "--rename", "clerk")
    shown = await hermes("show", "clerk")
    listed = await hermes("list", "--state", "failed")
    diff = await hermes("diff", "clerk", "--old", "1")
    reverted = await hermes("revert", "clerk", "1", "--json")
    stopped = await hermes("stop", "clerk")
    started = await hermes("start", "clerk")
    deleted = await hermes("delete", "clerk", "--yes", "--grace", "60")

    assert "ready" in created
    assert "nowhere" in failed
    assert json.loads(edited)["settings"] == {
        "model": "openai:test",
        "name": "helper",
        "shared": True,
    }
    assert renamed == "clerk is at version 3 now.\n"
    assert "openai:test" in shown
    assert ("other" in listed, "clerk" in listed) == (True, False)
    assert diff.splitlines() == [
        "name", "  - helper", "  + clerk", "shared", "  + true", "tools", '  - ["memory"]',
    ]  # fmt: skip
    assert json.loads(reverted)["settings"] == {
        "model": "openai:test",
        "name": "clerk",
        "tools": ["memory"],
    }
    assert (stopped, started) == ("clerk: stopped.\n", "clerk: ready.\n")
    assert "hermes agents start clerk" in deleted


@pytest.mark.req("M8")
async def test_an_agent_made_without_a_gateway_is_checked_at_its_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        created = await run_command(
            home, "agents", "create", "helper", "--model", "openai:test", more=with_model(url)
        )
        async with (
            live_gateway(home, with_model(url)) as live,
            aiohttp.ClientSession() as session,
        ):
            found = await Api(live, session).settled("helper")

    assert created.returncode == 0, created.stderr
    assert found["status"] == "ready"

"""A2A: the SDK's own clients of both versions against a live gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from tests.system.a2a_client import VERSIONS, a2a_client, ask, raw, reply, said
from tests.system.live import Live, live_gateway, model_server, with_model

NOW = pb.SendMessageConfiguration(return_immediately=True)
COMPLETED = pb.TaskState.TASK_STATE_COMPLETED
both = pytest.mark.parametrize("version", VERSIONS)
TOOL = """
from hermes.tools import tool


@tool(needs_approval=True)
def pay(amount: int) -> str:
    \"\"\"Pay something.\"\"\"
    return f"paid {amount}"
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "60606000000005000167bf0ac50000000049454e44ae426082"
)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "shop.py").write_text(TOOL)
    (home / "shop.py").chmod(0o600)
    (home / "config.yaml").write_text("tools:\n  modules: [shop.py]\n")
    async with model_server() as url, live_gateway(home, with_model(url)) as running:
        yield running


# Any: JSON.
async def control(live: Live, method: str, path: str, **body: Any) -> Any:
    async with (
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        http.request(method, path, json=body or None) as answer,
    ):
        return await answer.json()


async def key(live: Live, **more: Any) -> str:
    made = await control(live, "POST", "/control/keys", **{"user": "ann", **more})
    return str(made["secret"])


@pytest.mark.req("M10")
async def test_the_example_of_seed_004(live: Live) -> None:
    text = {"kind": "text", "text": "Hello"}
    answer = await raw(
        live,
        {
            "jsonrpc": "2.0",
            "id": "probe-1",
            "method": "message/send",
            "params": {"message": {"role": "user", "parts": [text]}},
        },
    )

    assert answer["result"]["parts"][0]["text"] == "#1 Hello"


@both
@pytest.mark.req("M10")
async def test_a_message_is_answered_and_is_a_task(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        answer = await reply(client, "Hello")
        task = await client.get_task(pb.GetTaskRequest(id=answer.task_id))
        why = await control(live, "GET", f"/control/why/{answer.task_id}")

    assert [part.text for part in answer.parts] == ["#1 Hello"]
    assert task.status.state == COMPLETED
    assert [part.text for one in task.artifacts for part in one.parts] == ["#1 Hello"]
    assert [part.text for part in task.history[0].parts] == ["Hello"]
    assert (task.history[0].message_id, task.context_id) == ("x-Hello", answer.context_id)
    assert why["platform"] == "a2a"


@both
@pytest.mark.req("M10")
async def test_a_caller_who_does_not_wait_gets_a_task(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        (begun,) = await said(client, ask("[[slow:0.5]] Hello", configuration=NOW))
        found = await until_ended(client, begun.task.id)

    assert begun.task.status.state in (
        pb.TaskState.TASK_STATE_SUBMITTED,
        pb.TaskState.TASK_STATE_WORKING,
    )
    assert found.status.state == COMPLETED


async def prepared(live: Live, agent: str) -> None:
    """Wait until the model of a workspace was checked."""
    async with asyncio.timeout(30):
        while True:
            found = await control(live, "GET", f"/workspaces/{agent}")
            if found["status"] != "provisioning":
                return
            await asyncio.sleep(0.05)


# Any: JSON.
async def ended_story(live: Live, task_id: str) -> Any:
    """Return what `hermes why` says of a task once it has ended."""
    async with asyncio.timeout(30):
        while True:
            why = await control(live, "GET", f"/control/why/{task_id}")
            if "outcome" in why:
                return why
            await asyncio.sleep(0.05)


async def until_ended(client: Any, task_id: str) -> pb.Task:
    """Return a task once it has ended."""
    async with asyncio.timeout(30):
        while True:
            task = await client.get_task(pb.GetTaskRequest(id=task_id))
            if task.status.state not in (
                pb.TaskState.TASK_STATE_SUBMITTED,
                pb.TaskState.TASK_STATE_WORKING,
            ):
                return task
            await asyncio.sleep(0.05)


@both
@pytest.mark.req("M10")
async def test_an_answer_is_streamed(live: Live, version: str) -> None:
    async with a2a_client(live, version, streaming=True) as client:
        events = await said(client, ask("[[deltas:5]][[gap:0.02]] Hello"))

    first, *rest = events
    texts = [one.artifact_update for one in rest if one.HasField("artifact_update")]
    assert first.HasField("task")
    assert (
        "".join(one.artifact.parts[0].text for one in texts) == "#1 [[deltas:5]][[gap:0.02]] Hello"
    )
    assert [one.append for one in texts] == [False, *[True] * (len(texts) - 1)]
    assert texts[-1].last_chunk
    assert len(texts) > 3
    assert events[-1].status_update.status.state == COMPLETED


@both
@pytest.mark.req("M10")
async def test_a_task_is_followed_again(live: Live, version: str) -> None:
    async with a2a_client(live, version, streaming=True) as client:
        stream = client.send_message(ask("[[slow:0.5]][[deltas:3]] Hello"))
        begun = await anext(stream)
        # It is an async generator; its interface does not declare that.
        await stream.aclose()  # type: ignore[attr-defined]
        events = [
            one async for one in client.subscribe(pb.SubscribeToTaskRequest(id=begun.task.id))
        ]

    assert events[0].task.id == begun.task.id
    assert events[-1].status_update.status.state == COMPLETED


@both
@pytest.mark.req("M10")
async def test_a_running_task_is_cancelled(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        (begun,) = await said(client, ask("[[slow:30]] Hello", configuration=NOW))
        (waits,) = await said(client, ask("behind", configuration=NOW))
        not_begun = await client.cancel_task(pb.CancelTaskRequest(id=waits.task.id))
        stopped = await client.cancel_task(pb.CancelTaskRequest(id=begun.task.id))
        ended = await until_ended(client, waits.task.id)
        why = await ended_story(live, begun.task.id)
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=begun.task.id))

    canceled = pb.TaskState.TASK_STATE_CANCELED
    assert [one.status.state for one in (not_begun, stopped, ended)] == [canceled] * 3
    assert why["outcome"] == "interrupted"


@both
@pytest.mark.req("M10")
async def test_contexts_are_conversations(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        first = await reply(client, "one")
        second = await reply(client, "two")
        apart = await reply(client, "three", context_id="c1")
        again = await reply(client, "four", context_id=first.context_id)

    texts = [one.parts[0].text for one in (first, second, apart, again)]
    assert texts == ["#1 one", "#2 two", "#1 three", "#3 four"]
    assert (apart.context_id, again.context_id) == ("c1", first.context_id)


@both
@pytest.mark.req("M10")
async def test_a_message_that_is_sent_again_is_the_same_task(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        first = await reply(client, "one", message_id="m1")
        again = await reply(client, "one", message_id="m1")
        with pytest.raises(InvalidParamsError, match="already used"):
            await reply(client, "other", message_id="m1")

    assert (again.task_id, again.parts[0].text) == (first.task_id, "#1 one")


@both
@pytest.mark.req("M10")
async def test_a_question_is_answered_in_its_task(live: Live, version: str) -> None:
    async with a2a_client(live, version) as client:
        (asks,) = await said(client, ask('[[tool:pay {"amount":7}]] please'))
        task = asks.task
        with pytest.raises(InvalidParamsError, match="yes or no"):
            await reply(client, "perhaps", task_id=task.id, context_id=task.context_id)
        answer = await reply(client, "yes", task_id=task.id)
        with pytest.raises(UnsupportedOperationError):
            await reply(client, "yes again", task_id=task.id)

    assert task.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
    assert "May I run pay" in task.status.message.parts[0].text
    assert answer.task_id == task.id
    assert "paid 7" in answer.parts[0].text


@both
@pytest.mark.req("M10")
async def test_a_key_sees_its_own_tasks_alone(live: Live, version: str) -> None:
    mine, other = await key(live), await key(live)
    async with (
        a2a_client(live, version, token=mine) as client,
        a2a_client(live, version, token=other) as stranger,
    ):
        answer = await reply(client, "one", context_id="c1")
        apart = await reply(stranger, "two", context_id="c1")
        for request in (
            stranger.get_task(pb.GetTaskRequest(id=answer.task_id)),
            stranger.cancel_task(pb.CancelTaskRequest(id=answer.task_id)),
            reply(stranger, "three", task_id=answer.task_id),
        ):
            with pytest.raises(TaskNotFoundError):
                await request

    # Two keys of one person: their conversations are apart.
    assert [one.parts[0].text for one in (answer, apart)] == ["#1 one", "#1 two"]
    users = await control(live, "GET", "/control/users")
    people = {one["id"] for one in users["users"] if "a2a" in json.dumps(one)}
    assert len(people) == 1


@pytest.mark.req("M10", "A22")
async def test_a_key_has_its_budget_and_its_agents(live: Live) -> None:
    poor = await key(live, budget_tokens=1)
    narrow = await key(live, models=["agent:other"])
    async with a2a_client(live, "1.0", token=poor) as client:
        (event,) = await said(client, ask("Hello"))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "message/send"}
    refused = await raw(live, asked, token=narrow)
    unknown = await raw(live, asked, token="hk_nobody")
    viewer = await control(live, "POST", "/control/tokens", role="viewer", name="v")
    looking = await raw(live, asked, token=viewer["secret"])

    assert event.task.status.state == pb.TaskState.TASK_STATE_FAILED
    assert "budget" in event.task.status.message.parts[0].text
    codes = [one["error"]["code"] for one in (refused, unknown, looking)]
    assert codes == ["forbidden", "unauthenticated", "forbidden"]


@pytest.mark.req("M10")
async def test_the_rate_of_a_key_counts_on_every_door(live: Live) -> None:
    slow = await key(live, requests_per_minute=1)
    async with aiohttp.ClientSession(headers={"authorization": f"Bearer {slow}"}) as http:
        listed = await http.get(f"{live.url}/v1/models")
    refused = await raw(live, {"jsonrpc": "2.0", "id": 1, "method": "message/send"}, token=slow)

    assert listed.status == 200
    assert refused["error"]["code"] == "rate_limited"


@both
@pytest.mark.req("M10")
async def test_files_and_data_reach_the_model(live: Live, version: str) -> None:
    data = pb.Part()
    data.data.struct_value.update({"colour": "red", "count": 3})
    note = pb.Part(raw=b"a note", filename="note.txt", media_type="text/plain")
    picture = pb.Part(raw=PNG, filename="dot.png", media_type="image/png")
    async with a2a_client(live, version) as client:
        (event,) = await said(client, ask("Look", data, note, picture))
        with pytest.raises(ContentTypeNotSupportedError):
            await said(client, ask("zip", pb.Part(raw=b"Rar!\x1a\x07 and more")))
        with pytest.raises(InvalidParamsError, match="http"):
            await said(client, ask("file", pb.Part(url="file:///etc/passwd")))
        task = await client.get_task(pb.GetTaskRequest(id=event.message.task_id))

    text = event.message.parts[0].text
    assert '{"colour": "red", "count": 3' in text
    assert "note.txt:\n\na note" in text
    assert [part.text for part in task.history[0].parts][-1] == "[dot.png, image/png]"


@pytest.mark.req("M10", "M6")
async def test_an_agent_that_answers_json_answers_data(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    async with (
        model_server("--text", '{"ok": true}') as url,
        live_gateway(tmp_path / "home", with_model(url)) as live,
    ):
        fields = {"name": "judge", "model": "openai:test", "response_schema": schema}
        await control(live, "POST", "/workspaces", **fields)
        await prepared(live, "judge")
        async with a2a_client(live, "1.0", agent="judge") as client:
            answer = await reply(client, "Hello")

    assert answer.parts[0].text == '{"ok": true}'
    assert answer.parts[1].data.struct_value["ok"] is True


@pytest.mark.req("M10")
async def test_tasks_are_listed_in_pages(live: Live) -> None:
    mine = await key(live)
    async with a2a_client(live, "1.0", token=mine) as client:
        for number in range(5):
            await reply(client, str(number), context_id="even" if number % 2 == 0 else "odd")
        await reply(client, "[[fail:500]]")
        first = await client.list_tasks(pb.ListTasksRequest(page_size=4))
        rest = await client.list_tasks(
            pb.ListTasksRequest(page_size=4, page_token=first.next_page_token)
        )
        even = await client.list_tasks(
            pb.ListTasksRequest(context_id="even", include_artifacts=True, history_length=0)
        )
        failed = await client.list_tasks(pb.ListTasksRequest(status=pb.TaskState.TASK_STATE_FAILED))
    async with a2a_client(live, "1.0") as stranger:
        nothing = await stranger.list_tasks(pb.ListTasksRequest())

    def texts(page: pb.ListTasksResponse) -> list[str]:
        return [task.history[0].parts[0].text for task in page.tasks]

    assert (texts(first), texts(rest)) == (["[[fail:500]]", "4", "3", "2"], ["1", "0"])
    assert (first.total_size, rest.next_page_token) == (6, "")
    assert [task.artifacts[0].parts[0].text for task in even.tasks] == ["#3 4", "#2 2", "#1 0"]
    assert texts(failed) == ["[[fail:500]]"]
    assert list(nothing.tasks) == []

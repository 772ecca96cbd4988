"""A2A over kill -9: tasks go on in the next process, and notifications are delivered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb
from aiohttp import web

from tests.system.a2a_client import VERSIONS, a2a_client, ask, said
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_a2a import NOW, control, until_ended

KILLED = -9
CONFIG = "net:\n  exempt: [127.0.0.1/32]\n"
PATIENCE_S = 40.0


class Receiver:
    """A caller's own server, which is notified of its tasks."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.headers: dict[str, str] = {}
        self.delay_s = 0.0
        self.got: list[web.Request] = []
        # Any: JSON.
        self.bodies: list[Any] = []
        self._new = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        self.got.append(request)
        self.bodies.append(await request.json())
        self._new.set()
        answer = web.Response(status=self.status, headers=self.headers)
        await asyncio.sleep(self.delay_s)
        return answer

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.got) < count:
                self._new.clear()
                await self._new.wait()


@asynccontextmanager
async def receiving(host: str = "127.0.0.1") -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/told", receiver.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    server = site._server
    assert isinstance(server, asyncio.Server)
    receiver.url = f"http://{host}:{server.sockets[0].getsockname()[1]}/told"
    try:
        yield receiver
    finally:
        await runner.cleanup()


def home_with(tmp_path: Path, config: str = CONFIG) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(config)
    return home


def notified(receiver: Receiver, **more: Any) -> pb.SendMessageConfiguration:
    auth = pb.AuthenticationInfo(scheme="Bearer", credentials="c-123")
    config = pb.TaskPushNotificationConfig(
        url=receiver.url, token="t-456", authentication=auth, **more
    )
    return pb.SendMessageConfiguration(
        return_immediately=True, task_push_notification_config=config
    )


@pytest.mark.req("M10")
@pytest.mark.torture
async def test_a_task_survives_kill_9_and_is_finished_by_the_next_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        async with live_gateway(home, with_model(url)) as live, a2a_client(live, "1.0") as client:
            (begun,) = await said(client, ask("[[slow:2]] Hello", configuration=NOW))
            (waits,) = await said(client, ask("behind", configuration=NOW))
            await control(live, "GET", "/control/status")
            live.process.kill()
            await live.process.wait()
        async with live_gateway(home, with_model(url)) as live:
            async with a2a_client(live, "1.0") as client:
                found = [await until_ended(client, one.task.id) for one in (begun, waits)]
                page = await client.list_tasks(pb.ListTasksRequest())
            why = await control(live, "GET", f"/control/why/{begun.task.id}")

    texts = [task.artifacts[0].parts[0].text for task in found]
    assert texts == ["#1 [[slow:2]] Hello", "#2 behind"]
    assert [task.id for task in page.tasks] == [waits.task.id, begun.task.id]
    assert (why["outcome"], why["platform"]) == ("answered", "a2a")


@pytest.mark.req("M10")
@pytest.mark.torture
async def test_a_cancelled_task_stays_cancelled_over_kill_9(tmp_path: Path) -> None:
    home = tmp_path / "home"
    more = {"HERMES_FAILPOINTS": "store.interrupt.after:1"}
    async with model_server() as url:
        async with (
            live_gateway(home, {**with_model(url), **more}) as live,
            a2a_client(live, "1.0") as client,
        ):
            (begun,) = await said(client, ask("[[slow:2]] Hello", configuration=NOW))
            with pytest.raises(A2AClientError):
                await client.cancel_task(pb.CancelTaskRequest(id=begun.task.id))
            code = await live.process.wait()
        async with live_gateway(home, with_model(url)) as live, a2a_client(live, "1.0") as client:
            found = await until_ended(client, begun.task.id)

    assert code == KILLED
    assert found.status.state == pb.TaskState.TASK_STATE_CANCELED


@pytest.mark.req("M10")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_caller_is_notified_of_the_end_of_its_task(tmp_path: Path, version: str) -> None:
    async with (
        model_server() as url,
        receiving() as receiver,
        live_gateway(home_with(tmp_path), with_model(url)) as live,
        a2a_client(live, version) as client,
    ):
        (begun,) = await said(
            client, ask("[[slow:0.3]] Hello", configuration=notified(receiver, id="mine"))
        )
        await receiver.until(1)
        await delivered(live, begun.task.id)
        listed = await client.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=begun.task.id)
        )
        one = await client.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=begun.task.id, id="mine")
        )
        await client.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=begun.task.id, id="mine")
        )
        left = await client.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=begun.task.id)
        )

    body, headers = receiver.bodies[0], receiver.got[0].headers
    task = body["task"] if version == "1.0" else body
    state = "TASK_STATE_COMPLETED" if version == "1.0" else "completed"
    assert (task["id"], task["status"]["state"]) == (begun.task.id, state)
    assert task["artifacts"][0]["parts"][0]["text"] == "#1 [[slow:0.3]] Hello"
    assert headers["x-a2a-notification-token"] == "t-456"
    assert headers["authorization"] == "Bearer c-123"
    assert len(receiver.got) == 1
    assert [config.id for config in listed.configs] == ["mine"]
    assert (one.url, one.token, one.authentication.credentials) == (receiver.url, "t-456", "")
    assert list(left.configs) == []


# Any: JSON.
async def delivered(live: Live, task_id: str) -> Any:
    """Return what `hermes why` says of the notification of a task, once it has arrived."""
    return await told_of(live, task_id, "pushed")


# Any: JSON.
async def told_of(live: Live, task_id: str, what: str) -> Any:
    """Return what `hermes why` says of something that happened to a task, once it has."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            why = await control(live, "GET", f"/control/why/{task_id}")
            found = [line for line in why["lines"] if line["what"] == what]
            if found:
                return found[-1]
            await asyncio.sleep(0.1)


@pytest.mark.req("M10")
@pytest.mark.torture
@pytest.mark.parametrize(
    ("where", "times"), [("wire.task_push.before", 1), ("wire.task_push.after", 2)]
)
async def test_a_notification_is_delivered_over_kill_9(
    tmp_path: Path, where: str, times: int
) -> None:
    home = home_with(tmp_path)
    armed = {"HERMES_FAILPOINTS": f"{where}:1"}
    async with model_server() as url, receiving() as receiver:
        async with (
            live_gateway(home, {**with_model(url), **armed}) as live,
            a2a_client(live, "1.0") as client,
        ):
            (begun,) = await said(client, ask("Hello", configuration=notified(receiver)))
            code = await live.process.wait()
        async with live_gateway(home, with_model(url)) as live:
            await delivered(live, begun.task.id)

    assert (code, len(receiver.got)) == (KILLED, times)
    assert receiver.bodies[-1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.req("M10", "W34")
async def test_a_notification_never_reaches_a_refused_address(tmp_path: Path) -> None:
    async with (
        model_server() as url,
        receiving() as outside,
        receiving("127.0.0.2") as inside,
        live_gateway(home_with(tmp_path), with_model(url)) as live,
        a2a_client(live, "1.0") as client,
    ):
        outside.status, outside.headers = 307, {"location": inside.url}
        (begun,) = await said(client, ask("Hello", configuration=notified(outside)))
        await outside.until(1)
        # The second is the barrier: it comes after the first was given up for now.
        outside.status, outside.headers = 200, {}
        (more,) = await said(client, ask("More", configuration=notified(outside)))
        await delivered(live, more.task.id)
        log = live.said()

    assert inside.got == []
    assert "task_push_failed" in log
    assert "c-123" not in log
    assert begun.task.id in log


@pytest.mark.req("M10", "W34")
async def test_a_name_that_leads_to_a_refused_address_is_not_called(tmp_path: Path) -> None:
    async with (
        model_server() as url,
        receiving() as receiver,
        live_gateway(tmp_path / "home", with_model(url)) as live,
        a2a_client(live, "1.0") as client,
    ):
        receiver.url = receiver.url.replace("127.0.0.1", "localhost")
        (begun,) = await said(client, ask("Hello", configuration=notified(receiver)))
        async with asyncio.timeout(PATIENCE_S):
            while True:
                # It is the barrier: the attempt is over.
                if "task_push_failed" in live.said():
                    break
                await asyncio.sleep(0.05)

    assert receiver.got == []
    assert begun.task.id in live.said()


@pytest.mark.req("M10")
async def test_a_question_is_a_notification_too(tmp_path: Path) -> None:
    tool = '"""Shop."""\nfrom hermes.tools import tool\n\n\n@tool(needs_approval=True)\ndef pay() -> str:\n    """Pay."""\n    return "paid"\n'
    home = home_with(tmp_path, CONFIG + "tools:\n  modules: [shop.py]\n")
    (home / "shop.py").write_text(tool)
    (home / "shop.py").chmod(0o600)
    async with (
        model_server() as url,
        receiving() as receiver,
        live_gateway(home, with_model(url)) as live,
        a2a_client(live, "1.0") as client,
    ):
        (begun,) = await said(client, ask("[[tool:pay {}]]", configuration=notified(receiver)))
        await receiver.until(1)
        await said(client, ask("yes", task_id=begun.task.id))
        await receiver.until(2)

    states = [body["task"]["status"]["state"] for body in receiver.bodies]
    assert states == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"]


@pytest.mark.req("M10")
async def test_every_question_of_a_task_is_a_notification(tmp_path: Path) -> None:
    tool = '"""Shop."""\nfrom hermes.tools import tool\n\n\n@tool(needs_approval=True)\ndef pay(n: int) -> str:\n    """Pay."""\n    return "paid"\n'
    home = home_with(tmp_path, CONFIG + "tools:\n  modules: [shop.py]\n")
    (home / "shop.py").write_text(tool)
    (home / "shop.py").chmod(0o600)
    text = '[[tool:pay {"n": 1}]] [[tool:pay {"n": 2}]]'
    async with (
        model_server() as url,
        receiving() as receiver,
        live_gateway(home, with_model(url)) as live,
        a2a_client(live, "1.0") as client,
    ):
        (begun,) = await said(client, ask(text, configuration=notified(receiver)))
        for number in (1, 2):
            await receiver.until(number)
            yes = ask("yes", task_id=begun.task.id, message_id=f"yes-{number}")
            await said(client, yes)
        await receiver.until(3)

    states = [body["task"]["status"]["state"] for body in receiver.bodies]
    assert states == [*["TASK_STATE_INPUT_REQUIRED"] * 2, "TASK_STATE_COMPLETED"]


@pytest.mark.req("M10")
@pytest.mark.parametrize("kind", ["keys", "tokens"])
async def test_a_caller_whose_credential_was_revoked_is_notified_no_more(
    tmp_path: Path, kind: str
) -> None:
    home = home_with(tmp_path)
    who = {"keys": {"user": "ann"}, "tokens": {"role": "operator", "name": "t"}}[kind]
    async with (
        model_server() as url,
        receiving() as receiver,
        live_gateway(home, with_model(url)) as live,
        a2a_client(live, "1.0") as owner,
    ):
        made = await control(live, "POST", f"/control/{kind}", **who)
        async with a2a_client(live, "1.0", token=made["secret"]) as client:
            (begun,) = await said(client, ask("[[slow:2]] Hello", configuration=notified(receiver)))
        name = made[kind.removesuffix("s")]["id"]
        await control(live, "POST", f"/control/{kind}/revoke", id=name)
        failed = await told_of(live, begun.task.id, "push_failed")
        (more,) = await said(owner, ask("More", configuration=notified(receiver)))
        await delivered(live, more.task.id)

    assert "not valid any more" in json.dumps(failed)
    assert [body["task"]["id"] for body in receiver.bodies] == [more.task.id]


@pytest.mark.req("M10")
async def test_a_place_that_is_replaced_while_it_is_told_is_told_too(tmp_path: Path) -> None:
    async with (
        model_server() as url,
        receiving() as old,
        receiving() as new,
        live_gateway(home_with(tmp_path), with_model(url)) as live,
        a2a_client(live, "1.0") as client,
    ):
        old.delay_s = 2.0
        (begun,) = await said(client, ask("Hello", configuration=notified(old, id="mine")))
        await old.until(1)
        config = pb.TaskPushNotificationConfig(task_id=begun.task.id, id="mine", url=new.url)
        await client.create_task_push_notification_config(config)
        await new.until(1)

    assert (len(old.got), len(new.got)) == (1, 1)

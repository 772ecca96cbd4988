"""The stand-in platform itself: strict, countable, and able to misbehave."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from hermes.testing.manual_time import ManualClock
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.tally import read_tally
from hermes.testing.push.webhooks import InboundBatch, numbered


class Phone:
    """Calls the platform's API directly."""

    def __init__(self, pigeon: SamplePlatform, session: aiohttp.ClientSession) -> None:
        self.pigeon = pigeon
        self.session = session

    async def post(self, path: str, body: object, *, token: str = "t") -> tuple[int, str]:
        async with self.session.post(
            self.pigeon.base_url + path, json=body, headers={"Authorization": f"Bearer {token}"}
        ) as answer:
            return answer.status, await answer.text()


class Receiver:
    """Stands where Hermes would: answers webhooks with the statuses it is given."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.events: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        event = msgspec.json.decode(await request.read(), type=dict[str, object])
        self.events.append(str(event["event_id"]))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest.fixture
async def phone(tmp_path: Path) -> AsyncIterator[Phone]:
    settings = SampleSettings(
        token="t", signing_secret="s", rate_limit=3, rate_window_s=10.0, webhook_delay_s=0.0
    )
    pigeon = SamplePlatform(settings, clock=ManualClock(), count_file=tmp_path / "count.jsonl")
    await pigeon.start()
    async with aiohttp.ClientSession() as session:
        yield Phone(pigeon, session)
    await pigeon.stop()


@pytest.fixture
async def receiver(phone: Phone) -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.add_routes([web.post("/hook", made.handle)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    phone.pigeon.webhooks.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield made
    await runner.cleanup()


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"chat": "c1", "text": "x" * 2001}, 400, "text_too_long"),
        ({"chat": "c1", "text": " "}, 400, "empty_text"),
        ({"chat": "nowhere", "text": "x"}, 404, "unknown_chat"),
        ({"chat": 1, "text": "x"}, 400, "bad_body"),
        ({"chat": "c1", "text": "x", "extra": 1}, 400, "bad_body"),
        ({"chat": "c1", "text": "x", "key": "k"}, 400, "keys_unsupported"),
    ],
)
async def test_it_refuses_what_a_real_platform_refuses(phone, body, status, code) -> None:
    found, text = await phone.post("/v1/send", body)

    assert (found, code in text, phone.pigeon.state.posted) == (status, True, ())


@pytest.mark.req("A26")
async def test_it_refuses_a_wrong_token(phone) -> None:
    assert (await phone.post("/v1/send", {"chat": "c1", "text": "x"}, token="no"))[0] == 401


@pytest.mark.req("A26")
async def test_over_the_rate_limit_it_answers_429_with_the_time_to_wait(phone) -> None:
    message = {"chat": "c1", "text": "x"}
    statuses = [(await phone.post("/v1/send", message))[0] for _ in range(4)]

    other_chat = (await phone.post("/v1/send", message | {"chat": "c2"}))[0]

    assert (statuses, other_chat) == ([200, 200, 200, 429], 200)


@pytest.mark.req("A26")
async def test_every_call_is_counted_in_the_file(phone) -> None:
    await phone.post("/v1/send", {"chat": "c1", "text": "one"})
    await phone.post("/v1/send", {"chat": "c1", "text": ""})

    lines = read_tally(phone.pigeon.tally.path)

    assert [(line["op"], line["outcome"]) for line in lines] == [
        ("send", "applied"),
        ("send", "refused"),
    ]


@pytest.mark.req("J1")
async def test_a_webhook_is_told_again_until_it_is_answered(phone, receiver) -> None:
    receiver.statuses = [503, 500]

    statuses = await phone.pigeon.webhooks.deliver(InboundBatch(messages=numbered("c1", ["hi"])))

    assert (statuses, receiver.events) == ([200], ["c1-0"] * 3)


@pytest.mark.req("J1")
async def test_webhooks_come_twice_and_out_of_order_when_asked(phone, receiver) -> None:
    batch = InboundBatch(messages=numbered("c1", ["a", "b"]), copies=2, order=(1, 0))

    await phone.pigeon.webhooks.deliver(batch)

    assert receiver.events == ["c1-1", "c1-1", "c1-0", "c1-0"]

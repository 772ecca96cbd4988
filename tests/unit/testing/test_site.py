"""The server of stand-in platforms: tokens, faults, refusals and rates, by its rows."""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import msgspec
import pytest

from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.manual_time import ManualClock
from hermes.testing.site import Site, SiteCall, SiteRows
from hermes.testing.stand_in import Fault, PersonMessage

ROWS = """
tokens = { bot = "t-bot", app = "t-app" }
names = { bot = "B1" }
rate = [{ scope = "chat", most = 1, within_s = 10.0 }]
[site]
refusal = { error = { code = "{code}", message = "{text}", of = "{rule}" } }
json_part = "payload_json"
refused_s = 0.05
[fault]
rate_limited = { status = 429, code = 7, text = "wait {wait} s", headers = { Retry-After = "{wait}" } }
server_error = { status = 502, raw = "<html>" }
rejected = { status = 403, code = 50001 }
"send.rejected" = { status = 403, code = 50007 }
unauthorized = { status = 401, code = 0 }
[refusal]
no_token = { status = 401, code = 1 }
bad_token = { status = 401, code = 2 }
wrong_token = { status = 403, code = 3 }
revoked = { status = 401, code = 4, is_rule = false }
unknown_call = { status = 404, code = 5 }
too_fast = { status = 429, code = 7 }
[routes.me]
answer = { id = "{bot}", url = "{url}/x" }
[routes.send]
takes = "text:str! *:file"
op = "send"
[routes.say]
takes = "chat:str!"
answer = {}
[routes.link]
token = "app"
answer = {}
[routes.item]
at = "GET /items/{name}"
takes = "limit:int"
"""


class Shop(Site):
    """A platform with two calls of its own."""

    def __init__(self, **more: Any) -> None:
        rows = msgspec.convert(tomllib.loads(ROWS), SiteRows)
        super().__init__(rows, clock=ManualClock(), **more)
        self.sent: list[str] = []
        self.told: list[str] = []

    def happen(self, said: PersonMessage) -> tuple[str, list[str]]:
        return said.text, [said.text]

    async def tell(self, event: str) -> None:
        self.told.append(event)

    def on_send(self, call: SiteCall) -> Json:
        if call["text"] == "bad":
            raise SiteRefusal("no_such_word", "bad is not a word", at=call["text"])
        self.pace("c1")
        self.sent.append(call["text"])
        return {"files": {name: file.name for name, file in call.files.items()}}

    def on_item(self, call: SiteCall) -> Json:
        return {"name": call["name"], "limit": call.get("limit", 0)}


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    await shop.start()
    yield shop
    await shop.stop()


async def ask(
    shop: Shop, call: str, *, token: str = "Bearer t-bot", **body: Any
) -> tuple[int, Any]:
    headers = {"Authorization": token} if token else {}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{shop.url}/{call}", json=body, headers=headers) as answer,
    ):
        text = await answer.text()
        return answer.status, msgspec.json.decode(text) if text.startswith("{") else text


@pytest.mark.parametrize(
    ("call", "token", "status", "code"),
    [
        ("me", "", 401, 1),
        ("me", "Basic x", 401, 1),
        ("me", "Bearer other", 401, 2),
        ("link", "Bearer t-bot", 403, 3),
        ("fly", "Bearer t-bot", 404, 5),
        ("fly", "Bearer other", 401, 2),
    ],
)
async def test_a_call_needs_the_token_of_its_row(
    shop: Shop, call: str, token: str, status: int, code: int
) -> None:
    answered, body = await ask(shop, call, token=token)

    assert (answered, body["error"]["code"]) == (status, code)
    assert [one.split(" (")[0] for one in shop.rejections] == [f"{call}: {code}"]


async def test_a_row_alone_answers_and_names_what_is_fixed(shop: Shop) -> None:
    assert await ask(shop, "me") == (200, {"id": "B1", "url": f"{shop.url}/x"})
    assert shop.log == [("me", "ok")]


async def test_parameters_come_from_the_path_the_query_and_a_form_with_files(shop: Shop) -> None:
    headers = {"Authorization": "Bearer t-bot"}
    form = aiohttp.FormData({"payload_json": '{"text":"hi"}'})
    form.add_field("files[0]", b"abc", filename="a.txt")
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.get(f"{shop.url}/items/a%20b?limit=5") as answer:
            item = await answer.json()
        async with http.post(f"{shop.url}/send", data=form) as answer:
            sent = await answer.json()

    assert item == {"name": "a b", "limit": 5}
    assert (shop.sent, sent) == (["hi"], {"files": {"files[0]": "a.txt"}})


async def test_a_broken_rule_is_answered_by_its_row_and_remembered(shop: Shop) -> None:
    refused = await ask(shop, "send", text="bad")
    unread = await ask(shop, "send", words="x")
    error = {"code": "no_such_word", "of": "bad is not a word", "message": ""}

    assert refused == (400, {"error": error, "at": "bad"})
    assert unread[0] == 400
    assert shop.rejections == (
        "send: no_such_word (bad is not a word)",
        "send: parameter (send has no parameter words)",
    )


async def test_a_fault_before_the_call_prevents_it_and_has_a_row_for_each_operation(
    shop: Shop,
) -> None:
    shop.plan(Fault(kind="rate_limited", retry_after=3.0))
    shop.plan(Fault(kind="server_error"))
    shop.plan(Fault(kind="rejected"))
    shop.plan(Fault(kind="rejected", op="any"))
    answers = [await ask(shop, "send", text="x") for _ in range(3)]
    answers.append(await ask(shop, "me"))

    assert [status for status, _ in answers] == [429, 502, 403, 403]
    assert answers[0][1]["error"]["message"] == "wait 3 s"
    assert answers[1][1] == "<html>"
    assert [body["error"]["code"] for _, body in answers[2:]] == [50007, 50001]
    assert (shop.sent, shop.rejections) == ([], ())


async def test_a_fault_after_the_call_loses_only_the_answer(shop: Shop) -> None:
    shop.plan(Fault(kind="reset_after"))
    shop.plan(Fault(kind="hang"))
    with pytest.raises(aiohttp.ClientError):
        await ask(shop, "send", text="lost")
    hanging = asyncio.create_task(ask(shop, "send", text="never answered"))
    await until(lambda: len(shop.log) == 2)
    shop.release()

    with pytest.raises(aiohttp.ClientError):
        await hanging
    assert shop.sent == ["lost", "never answered"]


async def test_a_call_can_be_lost_before_its_effect_or_answered_by_something_else(
    shop: Shop,
) -> None:
    shop.plan(Fault(kind="reset_before"))
    shop.plan(Fault(kind="garbage"))
    shop.plan(Fault(kind="hang_before"))
    with pytest.raises(aiohttp.ClientError):
        await ask(shop, "send", text="lost")
    garbled = await ask(shop, "send", text="garbled")
    hanging = asyncio.create_task(ask(shop, "send", text="never read"))
    await until(lambda: len(shop.log) == 3)
    shop.release()

    with pytest.raises(aiohttp.ClientError):
        await hanging
    assert garbled == (200, "<html>proxy</html>")
    assert shop.sent == ["garbled"]


async def test_a_fault_of_one_chat_leaves_the_others_alone(shop: Shop) -> None:
    shop.plan(Fault(kind="server_error", op="any", chat="b"))

    statuses = [(await ask(shop, "say", chat=chat))[0] for chat in ("a", "b", "b")]

    assert statuses == [200, 502, 200]


async def until(look: Callable[[], bool]) -> None:
    """Wait until it is so: a server tells nobody."""
    async with asyncio.timeout(5):
        while not look():  # noqa: ASYNC110 - as the server says nothing
            await asyncio.sleep(0)


async def test_nothing_listens_for_a_while_and_then_on_the_same_port(shop: Shop) -> None:
    shop.plan(Fault(kind="refuse_connection"))
    await until(lambda: not shop.is_listening)
    with pytest.raises(aiohttp.ClientConnectorError):
        await ask(shop, "me")
    await until(lambda: shop.is_listening)

    assert (await ask(shop, "me"))[0] == 200


async def test_a_revoked_token_is_refused_until_it_is_restored(shop: Shop) -> None:
    shop.revoke()
    refused = await ask(shop, "me")
    shop.restore()

    assert (refused[0], refused[1]["error"]["code"], shop.rejections) == (401, 4, ())
    assert (await ask(shop, "me"))[0] == 200


async def test_the_rates_of_the_rows_hold_where_they_are_wanted() -> None:
    shop = Shop(is_limited=True)
    await shop.start()
    try:
        answers = [(await ask(shop, "send", text=text))[0] for text in ("a", "b")]
    finally:
        await shop.stop()

    assert (answers, shop.sent) == ([200, 429], ["a"])


async def test_what_a_person_does_late_is_told_after_the_next() -> None:
    shop = Shop()

    await shop.say(PersonMessage(text="first", late=True))
    await shop.say(PersonMessage(text="second", times=2))

    assert shop.told == ["second", "second", "first"]


def test_a_row_without_a_method_is_found_when_the_platform_starts() -> None:
    class Empty(Site):
        pass

    site = Empty(msgspec.convert(tomllib.loads(ROWS), SiteRows))

    with pytest.raises(AttributeError, match="on_send"):
        asyncio.run(site.start())

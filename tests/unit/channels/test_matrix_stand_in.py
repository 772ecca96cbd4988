"""The stand-in homeserver refuses what a real one refuses, and says so."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from hermes.testing.call_rules import SiteRefusal
from hermes.testing.matrix.people import room_id
from hermes.testing.matrix.platform import PASSWORD, MatrixStandIn
from hermes.testing.matrix.rules import check_html, check_message
from hermes.testing.site import Rate
from hermes.testing.stand_in import Fault, PersonMessage

V3 = "/_matrix/client/v3"
FILTER = json.dumps({"room": {"timeline": {"limit": 2}}})


class Client:
    """Calls it as any program could."""

    def __init__(self, server: MatrixStandIn, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def call(
        self, method: str, path: str, *, token: str | None = None, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        shown = self.server.token if token is None else token
        headers = {"Authorization": f"Bearer {shown}"} if shown else {}
        async with self._session.request(
            method, f"{self.server.url}{path}", headers=headers, **more
        ) as answer:
            found: dict[str, Any] = await answer.json()
            return answer.status, found

    async def send(self, content: object, *, txn: str = "t1", chat: str = "c") -> tuple[int, str]:
        path = f"{V3}/rooms/{quote(room_id(chat))}/send/m.room.message/{txn}"
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, found = await self._put(path, data)
        return status, str(found.get("errcode") or found.get("event_id"))

    async def _put(self, path: str, data: bytes) -> tuple[int, dict[str, Any]]:
        async with self._session.put(
            f"{self.server.url}{path}",
            data=data,
            headers={
                "Authorization": f"Bearer {self.server.token}",
                "Content-Type": "application/json",
            },
        ) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    server = MatrixStandIn()
    await server.start()
    async with aiohttp.ClientSession() as session:
        yield Client(server, session)
    await server.stop()


def text(body: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **more}


@pytest.mark.req("W9")
@pytest.mark.parametrize(("token", "code"), [("", "M_MISSING_TOKEN"), ("wrong", "M_UNKNOWN_TOKEN")])
async def test_without_the_token_nothing_is_told(client: Client, token: str, code: str) -> None:
    status, told = await client.call("GET", f"{V3}/account/whoami", token=token)

    assert (status, told["errcode"]) == (401, code)
    assert len(client.server.rejections) == 1


@pytest.mark.req("W9")
async def test_a_token_in_an_address_is_refused(client: Client) -> None:
    path = f"{V3}/account/whoami?access_token={client.server.token}"

    assert (await client.call("GET", path))[0] == 401


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (b"{", (400, "M_NOT_JSON")),
        (b"[]", (400, "M_BAD_JSON")),
        (b'{"msgtype": "m.text", "body": "x", "n": 1.5}', (400, "M_BAD_JSON")),
        (b'{"msgtype": "m.text", "body": "x", "n": NaN}', (400, "M_BAD_JSON")),
        (b'{"msgtype": "m.text", "body": "x", "n": 9007199254740992}', (400, "M_BAD_JSON")),
        (b'{"msgtype": "m.text", "body": "\\ud800"}', (400, "M_BAD_JSON")),
        (text("x" * 65_000), (413, "M_TOO_LARGE")),
        (text(""), (400, "M_BAD_JSON")),
        ({"body": "x"}, (400, "M_BAD_JSON")),
        (text("x", formatted_body="x"), (400, "M_BAD_JSON")),
        (text("x", **{"m.relates_to": {"rel_type": "m.thread", "event_id": "$no"}}), (400, "M_UNKNOWN")),
        (text("x", **{"m.relates_to": {"m.in_reply_to": {"event_id": "$no"}}}), (400, "M_UNKNOWN")),
        ({"msgtype": "m.image", "body": "x", "url": "https://e.org/x"}, (400, "M_BAD_JSON")),
    ],
)  # fmt: skip
async def test_an_event_that_cannot_stand_is_refused(
    client: Client, content: object, answer: tuple[int, str]
) -> None:
    client.server.write(PersonMessage(text="hi", chat="c"))

    assert await client.send(content) == answer
    assert client.server.posts("c") == ()
    assert len(client.server.rejections) == 1


@pytest.mark.req("W9")
async def test_a_room_that_the_bot_is_not_in_is_forbidden(client: Client) -> None:
    client.server.invite("c", "ada")

    assert await client.send(text("x")) == (403, "M_FORBIDDEN")
    assert await client.send(text("x"), chat="nowhere") == (403, "M_FORBIDDEN")


@pytest.mark.req("W9", "J17")
async def test_a_transaction_is_carried_out_once_for_a_device(client: Client) -> None:
    client.server.write(PersonMessage(text="hi", chat="c"))

    first, second = await client.send(text("x")), await client.send(text("y"))
    other = await client.send(text("y"), txn="t2")

    assert first == second != other
    assert [post.text for post in client.server.posts("c")] == ["x", "y"]


@pytest.mark.req("W9")
async def test_somebody_elses_message_cannot_be_edited(client: Client) -> None:
    theirs = client.server.write(PersonMessage(text="hi", chat="c"))
    edit = {"m.relates_to": {"rel_type": "m.replace", "event_id": theirs}}

    assert await client.send(text("* x", **{"m.new_content": text("x")}, **edit)) == (
        400,
        "M_UNKNOWN",
    )


@pytest.mark.req("A26")
async def test_too_many_sends_are_held_back_when_that_is_switched_on(client: Client) -> None:
    client.server.write(PersonMessage(text="hi", chat="c"))
    client.server.rates = (Rate("all", 1, 1.0),)

    assert (await client.send(text("x"), txn="t1"))[0] == 200
    assert await client.send(text("x"), txn="t2") == (429, "M_LIMIT_EXCEEDED")
    assert (await client.send(text("x"), txn="t1"))[0] == 200


@pytest.mark.req("W9")
async def test_a_stream_has_gaps_that_pages_fill(client: Client) -> None:
    client.server.write(PersonMessage(text="zero", chat="c"))
    _, start = await client.call("GET", f"{V3}/sync?filter={quote(FILTER)}")
    since = start["next_batch"]
    for word in ("one", "two", "three", "four"):
        client.server.write(PersonMessage(text=word, chat="c"))

    _, told = await client.call("GET", f"{V3}/sync?filter={quote(FILTER)}&since={since}")
    timeline = told["rooms"]["join"][room_id("c")]["timeline"]
    query = f"dir=b&from={timeline['prev_batch']}&to={since}"
    _, page = await client.call("GET", f"{V3}/rooms/{quote(room_id('c'))}/messages?{query}")

    assert timeline["limited"]
    assert [event["content"]["body"] for event in timeline["events"]] == ["three", "four"]
    assert [event["content"]["body"] for event in page["chunk"]] == ["two", "one"]


@pytest.mark.req("W9")
async def test_a_poll_waits_until_something_happens(client: Client) -> None:
    client.server.write(PersonMessage(text="zero", chat="c"))
    _, start = await client.call("GET", f"{V3}/sync?filter={quote(FILTER)}")
    path = f"{V3}/sync?filter={quote(FILTER)}&timeout=60000&since={start['next_batch']}"

    poll = asyncio.create_task(client.call("GET", path))
    client.server.write(PersonMessage(text="one", chat="c"))
    _, told = await poll

    [event] = told["rooms"]["join"][room_id("c")]["timeline"]["events"]
    assert event["content"]["body"] == "one"


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "query",
    [
        "since=nonsense",
        "since=s999999",
        "filter={",
        "filter=" + quote('{"rooms": {}}'),
        "filter=" + quote('{"room": {"timeline": {"limit": 0}}}'),
        "filter=" + quote('{"room": {"timeline": {"limit": 1.5}}}'),
        "filter=" + quote('{"room": {"timeline": {"types": "m.room.message"}}}'),
        "speed=high",
    ],
)
async def test_a_wrong_question_is_refused(client: Client, query: str) -> None:
    assert (await client.call("GET", f"{V3}/sync?{query}"))[0] == 400
    assert len(client.server.rejections) == 1


@pytest.mark.req("W9")
async def test_what_the_api_does_not_have_is_unrecognised(client: Client) -> None:
    status, told = await client.call("GET", f"{V3}/weather")

    assert (status, told["errcode"]) == (404, "M_UNRECOGNIZED")
    assert len(client.server.rejections) == 1


@pytest.mark.req("W9")
@pytest.mark.parametrize("password", ["wrong", PASSWORD])
async def test_only_the_password_lets_in(client: Client, password: str) -> None:
    body = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": "hermes"},
        "password": password,
    }

    status, _ = await client.call("POST", f"{V3}/login", token="", json=body)

    assert status == (200 if password == PASSWORD else 403)


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        "<b>",
        "<p>x",
        "x</p>",
        '<p onclick="x">x</p>',
        '<a href="javascript:x">x</a>',
        '<img src="https://e.org/x">',
        '<code class="big">x</code>',
        "<!-- x -->",
    ],
)
def test_markup_that_clients_drop_is_refused(html: str) -> None:
    with pytest.raises(SiteRefusal):
        check_html(html)


@pytest.mark.req("W9")
def test_what_is_right_passes() -> None:
    check_html('<p>x<br><a href="https://e.org">y</a></p><ol start="2"><li>z</li></ol>')
    check_message(text("x", format="org.matrix.custom.html", formatted_body="<em>x</em>"))


@pytest.mark.req("W9")
async def test_a_lost_answer_is_of_something_that_happened(client: Client) -> None:
    client.server.write(PersonMessage(text="hi", chat="c"))
    client.server.plan(Fault(kind="reset_after", times=2))

    with pytest.raises(aiohttp.ClientError):
        await client.send(text("x"))

    assert [post.text for post in client.server.posts("c")] == ["x"]


@pytest.mark.req("W9")
async def test_it_runs_as_a_program() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hermes.testing.matrix",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    told = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
    async with aiohttp.ClientSession() as session:
        body = {"text": "hi", "chat": "c"}
        async with session.post(f"{told['control']}/write", json=body) as answer:
            assert answer.status == 200
        async with session.post(f"{told['control']}/posts", json={"chat": "c"}) as answer:
            posts = await answer.json()
    process.stdin.close()

    assert (posts, await asyncio.wait_for(process.wait(), 30)) == ([], 0)
    assert set(told["settings"]) == {"homeserver", "access_token", "join"}

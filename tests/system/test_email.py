"""A real gateway on mail's stand-in: answered once, in threads, through crashes and a changed password."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.durable_file import write_durably
from hermes.testing.email.server import EmailStandIn
from hermes.testing.email.state import PASSWORD
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.live import Live, live_gateway, model_server, with_model


async def until(claim: Callable[[], bool], *, seen: Callable[[], object]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    try:
        async with asyncio.timeout(20):
            while not claim():  # noqa: ASYNC110 - another process makes it true
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"nothing came; seen: {seen()}") from None


class Town:
    """The mail server, the model, and how gateways are connected to both."""

    def __init__(self, mail: EmailStandIn, home: Path, model_url: str) -> None:
        self.mail = mail
        self.home = home
        self._model_url = model_url

    @asynccontextmanager
    async def gateway(self, **more: str) -> AsyncIterator[Live]:
        settings = dict(self.mail.settings)
        named = {
            "EMAIL_ADDRESS": settings.pop("address"),
            "EMAIL_PASSWORD": settings.pop("password"),
            "EMAIL_IMAP_HOST": settings.pop("imap_host"),
            "EMAIL_SMTP_HOST": settings.pop("smtp_host"),
            "EMAIL_AUTHSERV_ID": settings.pop("authserv_id"),
        }
        variables = {
            **with_model(self._model_url),
            **named,
            **{f"HERMES_EMAIL__{key.upper()}": str(value) for key, value in settings.items()},
            "HERMES_ACCESS__ALLOW_ALL": "true",
            "HERMES_LANES__LEASE_S": "1",
            **more,
        }
        async with live_gateway(self.home, variables) as live:
            yield live

    def texts(self, chat: str = "chat-1") -> list[str]:
        return [post.text for post in self.mail.posts(chat)]

    async def answered(self, *texts: str, chat: str = "chat-1") -> None:
        """Wait until exactly this was sent to somebody."""
        await until(
            lambda: self.texts(chat) == list(texts),
            seen=lambda: (self.texts(chat), self.mail.rejections),
        )

    def written(self) -> str:
        """Return everything that the gateway has left in text files."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        plain = (one for one in files if one.suffix in {".log", ".json", ".jsonl", ".txt", ".yaml"})
        return "".join(one.read_text(errors="replace") for one in plain)


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    mail = EmailStandIn()
    await mail.start()
    async with model_server() as model_url:
        yield Town(mail, tmp_path / "home", model_url)
    await mail.stop()
    assert mail.rejections == ()


async def asked(live: Live, path: str) -> dict[str, Any]:
    """Return what the control door answers."""
    told = json.loads((live.home / "run" / "gateway.json").read_text())
    headers = {"authorization": f"Bearer {told['token']}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{live.url}/control/{path}", headers=headers) as answer,
    ):
        found: dict[str, Any] = await answer.json()
    return found


async def status(live: Live) -> dict[str, Any]:
    """Return how the channel stands."""
    channels = (await asked(live, "status"))["channels"]
    return next(one for one in channels if one["name"] == "email")


@pytest.mark.req("A2", "W2", "W9", "W11", "W33", "J1")
async def test_mails_are_answered_once_in_their_threads_and_nothing_shows_the_password(
    town: Town,
) -> None:
    async with town.gateway() as live:
        first = await town.mail.say(PersonMessage(text="hello", times=2))
        await town.answered("#1 hello")
        await town.mail.say(PersonMessage(text="**more**"))
        await town.mail.say(PersonMessage(text="I am away", is_bot=True))
        await town.mail.say(PersonMessage(text="apart", thread="another@people.test"))
        await town.answered("#1 hello", "#2 more", "#1 apart")

        town.mail.revoke()
        async with asyncio.timeout(20):
            while (told := await status(live))["state"] != "fatal":  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)
        assert "platforms.email.password" in told["note"]
        assert PASSWORD not in str(told) + live.said() + town.written()

    posts = town.mail.posts("chat-1")
    assert [post.thread for post in posts] == [first, first, "another@people.test"]
    assert "<strong>more</strong>" in posts[1].markup


@pytest.mark.req("J1", "J4", "J17")
async def test_kills_before_the_mark_and_after_the_send_repeat_nothing(town: Town) -> None:
    async with town.gateway(HERMES_FAILPOINTS="store.accept.after:1") as live:
        saying = asyncio.create_task(town.mail.say(PersonMessage(text="hello")))
        await asyncio.wait_for(live.process.wait(), 20)
    assert not saying.done()

    async with town.gateway(HERMES_FAILPOINTS="channel.send.after:1") as live:
        await asyncio.wait_for(saying, 20)
        await asyncio.wait_for(live.process.wait(), 20)

    async with town.gateway():
        await town.mail.say(PersonMessage(text="barrier", chat="b"))
        await town.answered("#1 barrier", chat="b")
        await town.answered("#1 hello")


@pytest.mark.req("J1", "J21")
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_home_with_a_state_file_goes_on_where_it_was_also_after_a_kill(
    town: Town, side: str
) -> None:
    # Given the file of an earlier version; without it such an old mail would be left alone
    file = town.home / "channels" / "email" / "mailbox.json"
    write_durably(file, b'{"floor": 0.0}')
    _, raw = town.mail.people.write(PersonMessage(text="of old"))
    town.mail.state.inbox.add(raw, at=1_700_000_000.0)

    with pytest.raises(AssertionError, match="hermes up ended"):
        async with town.gateway(HERMES_FAILPOINTS=f"store.put_channel_state.{side}:1"):
            pass
    assert file.exists()

    async with town.gateway():
        await town.answered("#1 of old")
    assert not (town.home / "channels").exists()
    async with town.gateway():
        await town.mail.say(PersonMessage(text="barrier", chat="b"))
        await town.answered("#1 barrier", chat="b")
        await town.answered("#1 of old")


@pytest.mark.req("J17", "A26")
async def test_an_answer_that_is_lost_is_repeated_only_with_its_mark(town: Town) -> None:
    town.mail.plan(Fault(kind="reset_after"))
    async with town.gateway():
        await town.mail.say(PersonMessage(text="hello"))
        await town.answered("#1 hello", "(possibly a repeat) #1 hello")
    one, other = town.mail.posts("chat-1")
    # The same mail to every program that compares ids, and so shown once by many.
    assert one.id == other.id


@pytest.mark.req("A26", "A28")
async def test_a_reply_that_comes_back_is_a_dead_letter_and_its_story_says_so(town: Town) -> None:
    async with town.gateway() as live:
        await town.mail.say(PersonMessage(text="hello"))
        await town.answered("#1 hello")
        await town.mail.bounce(town.mail.posts("chat-1")[0])

        (letter,) = (await asked(live, "deadletters"))["letters"]
        story = await asked(live, f"why/{letter['message_id']}")
        replay = await asked(live, f"deadletters/letter?id={letter['id']}")
        await town.mail.say(PersonMessage(text="barrier", chat="b"))
        await town.answered("#1 barrier", chat="b")

    assert (letter["platform"], letter["failure"]) == ("email", "invalid_recipient")
    assert (
        "the reply to email is a dead letter after 1 attempt (invalid_recipient: it came back: 5.1.1)"
        in story["answer"]
    )
    came_back = [line["data"] for line in story["lines"] if line["what"] == "returned"]
    assert came_back == [
        {"delivery": letter["id"], "failure": "invalid_recipient", "status": "5.1.1"}
    ]
    assert replay["letter"]["text"] == "#1 hello"
    assert town.texts() == ["#1 hello"]
    assert [recipient for recipient, _ in town.mail.state.sent if "DAEMON" in recipient] == []

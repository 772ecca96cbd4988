"""Mail on real servers: Postfix and Dovecot, a real gateway process, kills and restarts."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from itertools import count
from pathlib import Path

import pytest

from tests.system.live import live_gateway, model_server, with_model
from tests.system.real_mail import (
    ADA,
    AUTHSERV_ID,
    EVE,
    HERMES,
    PASSWORD,
    MailServers,
    letter,
    missing,
    text_of,
)
from tests.system.test_telegram import picture

pytestmark = pytest.mark.timeout(300)
_numbers = count(1)


@pytest.fixture(scope="module")
def servers() -> Iterator[MailServers]:
    why = missing()
    if why is not None:
        pytest.skip(f"Postfix and Dovecot cannot be run: {why}")
    running = MailServers()
    try:
        asyncio.run(running.start())
        yield running
    finally:
        running.remove()


@pytest.fixture(autouse=True)
def empty(servers: MailServers) -> None:
    servers.empty()


@pytest.fixture
async def model() -> AsyncIterator[str]:
    async with model_server() as url:
        yield url


def variables(servers: MailServers, model: str, **more: str) -> dict[str, str]:
    return {
        **with_model(model),
        "EMAIL_ADDRESS": HERMES,
        "EMAIL_PASSWORD": PASSWORD,
        "EMAIL_IMAP_HOST": "127.0.0.1",
        "EMAIL_SMTP_HOST": "127.0.0.1",
        "EMAIL_AUTHSERV_ID": AUTHSERV_ID,
        "HERMES_EMAIL__IMAP_PORT": str(servers.ports["imaps"]),
        "HERMES_EMAIL__SMTP_PORT": str(servers.ports["smtp"]),
        "HERMES_EMAIL__CA_FILE": str(servers.ca_file),
        "HERMES_EMAIL__SENT_FOLDER": "Sent",
        "HERMES_ACCESS__ALLOW_ALL": "true",
        "HERMES_LANES__LEASE_S": "1",
        **more,
    }


async def until_file(servers: MailServers) -> list[EmailMessage]:
    """Wait until Ada has a mail with a file; returns all that have one."""
    found: list[EmailMessage] = []
    async with asyncio.timeout(30):
        while not found:
            mails = await asyncio.to_thread(servers.mails, ADA)
            found = [one for one in mails if list(one.iter_attachments())]
    return found


def named(message: EmailMessage) -> EmailMessage:
    """Give a mail an id, as the sender's program does."""
    message["Message-ID"] = f"<live-{next(_numbers)}@people.test>"
    return message


@pytest.mark.req("A2", "W9", "W11", "W17", "A8")
async def test_a_mail_is_answered_once_in_its_thread_with_files_both_ways(
    tmp_path: Path, servers: MailServers, model: str
) -> None:
    folders = {"HERMES_MEDIA__FOLDERS": str(tmp_path / "out")}
    home = tmp_path / "home"
    async with live_gateway(home, variables(servers, model, **folders)) as gateway:
        first = named(letter("What is **this**? <&>", subject="Grüße aus Köln"))
        first.add_attachment(picture(7), maintype="image", subtype="png", filename="Bild ä.png")
        await asyncio.to_thread(servers.send, first)
        (reply,) = await servers.until(ADA, "#1 What is this? <&>")
        assert reply["Subject"] == "Re: Grüße aus Köln"
        assert reply["In-Reply-To"] == first["Message-ID"]
        assert reply["Auto-Submitted"] == "auto-replied"

        # A poor program, which names only the mail that it answers.
        second = named(letter("And then?\n-- \nAda, people.test"))
        second["In-Reply-To"] = reply["Message-ID"]
        await asyncio.to_thread(servers.send, second)
        forged = named(letter("I am nobody you know.", sender=f"Eve <{EVE}>"))
        await asyncio.to_thread(lambda: servers.send(forged, sender=EVE))
        robot = named(letter("I am away."))
        robot["Auto-Submitted"] = "auto-replied"
        await asyncio.to_thread(servers.send, robot)
        await servers.until(ADA, "#1 What is this? <&>", "#2 And then?")

        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("the notes")
        third = named(letter(f"A file.\nMEDIA: {tmp_path}/out/notes.txt", subject="Another thing"))
        await asyncio.to_thread(servers.send, third)
        answers = ("#1 What is this? <&>", "#2 And then?", "#1 A file.")
        *_, last = await until_file(servers)
        (file,) = last.iter_attachments()
        assert (file.get_filename(), file.get_content()) == ("notes.txt", "the notes")
        sent = await asyncio.to_thread(servers.mails, HERMES, "Sent")
        assert {text_of(one) for one in sent} >= set(answers)
        assert PASSWORD not in gateway.said()
        assert "email.refused" in gateway.said()
    assert servers.mails(EVE) == []
    assert servers.unread(HERMES) == []


@pytest.mark.req("J1", "J4", "W2")
async def test_killed_after_accept_and_with_servers_restarted_each_mail_is_answered_once(
    tmp_path: Path, servers: MailServers, model: str
) -> None:
    home = tmp_path / "home"
    kill = variables(servers, model, HERMES_FAILPOINTS="store.accept.after:1")
    async with live_gateway(home, kill) as gateway:
        await asyncio.to_thread(servers.send, named(letter("one")))
        async with asyncio.timeout(60):
            assert await gateway.process.wait() == -signal.SIGKILL
    assert len(servers.unread(HERMES)) == 1

    await asyncio.to_thread(servers.send, named(letter("two", subject="Another")))
    more = {"HERMES_EMAIL__DONE_FOLDER": "Done"}
    async with live_gateway(home, variables(servers, model, **more)) as gateway:
        await servers.until(ADA, "#1 one", "#1 two")
        await gateway.settled()
        servers.stop()
        await servers.start()
        await asyncio.to_thread(servers.send, named(letter("three", subject="A third")))
        await servers.until(ADA, "#1 one", "#1 two", "#1 three")
    assert servers.mails(HERMES) == []
    assert len(servers.mails(HERMES, "Done")) == 3


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    ("where", "texts"),
    [
        ("channel.send.before:1", ["(possibly a repeat) #1 hello"]),
        ("channel.send.after:1", ["#1 hello"]),
    ],
)
async def test_killed_around_a_send_nothing_is_repeated_in_silence(
    tmp_path: Path, servers: MailServers, model: str, where: str, texts: list[str]
) -> None:
    home = tmp_path / "home"
    async with live_gateway(home, variables(servers, model, HERMES_FAILPOINTS=where)) as gateway:
        await asyncio.to_thread(servers.send, named(letter("hello")))
        async with asyncio.timeout(60):
            assert await gateway.process.wait() == -signal.SIGKILL

    async with live_gateway(home, variables(servers, model)):
        await servers.until(ADA, *texts)
        await asyncio.to_thread(servers.send, named(letter("barrier", subject="Another")))
        await servers.until(ADA, *texts, "#1 barrier")

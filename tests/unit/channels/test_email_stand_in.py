"""Mail's stand-in: other people's clients can talk to it, and it refuses what careful servers refuse."""

import asyncio
import smtplib
from collections.abc import AsyncIterator, Callable
from email.message import EmailMessage
from email.policy import SMTP
from imaplib import IMAP4
from typing import Any

import aioimaplib  # type: ignore[import-untyped]
import aiosmtplib
import pytest

from hermes.testing.email.people import People
from hermes.testing.email.server import EmailStandIn
from hermes.testing.email.state import ADDRESS, PASSWORD
from hermes.testing.stand_in import PersonMessage


@pytest.fixture
async def mail() -> AsyncIterator[EmailStandIn]:
    made = EmailStandIn()
    await made.start()
    yield made
    await made.stop()


def good() -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = ADDRESS, "ada@people.test"
    message["Subject"], message["Date"] = "Re: x", "Mon, 16 Nov 2026 02:00:00 +0000"
    message["Message-ID"], message["Auto-Submitted"] = "<a@hermes.test>", "auto-replied"
    message.set_content("hello")
    message.add_alternative("<p>hello</p>", subtype="html")
    return message


@pytest.mark.req("W10")
async def test_libraries_of_others_send_and_read(mail: EmailStandIn) -> None:
    smtp = aiosmtplib.SMTP(hostname="127.0.0.1", port=mail.smtp.port, start_tls=False)
    async with smtp:
        await smtp.login(ADDRESS, PASSWORD)
        await smtp.send_message(good())
    assert [post.text for post in mail.posts("ada")] == ["hello"]

    mail.state.inbox.add(People().write(PersonMessage(text="one"))[1])
    imap = aioimaplib.IMAP4("127.0.0.1", mail.imap.port)
    await imap.wait_hello_from_server()
    await imap.login(ADDRESS, PASSWORD)
    await imap.select("INBOX")
    assert (await imap.uid_search("UNSEEN", charset=None)).lines[0] == b"1"
    fetched = await imap.uid("fetch", "1", "(UID BODY.PEEK[])")
    assert b"one" in bytes(fetched.lines[1])
    pushed = await imap.idle_start(timeout=10)
    mail.state.inbox.add(People().write(PersonMessage(text="two"))[1])
    assert await imap.wait_server_push() == [b"2 EXISTS"]
    imap.idle_done()
    await asyncio.wait_for(pushed, 5)
    await imap.logout()
    assert mail.rejections == ()


def _only_text(message: EmailMessage) -> None:
    message.clear_content()
    message.set_content("only text")


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda message: message.add_header("From", "x@y.test"), "from occurs 2 times"),
        (lambda message: message.replace_header("From", "x@y.test"), "own address"),
        (lambda message: message.__delitem__("Auto-Submitted"), "auto-submitted occurs 0 times"),
        (lambda message: message.replace_header("Message-ID", "nothing"), "ids in brackets"),
        (_only_text, "text and HTML come first"),
        (lambda message: message.replace_header("To", "other@people.test"), "To is the recipient"),
    ],
)
async def test_mails_that_break_a_rule_are_refused(
    mail: EmailStandIn, spoil: Callable[[EmailMessage], Any], rule: str
) -> None:
    message = good()
    raw = _spoiled(message, spoil)

    def send() -> None:
        with smtplib.SMTP("127.0.0.1", mail.smtp.port, timeout=5) as smtp:
            smtp.login(ADDRESS, PASSWORD)
            smtp.sendmail(ADDRESS, ["ada@people.test"], raw)

    with pytest.raises(smtplib.SMTPDataError):
        await asyncio.to_thread(send)
    assert rule in mail.rejections[0]
    assert mail.posts("ada") == ()


def _spoiled(message: EmailMessage, spoil: Callable[[EmailMessage], Any]) -> bytes:
    try:
        spoil(message)
    except ValueError:
        # Python itself would not write a header twice.
        return b"From: x@y.test\r\n" + message.as_bytes()
    return message.as_bytes()


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b"NONSENSE", "unknown command"),
        (b"MAIL FROM:<x@y.test>", "EHLO comes first"),
        (b"EHLO", "EHLO names the client"),
        (b"EHLO x\r\nMAIL FROM:<x@y.test>", "AUTH comes before MAIL"),
        (b"EHLO x\r\nRCPT TO:<x@y.test>", "early"),
        (b"EHLO x\r\nDATA", "DATA comes after RCPT"),
        (b"EHLO x\r\nAUTH LOGIN", "AUTH PLAIN"),
        (b"EHLO x\r\nMAIL FROM:x@y.test", "malformed"),
        (b"EHLO x" + b"y" * 2000, "1,000 bytes"),
    ],
)
async def test_smtp_is_strict(mail: EmailStandIn, line: bytes, rule: str) -> None:
    await _talk(mail.smtp.port, line + b"\r\nQUIT\r\n")
    assert any(rule in one for one in mail.rejections)


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("NONSENSE", "unknown command"),
        ("UID FETCH 1 (BODY[])", "leaves mail unread"),
        ("UID FETCH 1:* (UID)", "one UID"),
        ("UID STORE 1 +FLAGS (\\Deleted)", "STORE"),
        ("UID SEARCH SINCE yesterday", "SINCE"),
        ("UID SEARCH LARGER 5", "unknown criterion"),
        ("UID FETCH 1 (UID", "not closed"),
        ("UID EXPUNGE 1", "unknown command UID"),
    ],
)
async def test_imap_is_strict(mail: EmailStandIn, command: str, rule: str) -> None:
    mail.state.inbox.add(b"Subject: x\r\n\r\n")
    head = f'a LOGIN "{ADDRESS}" "{PASSWORD}"\r\nb SELECT INBOX\r\n'
    await _talk(mail.imap.port, f"{head}c {command}\r\nd LOGOUT\r\n".encode())
    assert any(rule in one for one in mail.rejections)


@pytest.mark.req("W10")
async def test_nothing_goes_without_the_password(mail: EmailStandIn) -> None:
    def try_in() -> None:
        with IMAP4("127.0.0.1", mail.imap.port, timeout=5) as imap:
            imap.login(ADDRESS, "wrong")

    with pytest.raises(IMAP4.error, match="AUTHENTICATIONFAILED"):
        await asyncio.to_thread(try_in)
    await _talk(mail.imap.port, b"a SELECT INBOX\r\nb LOGOUT\r\n")
    assert mail.rejections == ("IMAP: SELECT before LOGIN",)


async def _talk(port: int, lines: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(lines)
    async with asyncio.timeout(30):
        await reader.read()
    writer.close()

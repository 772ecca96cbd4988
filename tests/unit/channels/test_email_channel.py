"""The mail channel on its stand-in: what is read when, what is marked when, and what a send is worth."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from hermes.channels.email.addresses import read_address
from hermes.channels.email.answer_rate import AnswerRate
from hermes.channels.email.imap import Imap
from hermes.channels.email.inbound import MailReadRules
from hermes.channels.email.intake import MailIntake
from hermes.channels.email.settings import Security, Server
from hermes.channels.email.smtp import Smtp, SmtpFailed, Stage
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    NotDelivered,
    Overloaded,
    TryLater,
)
from hermes.message.parts import FilePart, Media, Part, TextPart
from hermes.outbox.channel_calls import ChannelCalls
from hermes.ports.channel import Delivery, ReturnedDelivery, Target
from hermes.ports.clock import SystemClock
from hermes.testing.email.people import delivered
from hermes.testing.email.state import PASSWORD
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.unit.channels.email_rig import Rig, rig, scripted, serving, until

ADA = "chat-1@people.test"


@pytest.fixture
async def town() -> AsyncIterator[Rig]:
    async with rig() as made:
        yield made
    assert made.mail.rejections == ()


def seen(town: Rig) -> list[bool]:
    return ["\\Seen" in mail.flags for mail in town.mail.state.inbox.mails]


def reply(thread_id: str | None = None, reply_to: str | None = None) -> Delivery:
    target = Target(
        platform="email", account="default", chat_id=ADA, thread_id=thread_id, reply_to=reply_to
    )
    return Delivery(id="d", target=target, parts=(TextPart("yes"),), key="d.0")


@pytest.mark.req("A8", "W10")
async def test_a_mail_that_takes_too_long_to_read_is_refused_and_not_fetched_again(
    town: Rig,
) -> None:
    raw = b"From: a@people.test\r\nContent-Type: text/html\r\n\r\n" + b"<b>a</b> " * 100_000
    await town.connected(read_s=0.01, trust="none")
    with structlog.testing.capture_logs() as logs:
        town.mail.state.inbox.add(raw, at=time.time())  # noqa: TID251 - as a mail server does
        await until(lambda: seen(town) == [True])
    (refused,) = [one for one in logs if one["event"] == "email.refused"]
    assert refused["code"] == "too_large"
    assert "took longer than 0.01 s" in refused["problem"]
    assert town.texts() == []


class Held(bytes):
    """A mail that takes as long to read as the test wants."""

    read_on = threading.Event()

    def startswith(self, *given: object) -> bool:
        assert Held.read_on.wait(30)
        return super().startswith(*given)  # type: ignore[arg-type]


class Unreadable(Held):
    """A mail that nobody can read, which takes as long as the test wants."""

    def startswith(self, *given: object) -> bool:
        super().startswith(*given)
        raise ValueError("no mail")


@pytest.fixture
def held() -> Iterator[Held]:
    Held.read_on.clear()
    yield Held(b"From: a@people.test\r\n\r\nlong")
    Held.read_on.set()


def intake(town: Rig, *, read_s: float) -> MailIntake:
    return MailIntake(
        town.accept,
        reading=MailReadRules(own=read_address("hermes@hermes.test"), authserv_id=None),
        setup=town.setup(),
        answer_rate=AnswerRate(30, SystemClock()),
        read_s=read_s,
    )


async def take(into: MailIntake, raw: bytes) -> None:
    async with asyncio.timeout(20):
        await into.take(raw, validity=1, uid=1, at=0.0, is_whole=True)


@pytest.mark.req("A8", "W10")
async def test_mails_that_were_given_up_hold_up_no_other_unless_they_are_many(
    town: Rig, held: Held
) -> None:
    slow = intake(town, read_s=1)
    await take(slow, held)
    await take(slow, b"From: a@people.test\r\n\r\nshort")
    assert town.texts() == ["short"]

    for _ in range(2):
        await take(slow, held)
    with pytest.raises(TryLater):
        await take(slow, b"From: b@people.test\r\n\r\nlater")
    Held.read_on.set()
    await take(slow, b"From: b@people.test\r\n\r\nlater")
    assert town.texts() == ["short", "later"]


@pytest.mark.req("A8", "W10")
async def test_a_reader_whose_mail_nobody_waits_for_any_more_ends_without_a_word(
    town: Rig, held: Held
) -> None:
    unheard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, told: unheard.append(told["message"])
    )
    others = len(asyncio.all_tasks())
    taking = asyncio.create_task(take(intake(town, read_s=20), Unreadable(held)))
    await until(lambda: len(asyncio.all_tasks()) == others + 2)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    # It holds the reader by the traceback of its error.
    del taking

    Held.read_on.set()
    await until(lambda: len(asyncio.all_tasks()) == others)
    gc.collect()

    assert unheard == []


@pytest.mark.req("A8")
def test_addresses_that_write_once_are_forgotten_when_they_are_many() -> None:
    answer_rate = AnswerRate(1, SystemClock())
    for number in range(10_001):
        assert answer_rate.wait_s(f"{number}@people.test") == 0
        answer_rate.took(f"{number}@people.test")
    assert answer_rate.wait_s("10000@people.test") > 0
    assert answer_rate.wait_s("0@people.test") == 0


@pytest.mark.req("W2", "W10")
async def test_old_mail_of_a_mailbox_is_never_answered_and_stays_unread(town: Rig) -> None:
    inbox = town.mail.state.inbox
    _, old = town.mail.people.write(PersonMessage(text="old", chat="a"))
    _, new = town.mail.people.write(PersonMessage(text="new", chat="b"))
    inbox.add(old, at=time.time() - 2 * 86400)  # noqa: TID251 - as a mail server does
    inbox.add(new, at=time.time() - 1000)  # noqa: TID251
    first = await town.connected()
    await until(lambda: town.texts() == ["new"])
    await first.disconnect()

    await town.connected(first_age_s=10 * 86400)
    await town.mail.say(PersonMessage(text="barrier", chat="c"))
    assert town.texts() == ["new", "barrier"]
    assert seen(town) == [False, True, True]


@pytest.mark.req("J1", "J4")
@pytest.mark.quality("acknowledged after it is kept")
async def test_a_mail_is_marked_only_once_it_is_kept(town: Rig) -> None:
    town.refusals.append(Overloaded("full", retry_after=0.05))
    await town.connected()
    saying = asyncio.create_task(town.mail.say(PersonMessage(text="hello")))
    await until(lambda: not town.refusals)
    assert seen(town) == [False]
    await town.mail.say(PersonMessage(text="behind it"))
    await saying
    assert town.texts() == ["hello", "behind it"]

    town.refusals.append(BadRequest("never"))
    await town.mail.say(PersonMessage(text="refused", chat="b"))
    assert town.texts() == ["hello", "behind it"]
    assert seen(town) == [True, True, True]


@pytest.mark.req("J1")
async def test_a_folder_that_was_made_anew_repeats_nothing(town: Rig) -> None:
    channel = await town.connected()
    await town.mail.say(PersonMessage(text="hello", times=2))
    await channel.disconnect()
    folder = town.mail.state.inbox
    folder.rebuild()
    for mail in folder.mails:
        mail.flags.clear()

    await town.connected()
    await until(lambda: all(seen(town)))
    await town.mail.say(PersonMessage(text="barrier"))
    assert town.texts() == ["hello", "barrier"]


@pytest.mark.req("W10", "W17")
async def test_without_idle_it_looks_again_and_moves_what_is_done() -> None:
    async with rig(can_idle=False, is_moving=True) as town:
        await town.connected(poll_s=0.05)
        picture = File(data=b"\x89PNG", mime="image/png", name="a.png")
        huge = File(data=bytes(200_000), mime="application/zip", name="b.zip")
        await town.mail.say(PersonMessage(text="one", files=(picture, huge)))
        folders = town.mail.state.folders.values()
        await until(lambda: [len(folder.mails) for folder in folders] == [0, 1, 0])
        assert "IDLE" not in town.mail.imap.commands
        assert town.mail.rejections == ()
    assert town.texts() == ["one\n\n[The attachment b.zip was not taken: it is too large]"]
    assert list(town.media_cache.kept.values()) == [b"\x89PNG"]


@pytest.mark.req("W10")
async def test_of_a_mail_that_is_too_large_only_the_beginning_is_read(town: Rig) -> None:
    await town.connected(max_bytes=100_000)
    huge = File(data=bytes(500_000), mime="application/zip", name="b.zip")
    await town.mail.say(PersonMessage(text="look at this", files=(huge,)))
    assert town.texts() == ["look at this\n\n[The mail was too large to be read whole.]"]
    assert town.media_cache.kept == {}


@pytest.mark.req("W30")
async def test_more_mails_of_one_address_than_are_answered_wait_for_the_next_hour(
    town: Rig,
) -> None:
    await town.connected(replies_per_hour=2)
    for text in ("one", "two"):
        await town.mail.say(PersonMessage(text=text))
    waiting = asyncio.create_task(town.mail.say(PersonMessage(text="three")))
    await until(lambda: len(seen(town)) == 3)
    await town.mail.say(PersonMessage(text="another", chat="b"))
    assert town.texts() == ["one", "two", "another"]
    assert seen(town) == [True, True, False, True]
    waiting.cancel()


@pytest.mark.req("A8", "W30")
async def test_what_is_forged_or_automatic_is_marked_and_never_a_message(town: Rig) -> None:
    await town.connected()
    _, raw = town.mail.people.write(PersonMessage(text="I am Ada"))
    bare = raw.partition(b"Received:")[2]
    town.mail.state.inbox.add(delivered(b"Received:" + bare, sender=ADA, result="dmarc=fail"))
    await town.mail.say(PersonMessage(text="I am a program", is_bot=True, chat="b"))
    await town.mail.say(PersonMessage(text="barrier", chat="c"))
    assert town.texts() == ["barrier"]
    assert seen(town) == [True, True, True]


@pytest.mark.req("A28", "A26")
@pytest.mark.parametrize(
    ("status", "failure", "told"),
    [
        ("5.1.1", FailureClass.INVALID_RECIPIENT, "5.1.1"),
        ("5.7.1", FailureClass.REJECTED, "5.7.1"),
        ("5.1.1 see ada@people.test", FailureClass.REJECTED, ""),
    ],
)
async def test_a_mail_that_comes_back_is_told_by_its_key_and_is_no_message(
    town: Rig, status: str, failure: FailureClass, told: str
) -> None:
    channel = await town.connected()
    await channel.send(reply(thread_id="root@people.test"))
    await town.mail.bounce(town.mail.posts(ADA)[0], status=status)
    await town.mail.say(PersonMessage(text="barrier", chat="c"))
    assert town.returned == [ReturnedDelivery(key="d.0", failure=failure, status=told)]
    assert town.texts() == ["barrier"]


@pytest.mark.req("W11", "W10")
async def test_after_a_restart_the_subject_is_still_known(town: Rig) -> None:
    channel = await town.connected()
    first = await town.mail.say(PersonMessage(text="hello"))
    await channel.disconnect()
    again = await town.connected()
    event = town.events[0]
    await again.send(reply(thread_id=event.source.thread_id, reply_to=event.external_id))
    (post,) = town.mail.posts("chat-1")
    assert (post.text, post.reply_to, post.thread) == ("yes", first, first)
    assert b"Subject: Re: A question\r\n" in town.mail.state.sent[0][1]


@pytest.mark.req("J17")
async def test_what_was_filed_is_found_by_its_key(town: Rig) -> None:
    channel = await town.connected()
    assert (channel.capabilities.history, channel.capabilities.history_whole) == (True, False)
    assert await channel.find(reply().target, "d.0") is None
    receipt = await channel.send(reply())
    assert await channel.find(reply().target, "d.0") == receipt
    assert await channel.find(reply().target, "d.1") is None
    plain = town.channel(sent_folder="")
    assert not plain.capabilities.history


@pytest.mark.req("W17")
async def test_a_file_goes_along(town: Rig) -> None:
    channel = await town.connected()
    media = await town.media_cache.keep(b"the notes", mime="text/plain", name="notes.txt")
    target = reply().target
    parts = (TextPart("here"), FilePart(media))
    await channel.send(Delivery(id="d", target=target, parts=parts, key="d.0"))
    (post,) = town.mail.posts("chat-1")
    assert (post.text, post.files) == ("here", ("notes.txt",))


@pytest.mark.req("W17", "J17")
async def test_a_reply_with_two_files_is_one_mail_that_is_found_by_its_key(town: Rig) -> None:
    channel = await town.connected()
    files = [
        await town.media_cache.keep(b"x" * 9, mime="text/plain", name=name) for name in ("a", "b")
    ]
    parts = ChannelCalls(channel, timeout_s=1).chunks((TextPart("here"), *map(FilePart, files)))
    assert len(parts) == 1
    receipt = await channel.send(Delivery(id="d", target=reply().target, parts=parts[0], key="d.0"))
    (post,) = town.mail.posts("chat-1")
    assert (post.text, post.files) == ("here", ("a", "b"))
    assert await channel.find(reply().target, "d.0") == receipt
    raw = town.mail.state.sent[0][1]
    assert (raw.count(b"text/html"), raw.count(b"Message-ID:")) == (1, 1)


@pytest.mark.req("W17", "A26")
async def test_a_file_that_is_gone_does_not_take_the_text_with_it(town: Rig) -> None:
    channel = await town.connected()
    there = await town.media_cache.keep(b"x", mime="text/plain", name="a.txt")
    gone = FilePart(Media("text/plain", path="/gone", name="b`.txt", size=1))

    async def send(*parts: Part) -> None:
        await channel.send(Delivery(id="d", target=reply().target, parts=parts, key="d.0"))

    await send(TextPart("here"), FilePart(there), gone)
    with pytest.raises(DeliveryRejected):
        await send(gone)
    await send(FilePart(there))
    assert [(post.text, post.files) for post in town.mail.posts("chat-1")] == [
        ("here\n\n(b'.txt could not be attached.)", ("a.txt",)),
        ("Attached: a.txt", ("a.txt",)),
    ]


@pytest.mark.req("A26", "W2")
async def test_a_copy_that_cannot_be_filed_does_not_undo_the_send(town: Rig) -> None:
    channel = await town.connected(sent_folder="Nowhere")
    await channel.send(reply())
    assert len(town.mail.posts("chat-1")) == 1


@pytest.mark.req("W2", "W33")
@pytest.mark.quality("secrets masked")
async def test_a_wrong_password_is_told_and_not_shown(town: Rig) -> None:
    for wrong in ({"imap_password": "wrong-one"}, {"smtp_password": "wrong-one"}):
        with pytest.raises(ConfigurationError, match=r"platforms\.email\.password") as caught:
            await town.connected(**wrong)
        assert "wrong-one" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"platforms\.email\.folder"):
        await town.connected(folder="Nowhere")


@pytest.mark.req("W2")
async def test_a_connection_that_is_gone_is_noticed(town: Rig) -> None:
    channel = await town.connected()
    await channel.probe()
    await town.mail.cut()
    with pytest.raises(HermesError):
        async with asyncio.timeout(30):
            await channel.lost()
    town.mail.revoke()
    with pytest.raises(ConfigurationError, match=r"platforms\.email\.password"):
        await channel.probe()


@pytest.mark.req("W2")
async def test_a_server_that_only_says_that_it_is_there_does_not_hold_up_the_next_look() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"* OK hi\r\n")
        while line := await reader.readline():
            tag, verb = line.split()[:2]
            if verb != b"IDLE":
                writer.write(tag + b" OK done\r\n")
                continue
            writer.write(b"+ go\r\n")
            done = asyncio.ensure_future(reader.readline())
            while not done.done():
                writer.write(b"* OK still here\r\n")
                await asyncio.wait({done}, timeout=0.01)
            writer.write(tag + b" OK done\r\n")

    async with serving(serve) as port, asyncio.timeout(30):
        imap = await Imap.open(plain(port), timeout_s=5.0)
        await imap.idle(0.1)
        await imap.noop()
        await imap.close()


@pytest.mark.req("J17", "A28")
async def test_a_password_that_is_revoked_ends_the_channel(town: Rig) -> None:
    channel = await town.connected()
    town.mail.plan(Fault(kind="unauthorized"))
    with pytest.raises(DeliveryError) as caught:
        await channel.send(reply())
    assert caught.value.failure == "unauthorized"
    assert PASSWORD not in str(caught.value)
    with pytest.raises(ConfigurationError):
        await channel.lost()


GREETING = (b"220 hi\r\n", b"250-x\r\n250 AUTH PLAIN\r\n", b"235 ok\r\n")
TALK = (*GREETING, b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n")
MAIL = b"Subject: x\r\n\r\n.dots\r\nand more\r\n"


def plain(port: int, security: Security = "plain") -> Server:
    return Server(host="127.0.0.1", port=port, security=security, user="u", password="p")


async def submit(port: int) -> None:
    smtp = await Smtp.open(plain(port), timeout_s=5.0)
    try:
        await smtp.submit("a@b.test", "c@d.test", MAIL)
    finally:
        await smtp.drop()


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    ("answers", "stage"),
    [
        ((), Stage.CONNECTING),
        (TALK[:1], Stage.CONNECTING),
        (TALK[:2], Stage.SIGNING_IN),
        (TALK[:3], Stage.NAMING),
        (TALK[:4], Stage.NAMING),
        (TALK[:5], Stage.NAMING),
        ((*TALK, b"", b"", b"", b""), Stage.ENDED),
        ((*TALK, b"", b"", b"", b"", b"nonsense\r\n"), Stage.ENDED),
    ],
)
async def test_until_the_last_dot_a_loss_is_certain(
    answers: tuple[bytes, ...], stage: Stage
) -> None:
    async with scripted(*answers) as (port, heard):
        with pytest.raises(SmtpFailed) as caught:
            await submit(port)
    assert stage < Stage.ENDED or b"..dots\r\n" in heard
    assert (caught.value.stage, caught.value.answer) == (stage, None)


@pytest.mark.req("J17")
async def test_a_body_that_did_not_leave_whole_is_certainly_not_there() -> None:
    async with scripted(*TALK) as (port, _heard):
        smtp = await Smtp.open(plain(port), timeout_s=5.0)
        with pytest.raises(SmtpFailed) as caught:
            await smtp.submit("a@b.test", "c@d.test", b"x" * 70 + b"\r\n" + b"y" * 20_000_000)
        await smtp.drop()
    assert caught.value.stage is Stage.WRITING


@pytest.mark.req("A8", "W33")
@pytest.mark.parametrize(
    "answers",
    [
        (b"220 hi\r\n", b"250-x\r\n250 AUTH PLAIN\r\n", b"235 ok\r\n"),
        (b"220 hi\r\n", b"250-x\r\n250 STARTTLS\r\n", b"220 go\r\n250 injected\r\n"),
        (b"220 hi\r\n", b"250-x\r\n250 STARTTLS\r\n", b"454 no\r\n", b"235 ok\r\n"),
    ],
)
async def test_without_tls_no_password_leaves(answers: tuple[bytes, ...]) -> None:
    async with scripted(*answers) as (port, heard):
        with pytest.raises(SmtpFailed, match=r"no STARTTLS|more than was asked|refused"):
            await Smtp.open(plain(port, "starttls"), timeout_s=5.0)
    assert not any(b"AUTH" in line for line in heard)


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("refuse_connection", NotDelivered),
        ("rate_limited", NotDelivered),
        ("server_error", NotDelivered),
        ("reset_after", DeliveryUnknown),
    ],
)
async def test_a_send_that_fails_says_what_is_known(town: Rig, kind: str, error: type) -> None:
    channel = await town.connected()
    town.mail.plan(Fault(kind=kind))  # type: ignore[arg-type]
    with pytest.raises(error):
        await channel.send(reply())
    assert len(town.mail.posts("chat-1")) == (error is DeliveryUnknown)

"""Mail out: headers that nobody can add to, threads that hold, and what a refusal means."""

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.email import compose, outbound, threads
from hermes.channels.email import settings as email_settings
from hermes.channels.email.addresses import read_address
from hermes.channels.email.compose import MailFile, reply_subject
from hermes.channels.email.outbound import ParentMail
from hermes.channels.email.smtp import SmtpFailed, SmtpReply, Stage
from hermes.errors import (
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.parts import TextPart
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Delivery, Target
from hermes.testing.email.rules import broken_rule

OWN = read_address("hermes@hermes.test")
TARGET = Target(
    platform="email",
    account="default",
    chat_id="ada@people.test",
    thread_id="root@x.test",
    reply_to="m2@people.test ada@people.test",
)
AWKWARD = st.text(st.one_of(st.characters(), st.sampled_from("\r\n\t\0 <>:;@=?_.\u202e\u200d👩é")))


PARENT = ParentMail(subject="A question", references=("root@x.test", "m1@x.test"))


def written(
    text: str = "Hello **you**",
    *,
    target: Target = TARGET,
    answered: ParentMail = PARENT,
    name: str = "Hermes",
    uploads: tuple[MailFile, ...] = (),
) -> bytes:
    delivery = Delivery(id="d", target=target, parts=(TextPart(text),), key="d.0")
    draft = outbound.draft_of(
        delivery, own=OWN, name=name, answered=answered, uploads=uploads, at=1_800_000_000.0
    )
    return compose.write(draft)


def parsed(raw: bytes) -> EmailMessage:
    message = BytesParser(policy=policy.default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    return message


@pytest.mark.req("W10", "W11")
def test_a_reply_stands_in_its_thread_under_its_subject_once() -> None:
    message = parsed(written())
    ours = threads.own_id("d.0", thread="root@x.test", domain="hermes.test")
    assert message["Subject"] == "Re: A question"
    assert message["Message-ID"] == f"<{ours}>"
    assert message["In-Reply-To"] == "<m2@people.test>"
    assert message["References"] == "<root@x.test> <m1@x.test> <m2@people.test>"
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["From"] == "Hermes <hermes@hermes.test>"
    plain, page = message.iter_parts()
    assert plain.get_content().strip() == "Hello you"
    assert "<strong>you</strong>" in page.get_content()
    assert written() == written()


@pytest.mark.req("W11")
def test_what_is_known_of_the_thread_is_enough() -> None:
    forgotten = parsed(written(answered=ParentMail()))
    assert forgotten["References"] == "<root@x.test> <m2@people.test>"
    later = Target(
        platform="email", account="a", chat_id="ada@people.test", thread_id="root@x.test"
    )
    assert parsed(written(target=later, answered=ParentMail()))["In-Reply-To"] == "<root@x.test>"
    new = parsed(
        written(
            target=Target(platform="email", account="a", chat_id="a@b.test"), answered=ParentMail()
        )
    )
    assert (new["References"], new["Auto-Submitted"]) == (None, "auto-generated")
    long = tuple(f"{number}{'x' * 200}@x.test" for number in range(60))
    ids = parsed(written(answered=ParentMail(subject="x", references=long)))["References"].split()
    assert len(ids) == threads.MAX_REFERENCES
    assert (ids[0], ids[-1]) == (f"<{long[0]}>", "<m2@people.test>")


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("subject", "reply"),
    [
        ("Hi", "Re: Hi"),
        ("Re: Hi", "Re: Hi"),
        ("RE: Aw: re[2]: Hi", "Re: Hi"),
        ("Reply: Hi", "Re: Reply: Hi"),
        ("", "Re: your message"),
        ("a\r\nBcc: x@y.test", "Re: a Bcc: x@y.test"),
    ],
)
def test_a_subject_has_re_before_it_once(subject: str, reply: str) -> None:
    assert reply_subject(subject) == reply


@pytest.mark.req("A8", "W10")
@given(text=AWKWARD, subject=AWKWARD, name=AWKWARD, file=AWKWARD)
def test_no_text_adds_a_header_or_breaks_the_mail(
    text: str, subject: str, name: str, file: str
) -> None:
    upload = MailFile(name=file, mime=f"text/{name}", data=b"From x\r\n.\r\n--b")
    answered = ParentMail(subject=subject, references=("root@x.test",))
    raw = written(text, name=name, answered=answered, uploads=(upload,))
    assert broken_rule(raw, recipient="ada@people.test") is None
    message = parsed(raw)
    assert list(message) == [
        "From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References", "Auto-Submitted",
        "X-Auto-Response-Suppress", "MIME-Version", "Content-Type",
    ]  # fmt: skip
    assert message["Subject"] == reply_subject(subject).strip()
    assert message["From"].addresses[0].addr_spec == OWN.text
    (attached,) = message.iter_attachments()
    assert attached.get_payload(decode=True) == upload.data


@pytest.mark.req("W17")
def test_a_file_keeps_its_name_and_its_bytes() -> None:
    picture = MailFile(name="Übersicht 1.png", mime="image/png", data=bytes(range(256)))
    (attached,) = parsed(written(uploads=(picture,))).iter_attachments()
    assert attached.get_filename() == "Übersicht 1.png"
    assert attached.get_content_type() == "image/png"
    assert attached.get_content() == bytes(range(256))


@pytest.mark.req("W10")
def test_long_lines_are_folded() -> None:
    raw = written("word " * 5000 + "x" * 5000, answered=ParentMail(subject="wörter " * 60))
    assert max(len(line) for line in raw.split(b"\r\n")) <= 200
    assert parsed(raw)["Subject"].startswith("Re: wörter wörter")


def _failed(stage: Stage, code: int | None) -> SmtpFailed:
    return SmtpFailed(stage, "why", None if code is None else SmtpReply(code, "said"))


@pytest.mark.req("A28", "J17")
@pytest.mark.parametrize(
    ("stage", "code", "error", "failure"),
    [
        (Stage.CONNECTING, None, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.SIGNING_IN, None, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.NAMING, None, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.WRITING, None, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.ENDED, None, DeliveryUnknown, FailureClass.NETWORK_TIMEOUT),
        (Stage.CONNECTING, 554, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.SIGNING_IN, 454, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.SIGNING_IN, 535, DeliveryRejected, FailureClass.UNAUTHORIZED),
        (Stage.NAMING, 451, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.NAMING, 550, DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        (Stage.NAMING, 551, DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        (Stage.NAMING, 553, DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        (Stage.NAMING, 552, DeliveryRejected, FailureClass.REJECTED),
        (Stage.ENDED, 421, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (Stage.ENDED, 554, DeliveryRejected, FailureClass.REJECTED),
        (Stage.ENDED, 550, DeliveryRejected, FailureClass.REJECTED),
    ],
)
def test_how_far_it_came_says_what_is_known(
    stage: Stage, code: int | None, error: type[DeliveryError], failure: FailureClass
) -> None:
    found = outbound.delivery_error(_failed(stage, code))
    assert (type(found), found.failure) == (error, failure)


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    "chat", ["", "ada", "a@b@c.test", "a@b.test\r\nRCPT TO:<x@y.test>", "a b@c.test"]
)
def test_what_is_no_address_is_written_to_by_nobody(chat: str) -> None:
    with pytest.raises(DeliveryRejected) as caught:
        outbound.recipient_of(Target(platform="email", account="a", chat_id=chat))
    assert caught.value.failure is FailureClass.INVALID_RECIPIENT


def read(**more: object) -> email_settings.EmailSettings:
    manifest = load_manifest("hermes.channels.email")
    table = {"address": OWN.text, "password": "secret-word", "imap_host": "imap.x.test", "smtp_host": "smtp.x.test"}  # fmt: skip
    return email_settings.read(
        read_settings(manifest, {**table, "authserv_id": "MX.x.test", **more})
    )


@pytest.mark.req("A8", "W10")
def test_settings_that_would_give_the_password_away_or_trust_anybody_are_refused() -> None:
    found = read()
    assert (found.imap.port, found.smtp.port, found.authserv_id) == (993, 587, "mx.x.test")
    assert read(smtp_security="tls", imap_security="starttls").smtp.port == 465
    assert read(trust="none").authserv_id is None
    assert "secret-word" not in repr(found) + repr(found.imap)
    assert read(imap_host="127.0.0.1", imap_security="plain").imap.security == "plain"
    bad: list[dict[str, object]] = [
        {"authserv_id": ""},
        {"imap_security": "plain"},
        {"smtp_security": "plain", "smtp_host": "localhost.evil.test"},
        {"address": "nobody"},
        {"imap_host": "a b"},
        {"password": "a\nb"},
        {"folder": "a\r\nb"},
        {"poll_s": 0},
        {"smtp_port": 99999},
    ]
    for more in bad:
        with pytest.raises(ConfigurationError, match=r"platforms\.email"):
            read(**more)

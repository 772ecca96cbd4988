"""Converts the bytes of a mail to an event: sender, thread, new text, attachments. Pure.

The sender is verified before the body is read. Mail from programs gives no event; mail that cannot
be trusted raises a refusal.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from hermes.channels.email import loops, mail_text, mime, quotes, threads
from hermes.channels.email.addresses import MailAddress, addresses_in, read_address
from hermes.channels.email.authenticity import is_vouched
from hermes.channels.email.bounces import Bounce, read_bounce
from hermes.channels.email.mime import Headers, MailPart
from hermes.errors import BadRequest, Unauthenticated
from hermes.message.event import EventType, MessageEvent, ReplyContext
from hermes.message.markup.html_reader import MAX_MAIL_CHARS, MAX_MAIL_TEXT, read_mail_html
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.source import Source

PLATFORM: Final = "email"
ROUTE: Final = "mailbox"
MAX_TEXT: Final = MAX_MAIL_TEXT
MAX_FILES: Final = 20
_PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
_ENDINGS: Final = {"message/rfc822": "mail.eml", "text/calendar": "invite.ics"}


class MailReadRules(msgspec.Struct, frozen=True, kw_only=True):
    """How mail is read: the mailbox's own address, and which server's check of the sender
    counts.
    """

    own: MailAddress
    authserv_id: str | None


class IgnoredMail(msgspec.Struct, frozen=True):
    """A mail that is not answered, and why."""

    reason: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An attachment as received."""

    mime: str
    name: str
    data: bytes


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail from a person; ids are without brackets, and empty if the mail has none."""

    sender: MailAddress
    name: str
    message_id: str
    references: tuple[str, ...]
    thread: str
    subject: str
    text: str
    quoted: str
    files: tuple[File, ...] = ()


def read_mail(
    raw: bytes, *, reading: MailReadRules, fallback_id: str
) -> Mail | IgnoredMail | Bounce:
    """Return the parsed mail; raise a refusal for one that cannot be trusted.

    `fallback_id` names a mail that has no id of its own.
    """
    headers, _ = mime.split_head(raw)
    domain = reading.own.domain
    bounce = read_bounce(headers, raw, domain=domain)
    if bounce is not None:
        return bounce
    sender, name = _sender(headers)
    reason = loops.automatic(headers, sender=sender, own=reading.own)
    if reason is not None:
        return IgnoredMail(reason)
    if reading.authserv_id is not None:
        _check(headers, sender, authserv_id=reading.authserv_id)
    message_id = next(iter(threads.ids_in(headers.first("message-id"))), "")
    references = _references(headers)
    body, files = _content(mime.leaves_of(raw))
    written = quotes.cut(body[:MAX_TEXT])
    subject = headers.text("subject")[:500]
    return Mail(
        sender=sender,
        name=name,
        message_id=message_id,
        references=references,
        thread=threads.thread_of(references, message_id or fallback_id, domain=domain),
        subject=subject,
        text=written.text or subject,
        quoted=written.quoted,
        files=files,
    )


def to_event(
    mail: Mail,
    *,
    account: str,
    at: float,
    fallback_id: str,
    media: tuple[Media, ...],
    notes: str = "",
) -> MessageEvent | None:
    """Return the event of a mail; None if it is empty.

    `media` are its stored attachments, `notes` name those that are not stored.
    """
    text = "\n\n".join(filter(None, (mail.text, notes)))
    parts = (*((TextPart(text),) if text else ()), *map(_part, media))
    if not parts:
        return None
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=event_id(mail, fallback_id=fallback_id),
        source=Source(
            platform=PLATFORM,
            chat_id=mail.sender.text,
            chat_type="dm",
            chat_name=mail.name or None,
            chat_topic=mail.subject or None,
            user_id=mail.sender.text,
            user_name=mail.name or None,
            thread_id=mail.thread,
        ),
        parts=parts,
        at=at,
        type=_kind(text, parts),
        reply_to=_context(mail),
    )


def event_id(mail: Mail, *, fallback_id: str) -> str:
    """Return a unique id: the mail's own and its sender's, so that nobody can take another's."""
    return f"{mail.message_id or fallback_id} {mail.sender.text}"


def message_id_of(external_id: str | None) -> str:
    """Return the id of an event's mail, without brackets; empty if it had none."""
    named, _, _sender = (external_id or "").partition(" ")
    return named if threads.is_real(named) else ""


def _sender(headers: Headers) -> tuple[MailAddress, str]:
    values = headers.all("from")
    if len(values) != 1:
        raise BadRequest(f"the mail has {len(values)} From headers, expected one")
    # Names are decoded one by one: an encoded comma must not turn one sender into two.
    raw = mail_text.clean(values[0][:4000].decode("utf-8", "replace"))
    try:
        found = addresses_in(raw)
    except (ValueError, IndexError, AttributeError, RecursionError):
        # Python's parser recurses into comments without a limit.
        found = []
    if len(found) != 1:
        raise BadRequest(f"the mail's From names {len(found)} addresses, expected one")
    name, address = found[0]
    return read_address(address), mail_text.decode_header(name.encode("utf-8", "replace"))[:200]


def _check(headers: Headers, sender: MailAddress, *, authserv_id: str) -> None:
    if not is_vouched(headers, domain=sender.domain, authserv_id=authserv_id):
        raise Unauthenticated(
            f"{authserv_id} did not verify the sender: expected dmarc=pass, or dkim=pass or "
            "spf=pass for the sender's domain, in its Authentication-Results. If no mail has any, "
            "correct platforms.email.authserv_id"
        )


def _references(headers: Headers) -> tuple[str, ...]:
    """Return the mails that this one answers, oldest first, its parent last."""
    chain = _ids(b" ".join(headers.all("references")))
    parent = _ids(headers.first("in-reply-to"))[:1]
    return threads.trimmed((*(one for one in chain if one not in parent), *parent))


def _ids(value: bytes) -> tuple[str, ...]:
    # Some programs encode ids that are longer than a line, which is not allowed.
    return threads.ids_in(mail_text.decode_header(value).encode() if b"=?" in value else value)


def _content(leaves: tuple[MailPart, ...]) -> tuple[str, tuple[File, ...]]:
    """Return the text of a mail, the plain one of two alternatives, and its attachments."""
    plain = _texts(leaves, "text/plain", most=MAX_TEXT)
    text = "\n\n".join(one for one in (said.strip() for said in plain) if one)
    if not text:
        pages = _texts(leaves, "text/html", most=MAX_MAIL_CHARS)
        text = "\n\n".join(filter(None, map(read_mail_html, pages)))
    kinds = ("text/plain", "text/html")
    files = [leaf for leaf in leaves if not any(_is_shown(leaf, kind) for kind in kinds)]
    return text, tuple(_file(leaf) for leaf in files if leaf.data)


def _texts(leaves: tuple[MailPart, ...], kind: str, *, most: int) -> Iterator[str]:
    """Yield the texts of a kind, up to a total number of characters."""
    for leaf in leaves:
        if most > 0 and _is_shown(leaf, kind):
            text = mail_text.decode_beginning(leaf.data, leaf.charset, most=most)
            most -= len(text)
            yield text


def _is_shown(leaf: MailPart, kind: str) -> bool:
    return leaf.mime == kind and not leaf.is_attached


def _file(leaf: MailPart) -> File:
    family, _, kind = leaf.mime.partition("/")
    ending = "".join(one for one in kind if one.isalnum())[:10]
    name = leaf.name or _ENDINGS.get(leaf.mime) or f"{family}.{ending}"
    return File(mime=leaf.mime, name=name, data=leaf.data)


def _part(media: Media) -> Part:
    if media.mime in _PICTURES:
        return ImagePart(media)
    return AudioPart(media) if media.mime.startswith("audio/") else FilePart(media)


def _kind(text: str, parts: tuple[Part, ...]) -> EventType:
    if text:
        return "command" if text.startswith("/") else "text"
    return "image" if isinstance(parts[0], ImagePart) else "file"


def _context(mail: Mail) -> ReplyContext | None:
    if not mail.references and not mail.quoted:
        return None
    parent = mail.references[-1] if mail.references else ""
    return ReplyContext(message_id=parent, text=mail.quoted or None)

"""Converts deliveries to mail drafts, and a server's refusals to delivery errors. Pure."""

from typing import Final

import msgspec

from hermes.channels.email import format as mail_html
from hermes.channels.email import threads
from hermes.channels.email.addresses import MailAddress, read_address
from hermes.channels.email.compose import MailDraft, MailFile, reply_subject
from hermes.channels.email.inbound import message_id_of
from hermes.channels.email.smtp import SmtpFailed, Stage
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart, text_of
from hermes.ports.channel import Delivery, Target

_NO_RECIPIENT: Final = frozenset({550, 551, 553, 556})
_WRONG_PASSWORD: Final = frozenset({530, 534, 535, 538})
_NEW_SUBJECT: Final = "A message for you"


class ParentMail(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the mail that a reply answers; empty if it can no longer be found."""

    subject: str = ""
    references: tuple[str, ...] = ()


def recipient_of(target: Target) -> MailAddress:
    """Return the address that a target names."""
    try:
        return read_address(target.chat_id)
    except BadRequest:
        raise DeliveryRejected(
            f"email: {target.chat_id[:60]!r} is not an address: expected one such as "
            "ada@example.org; correct the target",
            FailureClass.INVALID_RECIPIENT,
        ) from None


def id_for(target: Target, key: str, *, domain: str) -> str:
    """Return the mail id of a delivery, the same on every attempt."""
    return threads.own_id(key, thread=target.thread_id, domain=domain)


def draft_of(
    delivery: Delivery,
    *,
    own: MailAddress,
    name: str,
    answered: ParentMail,
    uploads: tuple[MailFile, ...],
    at: float,
) -> MailDraft:
    """Return a delivery as a mail."""
    target = delivery.target
    document = parse(text_of(delivery.parts))
    parent = message_id_of(target.reply_to)
    root = target.thread_id if threads.is_real(target.thread_id) else None
    chain = (*answered.references, *((parent,) if parent else ())) or ((root,) if root else ())
    is_reply = bool(chain)
    subject = answered.subject
    return MailDraft(
        message_id=id_for(target, delivery.key, domain=own.domain),
        sender=own,
        sender_name=name,
        recipient=recipient_of(target),
        subject=reply_subject(subject) if subject or is_reply else _NEW_SUBJECT,
        parent=parent or (root or ""),
        references=threads.trimmed(
            (*((root,) if root and not answered.references else ()), *chain)
        ),
        at=at,
        text=plain(document),
        page=mail_html.render(document),
        uploads=uploads,
        is_reply=is_reply,
    )


def media_of(part: Part) -> Media | None:
    """Return the attachment of a part that has one."""
    return part.media if isinstance(part, ImagePart | AudioPart | FilePart) else None


def name_of(part: Part) -> str:
    """Return an attachment's file name."""
    media = media_of(part)
    return (media.name if media is not None else None) or "file"


def with_missing_files(
    delivery: Delivery, missing: tuple[str, ...], *, uploads: tuple[MailFile, ...]
) -> Delivery:
    """Return a delivery whose text names what could not be attached; a mail must not be empty."""
    text = text_of(delivery.parts)
    lines = [f"({_in_code(name)} could not be attached.)" for name in missing]
    if not text:
        lines = [f"Attached: {', '.join(_in_code(one.name) for one in uploads)}"]
    if not lines:
        return delivery
    told = TextPart("\n\n".join((text, *lines) if text else lines))
    return msgspec.structs.replace(delivery, parts=(told,))


def _in_code(name: str) -> str:
    """Return a name as Markdown code, whatever characters it contains."""
    bare = name.replace("`", "'")
    return f"`{bare}`"


def is_wrong_password(failed: SmtpFailed) -> bool:
    """Return whether the server rejects our credentials."""
    answer = failed.answer
    return (
        failed.stage is Stage.SIGNING_IN and answer is not None and answer.code in _WRONG_PASSWORD
    )


def delivery_error(failed: SmtpFailed) -> DeliveryError:
    """Return the delivery error for a submission that ended this way."""
    answer = failed.answer
    if answer is None:
        if failed.stage >= Stage.ENDED:
            return DeliveryUnknown(
                f"email: {failed} after the whole mail had been sent; it may have been accepted",
                FailureClass.NETWORK_TIMEOUT,
            )
        return NotDelivered(
            f"email: {failed}; it will be sent again later", FailureClass.SERVICE_UNAVAILABLE
        )
    if is_wrong_password(failed):
        return DeliveryRejected(
            f"email: {failed}; set platforms.email.password, then `hermes channels resume email`",
            FailureClass.UNAUTHORIZED,
            credential=True,
        )
    if answer.code < 500:
        return NotDelivered(
            f"email: {failed}; it will be sent again later", FailureClass.SERVICE_UNAVAILABLE
        )
    if failed.stage < Stage.NAMING:
        # A server that refuses connections has a problem of its own; the mail is not at fault.
        return NotDelivered(
            f"email: {failed}; it will be sent again later", FailureClass.SERVICE_UNAVAILABLE
        )
    is_nobody = failed.stage is Stage.NAMING and answer.code in _NO_RECIPIENT
    return DeliveryRejected(
        f"email: {failed}; correct the cause and replay the dead letter",
        FailureClass.INVALID_RECIPIENT if is_nobody else FailureClass.REJECTED,
    )


def wrong_password(protocol: str, said: str) -> ConfigurationError:
    """Return the error that tells an operator that the password is wrong or no longer valid."""
    return ConfigurationError(
        f"platforms.email.password: the {protocol} server refused the sign-in ({said}). "
        "Set the password (where a provider wants one, an app password), or platforms.email.user if "
        "the name to sign in with is not the address"
    )

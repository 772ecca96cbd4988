"""Parses delivery reports of mail servers about our replies (RFC 3464). Pure."""

import re
from typing import Final

import msgspec

from hermes.channels.email import mail_text, mime, threads
from hermes.channels.email.mime import Headers
from hermes.errors import FailureClass, TooLarge
from hermes.ports.channel import ReturnedDelivery

_REPORT: Final = "multipart/report"
_FIELD: Final = re.compile(
    r"(?im)^(action|status|final-recipient|diagnostic-code)\s*:\s*+(.{0,300})$"
)
_STATUS: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_MAX: Final = 20_000


class Bounce(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a mail of ours; `message_id` is empty if the report does not name one."""

    message_id: str
    recipient: str
    action: str
    status: str
    said: str

    @property
    def is_final(self) -> bool:
        """Whether the server has given up."""
        return self.action == "failed"

    @property
    def returned(self) -> ReturnedDelivery | None:
        """The delivery that was returned, if the server has given up and names the mail."""
        key = threads.key_in(self.message_id)
        if not self.is_final or key is None:
            return None
        status = self.status if _STATUS.fullmatch(self.status) else ""
        is_nobody = status.startswith(("5.1.", "4.1."))
        failure = FailureClass.INVALID_RECIPIENT if is_nobody else FailureClass.REJECTED
        return ReturnedDelivery(key=key, failure=failure, status=status)


def read_bounce(headers: Headers, raw: bytes, *, domain: str) -> Bounce | None:
    """Return a parsed report; None if the mail is not a report."""
    kind = mail_text.decode_header(headers.first("content-type")[:2000]).lower()
    if not kind.startswith(_REPORT) or "delivery-status" not in kind:
        return None
    told: dict[str, str] = {}
    ids: list[str] = []
    try:
        leaves = mime.leaves_of(raw)
    except TooLarge:
        leaves = ()
    for leaf in leaves:
        if leaf.mime == "message/delivery-status":
            text = mail_text.decode_text(leaf.data[:_MAX], "utf-8")
            for name, value in _FIELD.findall(text):
                told.setdefault(name.lower(), value.strip())
        elif leaf.mime in {"message/rfc822", "text/rfc822-headers", "message/global"}:
            ids += _ids(leaf.data)
    ids += threads.ids_in(headers.first("in-reply-to")) + threads.ids_in(
        headers.first("references")
    )
    ours = next((one for one in ids if threads.is_own(one, domain=domain)), "")
    return Bounce(
        message_id=ours,
        recipient=told.get("final-recipient", "").rpartition(";")[2].strip()[:254],
        action=told.get("action", "").lower()[:40],
        status=told.get("status", "")[:40],
        said=told.get("diagnostic-code", "")[:200],
    )


def _ids(data: bytes) -> tuple[str, ...]:
    try:
        inner, _ = mime.split_head(data.lstrip())
    except TooLarge:
        return ()
    return threads.ids_in(inner.first("message-id"))

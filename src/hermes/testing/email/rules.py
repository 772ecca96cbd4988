"""The rules that a mail must follow for a strict server: RFC 5322, 2045 and 3834, as far as they
matter.
"""

import re
from email import policy
from email.errors import MessageDefect
from email.message import EmailMessage
from email.parser import BytesParser

from hermes.testing.email.state import ADDRESS

_ONCE = ("from", "to", "subject", "date", "message-id", "mime-version", "auto-submitted")
_AT_MOST_ONCE = ("in-reply-to", "references", "reply-to", "cc", "bcc", "sender")
_ID = re.compile(r"<[!-;=?-~]+@[!-;=?-~]+>")
MAX_LINE = 998


def broken_rule(raw: bytes, *, recipient: str) -> str | None:
    """Return the first rule that a mail of the bot breaks; None if it breaks none."""
    return _wire(raw) or _headers(raw, recipient=recipient) or _body(raw)


def _wire(raw: bytes) -> str | None:
    if b"\0" in raw:
        return "a mail has no NUL"
    if re.search(rb"(?<!\r)\n|\r(?!\n)", raw):
        return "every line ends in CRLF"
    if any(len(line) > MAX_LINE for line in raw.split(b"\r\n")):
        return f"no line is longer than {MAX_LINE}"
    if not raw.partition(b"\r\n\r\n")[0].isascii():
        return "headers are ASCII unless SMTPUTF8 is asked for"
    return None


def _headers(raw: bytes, *, recipient: str) -> str | None:
    message = BytesParser(policy=policy.compat32).parsebytes(raw)
    names = [name.lower() for name in message]
    for name in _ONCE:
        if names.count(name) != 1:
            return f"{name} occurs {names.count(name)} times, expected once"
    for name in _AT_MOST_ONCE:
        if names.count(name) > 1:
            return f"{name} occurs {names.count(name)} times, expected at most once"
    if ADDRESS not in str(message["from"]):
        return "From is the mailbox's own address"
    if recipient not in str(message["to"]):
        return "To is the recipient"
    for name in ("message-id", "in-reply-to", "references"):
        value = str(message.get(name, ""))
        if value and not all(_ID.fullmatch(one) for one in value.split()):
            return f"{name} holds ids in brackets, found {value!r}"
    if not str(message["auto-submitted"]).startswith("auto-"):
        return "Auto-Submitted says that a program answers"
    return None


def _body(raw: bytes) -> str | None:
    message = BytesParser(policy=policy.default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    for part in message.walk():
        defects: list[MessageDefect] = list(part.defects)
        if defects:
            return f"the mail has a defect: {type(defects[0]).__name__}"
    bodies = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
    if bodies[:2] != ["text/plain", "text/html"]:
        return f"text and HTML come first, found {bodies}"
    for part in message.walk():
        if not part.is_multipart():
            part.get_content()
    return None

"""People who write to the bot: their mails as mail programs write them, and their threads."""

from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate
from itertools import count

from hermes.testing.email.state import ADDRESS, AUTHSERV_ID
from hermes.testing.stand_in import PersonMessage

DOMAIN = "people.test"


def address_of(chat: str) -> str:
    """Return the address of a chat."""
    return chat if "@" in chat else f"{chat}@{DOMAIN}"


class People:
    """Writes mails; a person who writes again answers the last mail of the chat."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._chains: dict[str, list[str]] = {}

    def write(self, said: PersonMessage) -> tuple[str, bytes]:
        """Return a mail and its id, without brackets."""
        sender = address_of(said.chat)
        message_id = _id(said.id) if said.id else f"mail-{next(self._numbers)}@{DOMAIN}"
        message = EmailMessage(policy=SMTP)
        message["From"] = formataddr((said.user_name, sender))
        message["To"] = ADDRESS
        message["Subject"] = "A question"
        message["Date"] = formatdate(usegmt=True)
        message["Message-ID"] = f"<{message_id}>"
        chain = self._chain(said, message_id)
        if chain:
            message.replace_header("Subject", "Re: A question")
            message["In-Reply-To"] = f"<{chain[-1]}>"
            message["References"] = " ".join(f"<{one}>" for one in chain)
        if said.is_bot:
            message["Auto-Submitted"] = "auto-generated"
        message.set_content(said.text or "\n", cte="8bit" if _is_short(said.text) else "base64")
        for file in said.files:
            family, _, kind = file.mime.partition("/")
            message.add_attachment(file.data, maintype=family, subtype=kind, filename=file.name)
        return message_id, delivered(bytes(message), sender=sender)

    def got(self, chat: str, message_id: str) -> None:
        """Record a mail of the bot, which the next one in the chat answers."""
        chain = self._chains.setdefault(chat, [])
        if message_id not in chain:
            chain.append(message_id)

    def _chain(self, said: PersonMessage, message_id: str) -> list[str]:
        if said.thread is not None:
            return [said.thread]
        if said.reply_to is not None:
            return [said.reply_to]
        chain = self._chains.setdefault(said.chat, [])
        known = chain[: chain.index(message_id)] if message_id in chain else list(chain)
        if message_id not in chain:
            chain.append(message_id)
        return known


def report(message_id: str, recipient: str, *, status: str = "5.1.1") -> bytes:
    """Return the report of a mail server that could not deliver a mail of the bot (RFC 3464)."""
    says = f"smtp; 550 {status} <{recipient}>: not taken"
    lines = (
        "Return-Path: <>",
        f"From: MAILER-DAEMON@{DOMAIN}",
        f"To: {ADDRESS}",
        "Subject: Undelivered Mail Returned to Sender",
        "Auto-Submitted: auto-replied",
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
        "",
        *("--b", "Content-Type: text/plain", "", "Your mail did not arrive."),
        *("--b", "Content-Type: message/delivery-status", "", f"Reporting-MTA: dns; mx.{DOMAIN}"),
        *("", f"Final-Recipient: rfc822; {recipient}", "Action: failed", f"Status: {status}"),
        f"Diagnostic-Code: {says}",
        *("--b", "Content-Type: text/rfc822-headers", "", f"Message-ID: <{message_id}>"),
        "--b--",
        "",
    )
    return "\r\n".join(lines).encode()


def delivered(raw: bytes, *, sender: str, result: str = "dmarc=pass") -> bytes:
    """Return a mail with the headers of the receiving server above it."""
    domain = sender.rpartition("@")[2]
    head = (
        f"Return-Path: <{sender}>\r\n"
        f"Authentication-Results: {AUTHSERV_ID};\r\n\t{result} (p=NONE) header.from={domain};\r\n"
        f"\tspf=pass smtp.mailfrom={domain}\r\n"
        f"Received: from mail.{domain} by mx.hermes.test; {formatdate(usegmt=True)}\r\n"
    )
    return head.encode() + raw


def _id(text: str) -> str:
    return text if "@" in text else f"{text}@{DOMAIN}"


def _is_short(text: str) -> bool:
    return all(len(line.encode()) < 900 for line in text.split("\n"))

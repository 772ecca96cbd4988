"""The mails of the stand-in: the bot's folders, and what people got from the bot.

Both servers use it; it knows no protocol. Every folder numbers its mails and notifies its watchers.
"""

from collections.abc import Callable
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

import msgspec

from hermes.ports.clock import SystemClock
from hermes.testing.stand_in import Fault, FaultKind, Operation, no_rejections

HOST = "hermes.test"
ADDRESS = f"hermes@{HOST}"
PASSWORD = "not-a-real-password"
AUTHSERV_ID = "mx.hermes.test"
_clock = SystemClock()


class StoredMail(msgspec.Struct, kw_only=True):
    """One mail in a folder."""

    uid: int
    raw: bytes
    at: float
    flags: set[str]


class Folder:
    """Mails with increasing numbers; `validity` changes when the folder is recreated."""

    def __init__(self, validity: int) -> None:
        self.validity = validity
        self.next_uid = 1
        self.mails: list[StoredMail] = []
        self.watchers: list[Callable[[], None]] = []

    def add(
        self, raw: bytes, *, at: float | None = None, flags: set[str] | None = None
    ) -> StoredMail:
        """Add a mail and notify the watchers."""
        kept = StoredMail(
            uid=self.next_uid, raw=raw, at=_clock.now() if at is None else at, flags=flags or set()
        )
        self.next_uid += 1
        self.mails.append(kept)
        for watcher in self.watchers:
            watcher()
        return kept

    def rebuild(self) -> None:
        """Renumber all mails, as a server does that has lost its index."""
        self.validity += 1
        self.next_uid = 1
        for mail in self.mails:
            mail.uid = self.next_uid
            self.next_uid += 1


class MailServerState:
    """The bot's mailbox, and the planned faults."""

    def __init__(self) -> None:
        self.folders = {
            name: Folder(validity) for validity, name in enumerate(("INBOX", "Done", "Sent"), 1000)
        }
        self.password = PASSWORD
        self.rejections = no_rejections()
        self.sent: list[tuple[str, bytes]] = []
        self.mail_was_taken: list[Callable[[], None]] = []
        self.files_sent = False
        self._faults: list[list[object]] = []

    @property
    def inbox(self) -> Folder:
        """Where mail arrives."""
        return self.folders["INBOX"]

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        self._faults.append([fault, fault.times])

    def fault(self, op: Operation, *kinds: FaultKind) -> Fault | None:
        """Take the next planned fault of these kinds for a kind of call."""
        for entry in self._faults:
            fault = entry[0]
            if isinstance(fault, Fault) and fault.op in {op, "any"} and fault.kind in kinds:
                left = int(str(entry[1])) - 1
                entry[1] = left
                if left <= 0:
                    self._faults.remove(entry)
                return fault
        return None

    def submit(self, recipient: str, raw: bytes) -> None:
        """Accept a mail from the bot for somebody."""
        self.sent.append((recipient, raw))
        if self.files_sent:
            self.folders["Sent"].add(raw, flags={"\\Seen"})

    def reject(self, rule: str) -> None:
        """Record that the caller broke a rule."""
        self.rejections.append(rule)


def parsed(raw: bytes) -> EmailMessage:
    """Return a mail as Python's own lenient parser reads it."""
    message = BytesParser(policy=policy.default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    return message

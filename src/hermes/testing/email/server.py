"""The stand-in as a whole: an IMAP and an SMTP server over one post office; fits `StandIn`."""

import asyncio
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Any

from hermes.testing.email.imap_server import ImapServer
from hermes.testing.email.people import People, address_of, report
from hermes.testing.email.smtp_server import SmtpServer
from hermes.testing.email.state import ADDRESS, AUTHSERV_ID, PASSWORD, MailServerState, parsed
from hermes.testing.stand_in import Fault, PersonMessage, Post


class EmailStandIn:
    """A mail server on loopback.

    `can_idle` says whether it pushes, `files_sent` whether it files what the bot sends by itself,
    `is_moving` whether the bot is to move what it has taken.
    """

    def __init__(
        self, *, can_idle: bool = True, files_sent: bool = False, is_moving: bool = False
    ) -> None:
        self.state = MailServerState()
        self.state.files_sent = files_sent
        self.imap = ImapServer(self.state, can_idle=can_idle)
        self.smtp = SmtpServer(self.state)
        self.people = People()
        self._is_moving = is_moving
        self._taken = asyncio.Event()
        self.state.mail_was_taken.append(self._taken.set)
        self._seen = 0
        self._late: list[tuple[bytes, int]] = []

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by which a channel speaks to it."""
        return {
            "address": ADDRESS,
            "password": PASSWORD,
            "imap_host": "127.0.0.1",
            "imap_port": self.imap.port,
            "imap_security": "plain",
            "smtp_host": "127.0.0.1",
            "smtp_port": self.smtp.port,
            "smtp_security": "plain",
            "authserv_id": AUTHSERV_ID,
            "sent_folder": "Sent",
            "sent_by": "server" if self.state.files_sent else "hermes",
            "poll_s": 0.1,
            **({"done_folder": "Done"} if self._is_moving else {}),
        }

    @property
    def rejections(self) -> tuple[str, ...]:
        """Everything it refused because the caller broke a rule, with the rule."""
        return tuple(self.state.rejections)

    async def start(self) -> None:
        """Listen."""
        await self.imap.start()
        await self.smtp.start()

    async def stop(self) -> None:
        """End every connection."""
        await self.imap.stop()
        await self.smtp.stop()

    def point_at(self, webhook_url: str) -> None:
        """Mail servers call nobody."""

    async def say(self, said: PersonMessage) -> str:
        """Let a person write; return the mail's id, once the bot has marked it as read."""
        for post in self.posts(said.chat):
            self.people.got(said.chat, post.id)
        message_id, raw = self.people.write(said)
        if said.late:
            self._late.append((raw, said.times))
        else:
            await self._put(raw, times=said.times)
            late, self._late = self._late, []
            for one, times in late:
                await self._put(one, times=times)
        return message_id

    async def bounce(self, post: Post, *, status: str = "5.1.1") -> None:
        """Let a mail of the bot come back; return once the bot has marked the report as read."""
        await self._put(report(post.id, address_of(post.chat), status=status))

    async def _put(self, raw: bytes, *, times: int = 1) -> None:
        uids = [self.state.inbox.add(raw).uid for _ in range(times)]
        while any(self._is_waiting(uid) for uid in uids):
            self._taken.clear()
            await self._taken.wait()

    def _is_waiting(self, uid: int) -> bool:
        return any(
            mail.uid == uid and "\\Seen" not in mail.flags for mail in self.state.inbox.mails
        )

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return what the bot has written to somebody, oldest first."""
        address = address_of(chat)
        return tuple(_post(chat, raw) for recipient, raw in self.state.sent if recipient == address)

    def plan(self, fault: Fault) -> None:
        """Let something go wrong."""
        self.state.plan(fault)

    async def cut(self) -> None:
        """Drop every standing connection of the bot."""
        self.imap.cut()
        self.smtp.cut()

    def revoke(self) -> None:
        """Make the password worthless, and end what was opened with it."""
        self.state.password = "another-password"
        self.imap.cut()

    def restore(self) -> None:
        """Make the password good again."""
        self.state.password = PASSWORD


def _post(chat: str, raw: bytes) -> Post:
    message = parsed(raw)
    ids = [one.strip("<>") for one in str(message["References"] or "").split()]
    return Post(
        id=str(message["Message-ID"]).strip().strip("<>"),
        chat=chat,
        text=_content(message, "plain").rstrip("\n"),
        markup=_content(message, "html"),
        thread=ids[0] if ids else None,
        reply_to=str(message["In-Reply-To"] or "").strip().strip("<>") or None,
        files=tuple(part.get_filename() or "" for part in message.iter_attachments()),
    )


def _content(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    return "" if body is None else str(body.get_content()).replace("\r\n", "\n")

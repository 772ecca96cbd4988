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

    `can_idle` says whether it supports IDLE, `files_sent` whether it files the bot's mail by
    itself, `is_moving` whether the bot should move accepted mail.
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
        """The settings that a channel needs to use it."""
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
        """Every refusal because the caller broke a rule, with the rule."""
        return tuple(self.state.rejections)

    async def start(self) -> None:
        """Listen."""
        await self.imap.start()
        await self.smtp.start()

    async def stop(self) -> None:
        """Close every connection."""
        await self.imap.stop()
        await self.smtp.stop()

    def point_at(self, webhook_url: str) -> None:
        """Mail servers call nobody."""

    async def say(self, said: PersonMessage) -> str:
        """Write a mail as a person; return the mail's id, once the bot has marked it as read."""
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
        """Return a mail to the bot; return once the bot has marked the report as read."""
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
        """Return the bot's mails to a person, oldest first."""
        address = address_of(chat)
        return tuple(_post(chat, raw) for recipient, raw in self.state.sent if recipient == address)

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        self.state.plan(fault)

    async def cut(self) -> None:
        """Drop every open connection of the bot."""
        self.imap.cut()
        self.smtp.cut()

    def revoke(self) -> None:
        """Invalidate the password, and close connections that used it."""
        self.state.password = "another-password"
        self.imap.cut()

    def restore(self) -> None:
        """Make the password valid again."""
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

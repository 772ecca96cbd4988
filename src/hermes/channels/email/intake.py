"""Handles one mail: an event for the inbox, the return of one of ours, or nothing.

Between the mailbox, which fetches and marks, and the inbox. A mail is done once `take` returns; a
mail that must come again raises `TryLater`.
"""

import asyncio
from typing import Final

import structlog

from hermes.channels.email import threads
from hermes.channels.email.answer_rate import AnswerRate
from hermes.channels.email.bounces import Bounce
from hermes.channels.email.inbound import (
    MAX_FILES,
    File,
    IgnoredMail,
    Mail,
    MailReadRules,
    event_id,
    read_mail,
    to_event,
)
from hermes.channels.email.outbound import ParentMail
from hermes.errors import HermesError, RateLimited, Refused, TooLarge, TryLater
from hermes.message.parts import Media
from hermes.ports.channel import Accept
from hermes.ports.channel_setup import ChannelSetup

log = structlog.get_logger(__name__)

_REMEMBERED: Final = 1000
# They share the threads of the whole process, so there must be few.
_MOST_READERS: Final = 3


class MailIntake:
    """Passes on the mails of one mailbox, and remembers for a while what replies will need."""

    def __init__(
        self,
        accept: Accept,
        *,
        reading: MailReadRules,
        setup: ChannelSetup,
        answer_rate: AnswerRate,
        read_s: float,
    ) -> None:
        self._accept = accept
        self._reading = reading
        self._setup = setup
        self._answer_rate = answer_rate
        self._read_s = read_s
        self._readers: set[asyncio.Task[Mail | IgnoredMail | Bounce]] = set()
        self._answered: dict[str, ParentMail] = {}

    def answered(self, message_id: str) -> ParentMail | None:
        """Return what is known about a recent mail."""
        return self._answered.get(message_id)

    async def take(self, raw: bytes, *, validity: int, uid: int, at: float, is_whole: bool) -> None:
        """Return once the mail is on disk, refused for good, or of an ignored kind."""
        fallback_id = threads.made_up(validity, uid)
        await self._wait_for_a_reader()
        try:
            mail = await self._read_mail(raw, fallback_id)
        except Refused as error:
            log.warning("email.refused", uid=uid, code=error.code, problem=str(error))
            return
        # Boundary: one unreadable mail must not stop the whole mailbox.
        except Exception:
            log.exception("email.unreadable", uid=uid, bytes=len(raw))
            return
        if isinstance(mail, Mail):
            await self._take_mail(mail, at=at, fallback_id=fallback_id, is_whole=is_whole)
        elif isinstance(mail, IgnoredMail):
            log.info("email.ignored", uid=uid, reason=mail.reason)
        else:
            await self._take_back(mail)

    async def _wait_for_a_reader(self) -> None:
        """Return once another mail may be read; raise `TryLater` if none of the readers ends.

        A reader that timed out cannot be stopped: it delays nobody as long as there are few of
        them.
        """
        if len(self._readers) >= _MOST_READERS:
            await asyncio.wait(
                self._readers, timeout=self._read_s, return_when=asyncio.FIRST_COMPLETED
            )
        if len(self._readers) >= _MOST_READERS:
            raise TryLater(
                f"{len(self._readers)} mails that took too long to read are still being read"
            )

    async def _read_mail(self, raw: bytes, fallback_id: str) -> Mail | IgnoredMail | Bounce:
        """Read a mail in a thread; raise `TooLarge` if that takes too long."""
        reading = asyncio.to_thread(read_mail, raw, reading=self._reading, fallback_id=fallback_id)
        reader = asyncio.create_task(reading)
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        reader.add_done_callback(_forget)
        done, _ = await asyncio.wait({reader}, timeout=self._read_s)
        if not done:
            reader.add_done_callback(_log_given_up)
            raise TooLarge(
                f"reading the mail took longer than {self._read_s:g} s; it stays in the mailbox, "
                "marked as read. If such mail is wanted, raise platforms.email.read_s"
            )
        return reader.result()

    async def _take_back(self, bounce: Bounce) -> None:
        _log_bounce(bounce)
        back, tell = bounce.returned, self._setup.returned
        if back is not None and tell is not None:
            await tell(back)

    async def _take_mail(self, mail: Mail, *, at: float, fallback_id: str, is_whole: bool) -> None:
        wait_s = self._answer_rate.wait_s(mail.sender.text)
        if wait_s > 0:
            log.warning("email.too_many", wait_s=round(wait_s), per="address and hour")
            raise RateLimited("this address has used up its answers for this hour", wait_s)
        media, notes = await self._keep(mail.files if is_whole else ())
        if not is_whole:
            notes = "\n".join(filter(None, (notes, "[The mail was too large to be read whole.]")))
        event = to_event(
            mail,
            account=self._setup.account,
            at=at,
            fallback_id=fallback_id,
            media=media,
            notes=notes,
        )
        if event is None:
            log.info("email.ignored", id=event_id(mail, fallback_id=fallback_id), reason="empty")
            return
        self._remember(mail)
        try:
            accepted = await self._accept(event)
        except Refused as error:
            # It would be refused the next time, too: it must not stay unread forever.
            log.info("email.not_taken", id=event.external_id, code=error.code)
            return
        if not accepted.duplicate:
            self._answer_rate.took(mail.sender.text)

    async def _keep(self, files: tuple[File, ...]) -> tuple[tuple[Media, ...], str]:
        """Store attachments; return where they are, and notes about those that are not stored."""
        kept: list[Media] = []
        notes: list[str] = []
        for file in files[:MAX_FILES]:
            try:
                kept.append(await self._setup.media.keep(file.data, mime=file.mime, name=file.name))
            except HermesError as error:
                notes.append(f"[The attachment {file.name} was not taken: {error}]")
        if len(files) > MAX_FILES:
            notes.append(f"[{len(files) - MAX_FILES} more attachments were not taken.]")
        return tuple(kept), "\n".join(notes)

    def _remember(self, mail: Mail) -> None:
        if not mail.message_id:
            return
        if len(self._answered) >= _REMEMBERED:
            self._answered.pop(next(iter(self._answered)))
        self._answered[mail.message_id] = ParentMail(
            subject=mail.subject, references=mail.references
        )


def _forget(reading: asyncio.Task[Mail | IgnoredMail | Bounce]) -> None:
    """Retrieve the error of a reader: its waiter may have been cancelled."""
    if not reading.cancelled():
        reading.exception()


def _log_given_up(reading: asyncio.Task[Mail | IgnoredMail | Bounce]) -> None:
    """Log why a reader that timed out has failed; the mail was already refused."""
    if not reading.cancelled() and reading.exception() is not None:
        log.info("email.given_up_unreadable", problem=str(reading.exception()))


def _log_bounce(bounce: Bounce) -> None:
    tell = log.warning if bounce.is_final else log.info
    tell(
        "email.bounced",
        message_id=bounce.message_id or None,
        recipient=bounce.recipient or None,
        action=bounce.action,
        status=bounce.status,
        said=bounce.said,
    )

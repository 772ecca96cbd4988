"""Watches a folder: finds unread mail, passes it on, and marks it only once it was accepted.

After a crash in between, a mail is still unread and is read again; the inbox knows it by its id.
The server's IDLE says when to look; without IDLE the clock does.
"""

import asyncio
from typing import Final

import structlog

from hermes.channel_kit.intake import Sleep, pause_s
from hermes.channels.email.imap import Imap, MailSummary
from hermes.channels.email.imap_wire import search_day
from hermes.channels.email.intake import MailIntake
from hermes.channels.email.memory import MailboxStart
from hermes.channels.email.settings import EmailSettings
from hermes.errors import HermesError, RateLimited, StoreError, TryLater
from hermes.ports.clock import Clock

log = structlog.get_logger(__name__)

# Routers drop a silent connection after some minutes; servers after half an hour.
_IDLE_S: Final = 240.0
_BATCH: Final = 200
# Enough of a mail that is too large: its headers and the beginning of its text.
_BEGINNING: Final = 300_000
_LONGEST_PAUSE_S: Final = 60.0
_NEVER: Final = float("inf")


class Mailbox:
    """One folder on one connection; `run` ends only by raising."""

    def __init__(
        self,
        imap: Imap,
        intake: MailIntake,
        *,
        settings: EmailSettings,
        begun: MailboxStart,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._imap = imap
        self._intake = intake
        self._settings = settings
        self._begun = begun
        self._clock = clock
        self._sleep = sleep
        self._later: dict[int, float] = {}
        self._paused_until = 0.0
        # How often in a row the inbox has not accepted a mail.
        self._refusals = 0
        self._heard_at = clock.monotonic()

    @property
    def silent_s(self) -> float:
        """How long the server has not responded."""
        return self._clock.monotonic() - self._heard_at

    @property
    def longest_silence_s(self) -> float:
        """How long the server may normally be silent."""
        return _IDLE_S if self._can_idle else self._settings.poll_s

    async def run(self) -> None:
        """Check and wait until the connection is lost."""
        while True:
            pause_s = await self.look()
            self._heard_at = self._clock.monotonic()
            await self._wait(pause_s)
            self._heard_at = self._clock.monotonic()

    async def look(self) -> float | None:
        """Process unread mail, oldest first; return when to check again if something must wait."""
        now = self._clock.monotonic()
        if now < self._paused_until:
            # Mail that the inbox could not accept comes first, or a thread's mails would change
            # order.
            self._imap.has_news = False
            return self._paused_until - now
        self._imap.has_news = False
        found = await self._imap.search(
            "UNSEEN", "UNDELETED", "SINCE", search_day(self._begun.floor)
        )
        self._later = {uid: at for uid, at in self._later.items() if uid in found}
        due = [uid for uid in found if self._later.get(uid, 0.0) <= now]
        for uid in due[:_BATCH]:
            try:
                await self._take(uid)
            except RateLimited as error:
                log.info("email.try_later", uid=uid, code=error.code, wait_s=error.retry_after)
                self._later[uid] = self._clock.monotonic() + error.retry_after
            except (TryLater, StoreError) as error:
                # The inbox or its disk is full: no other mail would be accepted either.
                return self._pause(uid, error)
            else:
                self._refusals = 0
        if len(due) > _BATCH:
            return 0.0
        now = self._clock.monotonic()
        waits = (at - now for at in self._later.values() if at != _NEVER)
        return min((max(0.0, wait) for wait in waits), default=None)

    def _pause(self, uid: int, error: HermesError) -> float:
        """Accept nothing for a while; return how long."""
        wait_s = pause_s(error, self._refusals)
        self._refusals += 1
        log.info("email.try_later", uid=uid, code=error.code, wait_s=wait_s)
        self._paused_until = self._clock.monotonic() + wait_s
        return wait_s

    async def _take(self, uid: int) -> None:
        letter = await self._imap.letter(uid)
        if letter is None or letter.at < self._begun.floor:
            # Gone meanwhile, or older than our use of the mailbox: it stays as it is.
            self._later[uid] = _NEVER
            return
        is_whole = letter.size <= self._settings.max_bytes
        limit = letter.size if is_whole else _BEGINNING
        raw = await self._imap.fetch(uid, limit=limit)
        if raw is None:
            return
        await self._intake.take(
            raw, validity=self._imap.validity, uid=uid, at=letter.at, is_whole=is_whole
        )
        await self._done(letter)

    async def _done(self, letter: MailSummary) -> None:
        await self._imap.mark_seen(letter.uid)
        if self._settings.done_folder:
            await self._imap.move(letter.uid, self._settings.done_folder)

    async def _wait(self, pause_s: float | None) -> None:
        if pause_s is not None and pause_s <= 0:
            return
        longest = self.longest_silence_s if pause_s is None else min(pause_s, _LONGEST_PAUSE_S)
        if self._can_idle:
            await self._imap.idle(longest)
        else:
            await self._sleep(min(longest, self._settings.poll_s))
            # Without IDLE, this also proves that the connection works.
            await self._imap.noop()

    @property
    def _can_idle(self) -> bool:
        return self._settings.idle and "IDLE" in self._imap.abilities

"""Handles one update: an event for the inbox, a button answered, or nothing.

Between both ways in (polls and webhook calls) and the inbox. An update is done once this returns;
an update that must come again raises `TryLater`.
"""

from collections.abc import Awaitable, Callable

import structlog

from hermes.channels.telegram.inbound import migration_of, read_update, to_event
from hermes.channels.telegram.wire import Update, User
from hermes.errors import RateLimited, Refused
from hermes.ports.channel import Accept
from hermes.ports.clock import Clock

log = structlog.get_logger(__name__)


class TelegramIntake:
    """Passes on the updates of one bot."""

    def __init__(
        self,
        accept: Accept,
        *,
        bot: User,
        account: str,
        clock: Clock,
        answer_button: Callable[[str], Awaitable[None]],
        on_migration: Callable[[int, int], None],
    ) -> None:
        self._accept = accept
        self._bot = bot
        self._account = account
        self._clock = clock
        self._answer_button = answer_button
        self._on_migration = on_migration

    async def take(self, update: Update, raw: bytes) -> None:
        """Return once the update is on disk, refused for good, or of an ignored kind."""
        moved = migration_of(update)
        if moved is not None:
            self._on_migration(*moved)
        event = to_event(
            update, bot=self._bot, account=self._account, now=self._clock.now(), raw=raw
        )
        if event is not None:
            try:
                await self._accept(event)
            except Refused as error:
                # It would be refused the next time, too: Telegram must not repeat it forever.
                log.info("telegram.refused", update=update.update_id, code=error.code)
            except RateLimited as error:
                # Waiting for this sender would delay everyone after them.
                log.warning("telegram.passed_over", update=update.update_id, code=error.code)
        if update.callback_query is not None:
            await self._answer_button(update.callback_query.id)


def read_raw(raw: bytes) -> Update | None:
    """Return an update of a poll; None for an unreadable one, which is skipped."""
    try:
        return read_update(raw)
    except Refused as error:
        log.warning("telegram.unreadable_update", problem=str(error), bytes=len(raw))
        return None

"""Whether the inbox has space for a message: in total, for its account, and for its sender.

A message that was let in but is not yet on disk counts, so the limits hold under any load. Commands
are counted separately, by the same rules: `/stop` gets in when nothing else does.
"""

from collections.abc import Collection

from hermes.config import InboxSettings
from hermes.errors import Overloaded, RateLimited
from hermes.message.event import MessageEvent
from hermes.ports.shares import Share, ShareCounts, way_of
from hermes.ports.store import Store

FULL_RETRY_S = 5.0
_SHARE_RETRY_S = 30.0


class InboxPlace:
    """Space for one message, from admission until it is on disk or has failed."""

    __slots__ = ("_coming", "share")

    def __init__(self, share: Share, coming: ShareCounts) -> None:
        self.share = share
        self._coming: ShareCounts | None = coming
        coming.add(share)

    def settle(self) -> None:
        """Release the space; a second call does nothing."""
        if self._coming is not None:
            self._coming.add(self.share, -1)
            self._coming = None


class InboxSpace:
    """Reserves space for messages; senders on `programs` platforms are limited by account only."""

    def __init__(
        self, store: Store, *, settings: InboxSettings, programs: Collection[str] = ()
    ) -> None:
        self._store = store
        self._settings = settings
        self._programs = programs
        # Admitted and not yet on disk. A newcomer has no person yet, so they are counted by sender
        # here.
        self._coming = ShareCounts()

    async def claim(self, event: MessageEvent, *, is_command: bool) -> InboxPlace:
        """Reserve space for a message; raises `Overloaded`, or `RateLimited` for its sender."""
        source = event.source
        share = Share(way_of(event), source.sender_name, is_command)
        count = self._count(is_command=is_command)
        if self._is_unlimited(source.platform, count=count, is_command=is_command):
            self._check_account(share, count=count)
            return InboxPlace(share, self._coming)
        access = await self._store.users.channel_access(source.platform, source.user_id)
        # Others were let in meanwhile; from here to the reservation nothing waits.
        self._check_account(share, count=self._count(is_command=is_command))
        self._check_person(share, access.person_id)
        return InboxPlace(share, self._coming)

    def _is_unlimited(self, platform: str, *, count: int, is_command: bool) -> bool:
        """Return whether no sender can exceed their share, so that nobody has to look who it is."""
        most = self._settings.max_waiting_each
        if count < most or platform in self._programs:
            return True
        waiting = self._store.inbox.shares().peak(is_command=is_command)
        return waiting + self._coming.peak(is_command=is_command) < most

    def _count(self, *, is_command: bool) -> int:
        """Return how many messages wait; raises `Overloaded` if that is as many as may."""
        coming = self._coming.in_all(is_command=is_command)
        commands = self._store.inbox.shares().in_all(is_command=True)
        count = coming + (commands if is_command else self._store.inbox.waiting() - commands)
        if count >= self._settings.max_waiting:
            raise Overloaded(
                f"{count} messages are waiting, as many as inbox.max_waiting allows; "
                "send this again later",
                FULL_RETRY_S,
            )
        return count

    def _check_account(self, share: Share, *, count: int) -> None:
        """Reserve the last tenth for accounts with few waiting messages."""
        settings = self._settings
        if count < settings.max_waiting - settings.max_waiting // 10:
            return
        own = self._store.inbox.shares().of_account(share) + self._coming.of_account(share)
        if own >= settings.max_waiting_each:
            raise Overloaded(
                f"{own} messages are waiting that came the same way, and the rest of "
                "inbox.max_waiting is kept for others; send this again later",
                FULL_RETRY_S,
            )

    def _check_person(self, share: Share, person_id: str | None) -> None:
        waiting = self._store.inbox.shares()
        known = 0
        if person_id is not None:
            known = waiting.of_person(Share(share.account, person_id, share.is_command))
        own = known + self._coming.of_person(share)
        if own >= self._settings.max_waiting_each:
            raise RateLimited(
                f"{own} messages of this sender are waiting, as many as inbox.max_waiting_each "
                "allows; send this again when some are answered",
                _SHARE_RETRY_S,
            )

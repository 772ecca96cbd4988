"""Long polling: fetches updates, passes them on, and confirms only accepted ones.

Telegram forgets an update when the next poll names a higher offset; so the offset moves only past
updates that the inbox has on disk.
"""

import asyncio
from typing import Final

import msgspec
import structlog

from hermes.channel_kit.intake import Sleep, pause_s
from hermes.channels.telegram.client import TelegramClient
from hermes.channels.telegram.inbound import ALLOWED_UPDATES
from hermes.channels.telegram.intake import TelegramIntake, read_raw
from hermes.channels.telegram.refusals import bad_token, read_result, refusal
from hermes.channels.telegram.wire import Update
from hermes.errors import (
    DeliveryError,
    FailureClass,
    HermesError,
    NotDelivered,
    StoreError,
    TryLater,
)
from hermes.ports.clock import Clock

log = structlog.get_logger(__name__)

BATCH: Final = 100
# A whole batch of the longest messages, each with its answered message, must fit: a lower limit
# would block polling.
_MAX_BATCH_BYTES: Final = 32 << 20
# How much longer than the poll itself its answer may take.
_GRACE_S: Final = 10.0
# One failed poll is normal on the internet; after these delays the connection counts as lost.
_WAITS_S: Final = (0.0, 0.5, 1.0)


class Poller:
    """The polls of one bot; `run` ends only by raising."""

    def __init__(
        self,
        client: TelegramClient,
        intake: TelegramIntake,
        *,
        timeout_s: int,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._intake = intake
        self._timeout_s = timeout_s
        self._clock = clock
        self._sleep = sleep
        self._offset: int | None = None
        # Batches in a row that the inbox has not accepted completely.
        self._refusals = 0
        self._heard_at = clock.monotonic()

    @property
    def silent_s(self) -> float:
        """How long no poll has been answered."""
        return self._clock.monotonic() - self._heard_at

    async def run(self) -> None:
        """Poll until that is no longer possible; raise why."""
        failures = 0
        while True:
            try:
                updates = await self._poll()
            except DeliveryError as error:
                if failures == len(_WAITS_S):
                    raise
                log.info("telegram.poll_failed", problem=str(error), failures=failures + 1)
                await self._sleep(max(_WAITS_S[failures], error.retry_after or 0.0))
                failures += 1
                continue
            failures = 0
            await self._take(updates)

    async def _poll(self) -> list[msgspec.Raw]:
        params = {
            "limit": BATCH,
            "timeout": self._timeout_s,
            "allowed_updates": ALLOWED_UPDATES,
            **({} if self._offset is None else {"offset": self._offset}),
        }
        # Its own connection name, since polls run beside every other call.
        reply = await self._client.ask(
            "getUpdates",
            params,
            timeout_s=self._timeout_s + _GRACE_S,
            limit=_MAX_BATCH_BYTES,
            name="telegram_poll",
        )
        if reply.is_bad_token:
            raise bad_token(reply)
        if not reply.is_ok:
            raise refusal(reply)
        self._heard_at = self._clock.monotonic()
        return read_result(reply, list[msgspec.Raw])

    async def _take(self, raws: list[msgspec.Raw]) -> None:
        """Pass on a batch, chats in parallel and each in order, and move the offset."""
        chats: dict[int, list[tuple[Update, bytes]]] = {}
        highest = -1
        for raw in map(bytes, raws):
            update = read_raw(raw)
            update_id = _id_of(raw) if update is None else update.update_id
            highest = max(highest, update_id)
            if update is not None:
                chats.setdefault(_chat_of(update), []).append((update, raw))
        stopped = await asyncio.gather(*(self._take_chat(one) for one in chats.values()))
        held = [stop for stop in stopped if stop is not None]
        following = min((update_id for update_id, _ in held), default=highest + 1)
        if following > 0:
            self._offset = max(self._offset or 0, following)
        if held:
            await self._sleep(max(pause_s(error, self._refusals) for _, error in held))
        self._refusals = self._refusals + 1 if held else 0

    async def _take_chat(
        self, updates: list[tuple[Update, bytes]]
    ) -> tuple[int, HermesError] | None:
        """Process a chat's updates; return the first that must come again, and why."""
        for update, raw in updates:
            try:
                await self._intake.take(update, raw)
            except (TryLater, StoreError) as error:
                log.info("telegram.try_later", update=update.update_id, code=error.code)
                return update.update_id, error
        return None


class _Named(msgspec.Struct):
    update_id: int


def _id_of(raw: bytes) -> int:
    """Return the id of an otherwise unreadable update, so that it can be skipped."""
    try:
        return msgspec.json.decode(raw, type=_Named).update_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotDelivered(
            "telegram: a poll was answered with an update that has no id; check "
            "platforms.telegram.api_url",
            FailureClass.SERVICE_UNAVAILABLE,
        ) from None


def _chat_of(update: Update) -> int:
    query = update.callback_query
    message = update.message or update.channel_post or (query.message if query else None)
    return 0 if message is None else message.chat.id

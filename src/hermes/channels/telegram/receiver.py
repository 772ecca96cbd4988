"""Updates from both ways in, polls and webhook calls, to the inbox.

An update is done once `take` returns; what it raises has Telegram send it again. Telegram forgets an
update when a poll names a higher offset, which moves only behind what the inbox has on disk.
"""

from typing import Any, Final

import msgspec
import structlog

from hermes.channel_kit.events import raw_of
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.long_poll import GRACE_S, PolledEvent, PollPage
from hermes.channel_kit.refusals import as_shape
from hermes.channels.telegram.client import TelegramClient
from hermes.channels.telegram.inbound import ALLOWED_UPDATES, migration_of, read_update, to_events
from hermes.channels.telegram.wire import Number, Update, User
from hermes.errors import DeliveryError
from hermes.ports.channel import Accept, HttpRequest
from hermes.ports.channel_setup import ChannelSetup

BATCH: Final = 100
log = structlog.get_logger(__name__)


class ReceivedUpdate(msgspec.Struct, frozen=True):
    """An update, and its unchanged JSON."""

    update: Update
    raw: msgspec.Raw


class TelegramReceiver:
    """Passes on the updates of one bot."""

    def __init__(
        self,
        accept: Accept,
        *,
        bot: User,
        setup: ChannelSetup,
        client: TelegramClient,
        life: Lifeline,
    ) -> None:
        self._intake = Intake(accept, platform="telegram", repeats=True)
        self._bot = bot
        self._account = setup.account
        self._clock = setup.clock
        self._client = client
        self._life = life

    async def webhook(self, request: HttpRequest, _accept: Accept) -> None:
        """Take the update of a call."""
        update = read_update(request.body)
        await self.take(ReceivedUpdate(update, msgspec.Raw(request.body)))

    async def poll(self, offset: str | None, poll_s: float) -> PollPage[ReceivedUpdate]:
        """Ask for updates, from an offset on."""
        params = {
            "limit": BATCH,
            "timeout": int(poll_s),
            "allowed_updates": ALLOWED_UPDATES,
            **({} if offset is None else {"offset": int(offset)}),
        }
        wires = await self._client.poll(params, timeout_s=poll_s + GRACE_S)
        return read_batch(wires)

    async def take(self, received: ReceivedUpdate) -> None:
        """Return once the update is on disk, refused for good, or of an ignored kind."""
        update = received.update
        moved = migration_of(update)
        if moved is not None:
            self._client.move(*moved)
        for event in to_events(
            update,
            bot=self._bot,
            account=self._account,
            now=self._clock.now(),
            raw=received.raw,
        ):
            await self._intake.take(event)
        if update.callback_query is not None:
            self._life.run_aside(self._confirm(update.callback_query.id), "answer to a button")

    async def _confirm(self, query_id: str) -> None:
        """Confirm a press, or the button would show a clock for a while."""
        try:
            await self._client.call("answerCallbackQuery", bool, {"callback_query_id": query_id})
        except DeliveryError as error:
            log.info("telegram.button_unanswered", problem=str(error))


# Any: JSON of any kind, as it came.
def read_batch(wires: list[Any]) -> PollPage[ReceivedUpdate]:
    """Return the updates of a poll; an unreadable one is passed over."""
    ids = [one.update_id for one in as_shape(wires, list[_Numbered], platform="telegram")]
    found: list[PolledEvent[ReceivedUpdate]] = []
    for number, wire in zip(ids, wires, strict=True):
        try:
            update = msgspec.convert(wire, Update)
        except msgspec.ValidationError as problem:
            log.warning("telegram.unreadable_update", update=number, problem=str(problem)[:200])
            continue
        chat = "" if update.chat is None else str(update.chat.id)
        event = ReceivedUpdate(update, raw_of(wire))
        found.append(PolledEvent(event=event, chat=chat, cursor=str(number)))
    return PollPage(events=found, cursor=str(max(ids) + 1) if ids else None)


class _Numbered(msgspec.Struct):
    update_id: Number

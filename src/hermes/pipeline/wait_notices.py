"""Tells a person that their message waits: for the running answer, an approval or a free model call.

Beside the path of the message; what it writes is a delivery of its own, so that the reply is not
touched. The id of a notice comes from its message, or from its approval and person: after a restart
nobody is told a second time.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from hermes.errors import StorageFull, StoreError
from hermes.message.channel_name import of_channel
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.message.parts import TextPart
from hermes.pipeline.approval_waits import waiting_text
from hermes.pipeline.reader_language import language_for
from hermes.pipeline.services import Services
from hermes.pipeline.targets import reply_id, target_of, vanish_after
from hermes.ports.approvals import WAITS_FOR_APPROVAL, Approval
from hermes.ports.sends import NewSend
from hermes.ports.steps import TimelineEvent
from hermes.ports.turns import LaneView, MessageRecord
from hermes.ports.upward import Progress
from hermes.texts.say import say, speaking, words

NO_PLACE = words("Many people are asking just now. Your message waits, and I will answer it.")
BEHIND = {
    BusyPolicy.QUEUE: words("I am still answering what came before. Your message is next."),
    BusyPolicy.STEER: words("I am still answering. I will take your message into account."),
}
_log = structlog.get_logger(__name__)


class WaitNotices:
    """Tells people that they wait.

    For a running turn or an approval each person once, for a call each message.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._told: set[tuple[str, str]] = set()
        # The running turns that somebody waits for.
        self._awaited: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def behind(self, turn: str, *, message_id: str, busy: BusyPolicy) -> None:
        """Tell the sender of a message that waits for a running turn, in a task of its own."""
        settings = self._services.settings.busy
        if busy in BEHIND and (settings.notice or any(settings.notice_platforms.values())):
            self._awaited.add(turn)
            task = asyncio.create_task(self._tell_behind(turn, message_id, text=BEHIND[busy]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def ended(self, turn: str) -> None:
        """Forget who was told that they wait for a turn; nobody is any more."""
        self._awaited.discard(turn)
        self._told = {told for told in self._told if turn not in told}

    async def without_place(self, waiting: Iterable[MessageRecord]) -> None:
        """Tell the senders of messages that wait for a free model call."""
        for message in waiting:
            if self._services.settings.turns.tell_wait and (message.id, "") not in self._told:
                self._told.add((message.id, ""))
                await self._tell(message, lambda: say(NO_PLACE))

    async def for_approval(self, view: LaneView) -> None:
        """Tell the senders of messages that wait behind an approval, and their timelines, once each.

        A person with several such messages is told for the first.
        """
        store, services = self._services.store, self._services
        if view.waiting_on is None or not view.is_followed:
            return
        approval = await store.approvals.get(view.waiting_on)
        if approval is None:
            return
        event = TimelineEvent(
            WAITS_FOR_APPROVAL,
            services.clock.now(),
            {"approval": approval.id, "tool": approval.tool},
        )
        for message_id in await store.approvals.untold(view.lane, event=event):
            message = await store.inbox.get(message_id)
            if message is not None:
                await self._tell_waiting(message, approval)
                await store.inbox.note(message_id, event)

    async def _tell_waiting(self, message: MessageRecord, approval: Approval) -> None:
        # The outbox refuses the second one of a person.
        once = f"{reply_id(approval.id)}_{message.person_id}"
        zone = self._services.resets.zone
        await self._tell(message, lambda: waiting_text(approval, zone=zone), send_id=once)

    async def stop(self) -> None:
        """Wait for the notices that are being written."""
        await asyncio.gather(*self._tasks)

    async def _tell_behind(self, turn: str, message_id: str, *, text: str) -> None:
        try:
            message = await self._services.store.inbox.get(message_id)
        except (StoreError, StorageFull) as error:
            _log.warning("wait_not_told", message_id=message_id, problem=str(error))
            return
        if message is None or message.event is None or not self._is_wanted(message.event):
            return
        once = (message.person_id, turn)
        if turn in self._awaited and once not in self._told:
            self._told.add(once)
            await self._tell(message, lambda: say(text), unless_ended=turn)

    def _is_wanted(self, event: MessageEvent) -> bool:
        busy = self._services.settings.busy
        wanted = of_channel(busy.notice_platforms, event.source.platform)
        return busy.notice if wanted is None else wanted

    async def _tell(
        self,
        message: MessageRecord,
        notice: Callable[[], str],
        *,
        send_id: str | None = None,
        unless_ended: str | None = None,
    ) -> None:
        event, services = message.event, self._services
        if event is None or event.internal or event.scheduled is not None or message.control:
            return
        language = await language_for(
            message.person_id, event, store=services.store, settings=services.settings
        )
        with speaking(language):
            await self._put(message, event, notice(), send_id=send_id, unless_ended=unless_ended)

    async def _put(
        self,
        message: MessageRecord,
        event: MessageEvent,
        text: str,
        *,
        send_id: str | None,
        unless_ended: str | None,
    ) -> None:
        services = self._services
        services.watch.publish(message.id, Progress(kind="status", text=text))
        platform = event.source.platform
        if services.first_state(platform) is not DeliveryState.PENDING:
            return
        send = NewSend(
            id=send_id or reply_id(message.id) + "_w",
            message_id=message.id,
            person_id=message.person_id,
            target=target_of(event),
            parts=(TextPart(text),),
            state=DeliveryState.PENDING,
            at=services.clock.now(),
            purpose="notice",
            unless_ended=unless_ended,
            vanish_s=vanish_after(services.settings.display, platform),
        )
        try:
            if await services.store.sends.put(send, kept=lambda _: None):
                services.wake_outbox(platform)
        except (StoreError, StorageFull) as error:
            _log.warning("wait_not_told", message_id=message.id, problem=str(error))

"""A sender with manual time, the twin of the store and the twin of a platform."""

from collections.abc import AsyncIterator, Callable

import pytest

from hermes.message.event import ReplyHandle
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.channel_calls import LongReplies
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.rates import Rates
from hermes.outbox.sender import OutboxSender
from hermes.ports.channel import Capabilities, Target
from hermes.ports.outbox import DeliveryRecord, NewDelivery
from hermes.testing.manual_time import ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.outbox_store import MemoryOutboxStore
from hermes.testing.setup_channel import MemoryFiles


class Bench:
    """Everything a sending test needs."""

    def __init__(self) -> None:
        self.time = ManualTime()
        self.store = MemoryOutboxStore(self.time)
        self.timing = OutboxTiming()
        self.channel = MemoryChannel(Capabilities(delivery="push"))
        self.sender: OutboxSender | None = None
        self.files = MemoryFiles()
        self.long = LongReplies()
        self.begin_process()

    def begin_process(self) -> None:
        """Forget what only a process knows."""
        self.rates = Rates(self.time)
        self.screens = LivePreviews()

    def platform(self, **capabilities: object) -> MemoryChannel:
        """Replace the platform by one that can do this."""
        wanted = Capabilities(delivery="push", **capabilities)  # type: ignore[arg-type]
        self.channel = MemoryChannel(wanted)
        return self.channel

    def reply(
        self,
        name: str,
        text: str = "",
        *,
        chat: str = "c1",
        purpose: str = "reply",
        handle: ReplyHandle | None = None,
    ) -> str:
        """Commit a reply, to a message with a reply handle if one is given."""
        if handle is not None:
            self.store.give_handle(f"m_{name}", handle)
        new = NewDelivery(
            id=name,
            target=Target(platform="memory", account="a", chat_id=chat),
            parts=(TextPart(text or name),),
            state=DeliveryState.PENDING,
            purpose=purpose,  # type: ignore[arg-type]
        )
        self.store.commit(new, message_id=f"m_{name}")
        if self.sender is not None:
            self.sender.wake()
        return name

    def make_sender(self) -> OutboxSender:
        """Make the sender of this process, which does not run yet."""
        self.sender = OutboxSender(
            self.channel,
            self.store,
            timing=self.timing,
            clock=self.time,
            sleep=self.time.sleep,
            chance=lambda: 0.5,
            rates=self.rates.of(self.channel),
            screens=self.screens,
            long=self.long,
        )
        return self.sender

    async def start(self) -> OutboxSender:
        """Start a sender, as the first or as the next process."""
        sender = self.make_sender()
        sender.start()
        await settle()
        return sender

    async def crash(self) -> None:
        """End the process as it stands and start the next one."""
        await self.stop()
        self.store.recover()
        self.begin_process()
        await self.start()

    async def stop(self) -> None:
        """Stop the sender."""
        if self.sender is not None:
            await self.sender.stop()
            self.sender = None

    def row(self, name: str) -> DeliveryRecord:
        """Return a row."""
        return self.store.get(name)

    def states(self, *names: str) -> list[str]:
        """Return the states of rows."""
        return [self.row(name).state.value for name in names]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()


@pytest.fixture
def record() -> Callable[..., DeliveryRecord]:
    def make(**changes: object) -> DeliveryRecord:
        values: dict[str, object] = {
            "id": "d1",
            "seq": 1,
            "message_id": "m1",
            "person_id": "p1",
            "target": Target(platform="memory", account="a", chat_id="c1"),
            "parts": (TextPart("hello"),),
            "state": DeliveryState.PENDING,
            "purpose": "reply",
            "platform_message_id": None,
            "chunk": 0,
            "attempts": 0,
            "next_at": 1000.0,
            "created_at": 1000.0,
            "sending_at": 1000.0,
        }
        return DeliveryRecord(**(values | changes))  # type: ignore[arg-type]

    return make

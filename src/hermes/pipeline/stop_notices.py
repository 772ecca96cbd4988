"""What people are told whose turn runs while the gateway stops; once per stop."""

from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.pipeline.services import Services
from hermes.pipeline.targets import reply_id, target_of
from hermes.ports.records import LaneView
from hermes.ports.sends import NewSend
from hermes.ports.upward import Progress

TOLD = (
    "I am being restarted. I finish this first if I can; otherwise I go on with it as soon as I "
    "am back."
)


async def tell_of_stop(view: LaneView, services: Services) -> None:
    """Tell the person of a running turn that the gateway stops."""
    message = view.message
    event = None if message is None else message.event
    if message is None or event is None or event.internal or event.scheduled is not None:
        return
    services.watch.publish(message.id, Progress(kind="status", text=TOLD))
    platform = event.source.platform
    if message.control or services.first_state(platform) is not DeliveryState.PENDING:
        return
    send = NewSend(
        id=f"{reply_id(message.id)}_{services.owner}",
        message_id=message.id,
        person_id=message.person_id,
        target=target_of(event),
        parts=(TextPart(TOLD),),
        state=DeliveryState.PENDING,
        at=services.clock.now(),
        purpose="notice",
    )
    if await services.store.sends.put(send, kept=lambda _: None):
        services.wake_outbox(platform)

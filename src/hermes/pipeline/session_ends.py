"""How a message finds its session: over, then it is ended first, or busy with somebody else's work.

Nothing is under way in a session that ends: a turn, a question or a subagent keeps it going.
"""

from hermes.message.outcome import DeliveryState, MessageState
from hermes.message.parts import TextPart
from hermes.message.session_key import base_lane, depth_of
from hermes.pipeline.services import Services
from hermes.pipeline.targets import notice_id, target_of
from hermes.pipeline.turn import Turn
from hermes.ports.sends import NewSend
from hermes.ports.turns import LaneView
from hermes.ports.upward import Progress
from hermes.sessions.resets import told
from hermes.texts.say import say, words

_HELD_BACK = words(
    "I was working for somebody else, and /steer joins only work for yourself. So your "
    "message waited for its own turn; I answer it now."
)


async def end_if_over(view: LaneView, services: Services) -> bool:
    """End the session of a message that has just come; True if the lane has to be read again."""
    message = view.message
    if message is None or not view.head or view.end_reason is not None:
        return False
    if message.state is not MessageState.NEW or message.control or _is_beside(view.lane):
        return False
    now = services.clock.now()
    reason = await services.resets.reason(
        view.lane, person_id=message.person_id, used_at=view.used_at, now=now
    )
    if reason is None:
        return False
    ended = await services.store.sessions.end(
        view.lane, epoch=view.epoch, reason=reason, at=now, but=message.id
    )
    if ended and services.hooks is not None:
        services.hooks.session_ended(view.lane, reason)
    return ended


def notices_of(view: LaneView, services: Services) -> tuple[str, ...]:
    """Return what the person of a lane's message has to know before its reply.

    That is why the conversation begins again, and that a `/steer` waited for its own turn.
    """
    event = None if view.message is None else view.message.event
    held_back = (say(_HELD_BACK),) if event is not None and event.is_held_back else ()
    if view.end_reason is None or not services.resets.settings.tell_reset:
        return held_back
    return (told(view.end_reason, can_search=services.settings.search.enabled), *held_back)


async def tell_notices(turn: Turn, services: Services) -> None:
    """Say what a turn has to say before its reply; on a chat platform, again is not twice.

    Whoever asks for the reply themselves finds it there, too.
    """
    for notice in turn.notices:
        services.watch.publish(turn.id, Progress(kind="status", text=notice))
    platform = turn.event.source.platform
    state = services.first_state(platform)
    if state is not DeliveryState.PENDING:
        return
    send = NewSend(
        id=notice_id(turn.id),
        message_id=turn.id,
        person_id=turn.person_id,
        target=target_of(turn.event),
        parts=(TextPart("\n".join(turn.notices)),),
        state=state,
        at=services.clock.now(),
        purpose="notice",
    )
    if await services.store.sends.put(send, kept=lambda _: None):
        services.wake_outbox(platform)


def _is_beside(lane: str) -> bool:
    return depth_of(lane) > 0 or base_lane(lane) != lane

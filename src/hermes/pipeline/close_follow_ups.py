"""Messages that follow a running turn closely, before anything of its answer was shown.

Their person goes on writing, so they join the turn instead of stopping it: the model is asked again,
with all of them. Each is a step of the turn, written before that call, and ends with its commit.
"""

from itertools import takewhile

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart
from hermes.pipeline.exchange import has_answer, with_claimed
from hermes.pipeline.follow_ups import last_sent_at, may_join
from hermes.pipeline.interrupts import Arrivals
from hermes.pipeline.message_notes import joined_parts
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.stages.join_follow_ups import gather
from hermes.pipeline.targets import reply_id
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import MessageRecord

_encode = msgspec.json.Encoder().encode
# What a turn may have done before a message that follows it joins it.
_BEFORE_AN_ANSWER = frozenset({"prepared", "burst", "steer", "model"})


def watch_closely(turn: Turn, ctx: TurnContext) -> None:
    """Let messages that arrive soon join the turn while its model is asked, if they may."""
    busy, event = ctx.services.settings.busy, turn.event
    is_first = turn.pending_images is None and not has_answer(turn)
    has_room = 1 + len(turn.joined) < busy.max_merged
    is_open = event.source.platform in ctx.services.merging and may_join(event, ctx.services)
    if busy.join_s and is_first and has_room and is_open and turn.retry is None:
        last_at = max(turn.received_at, ctx.interrupt.last_at)
        ctx.interrupt.close_until = last_at + busy.join_s
    else:
        ctx.interrupt.close_until = None


async def join_closely(turn: Turn, ctx: TurnContext) -> Turn:
    """Return the turn with the messages that followed it; one that may not join stops it."""
    interrupt = ctx.interrupt
    arrivals = interrupt.gathering
    assert arrivals is not None
    interrupt.is_followed = False
    heard = -1
    while heard < len(arrivals.ids):
        heard = len(arrivals.ids)
        found = await gather(turn, ctx, arrivals)
        for record in takewhile(_is_text, found):
            turn = await _claim(turn, ctx, record)
    interrupt.gathering = None
    for message_id in arrivals.stopping:
        if message_id not in interrupt.joined:
            interrupt.press(message_id)
    return turn


async def _claim(turn: Turn, ctx: TurnContext, record: MessageRecord) -> Turn:
    assert record.event is not None
    personal_ids = ctx.services.personal_ids
    parts = await joined_parts(record.event, turn.context(), personal_ids=personal_ids)
    said = ChatMessage("user", parts)
    ordinal = await ctx.journal.claim(turn, record.id, body=_encode(said))
    ctx.journal.note("joined", messages=[record.id])
    ctx.interrupt.joined |= {record.id}
    ctx.interrupt.last_at = record.received_at
    return with_claimed(turn, record.id, said, ordinal=ordinal)


def _is_text(record: MessageRecord) -> bool:
    event = record.event
    return event is not None and all(isinstance(part, TextPart) for part in event.parts)


async def follows_closely(
    message: MessageRecord, steps: tuple[Step, ...], *, by: str, services: Services
) -> bool:
    """Return whether a message that waits behind a cut-off turn joins it instead of stopping it."""
    join_s, event = services.settings.busy.join_s, message.event
    if not join_s or event is None or event.source.platform not in services.merging:
        return False
    kinds = {step.kind for step in steps}
    if "prepared" not in kinds or kinds - _BEFORE_AN_ANSWER or any(map(_is_answer, steps)):
        return False
    inbox = services.store.inbox
    last_at = await last_sent_at(message.received_at, steps, inbox)
    follower = await inbox.get(by)
    is_close = follower is not None and follower.received_at - last_at <= join_s
    return is_close and not await services.store.outbox.is_shown(reply_id(message.id))


def _is_answer(step: Step) -> bool:
    return step.kind == "model" and step.state == "done"


def arrived_before(message_id: str) -> Arrivals:
    """Return what arrived while a turn was cut off."""
    arrivals = Arrivals(is_after_stop=True)
    arrivals.add(message_id, stops=True)
    return arrivals

"""The end of a scheduled turn: what its reply begins with, where it goes, and how much of it.

A reply that goes elsewhere is put down before the commit, under a name of its turn: a turn that is cut
off and goes on finds it there.
"""

from typing import Final

import msgspec

from hermes.config import CronSettings
from hermes.errors import Forbidden, Refused
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import Part, TextPart, text_of
from hermes.message.reply import Reply
from hermes.message.thoughts import without_thoughts
from hermes.pipeline.services import TurnContext
from hermes.pipeline.targets import reply_id
from hermes.pipeline.turn import Turn
from hermes.ports.outbox import NewDelivery
from hermes.ports.sends import FoundTarget, Parcel
from hermes.texts.say import number, say, words

MOST_NAMED_CHARS: Final = 2_000


async def end_scheduled(turn: Turn, reply: Reply, ctx: TurnContext) -> Reply:
    """Return the reply of a scheduled turn as its own chat gets it."""
    scheduled = turn.event.scheduled
    if scheduled is None or turn.event.internal:
        return reply
    if reply.outcome is Outcome.EXPIRED:
        # Nobody can send it again; the list of jobs says what became of it.
        return msgspec.structs.replace(reply, silent=True)
    if reply.outcome not in (Outcome.ANSWERED, Outcome.FAILED):
        return reply
    reply = _under(scheduled.head, reply)
    if not scheduled.target or reply.outcome is Outcome.FAILED:
        return reply
    try:
        place = await _send(turn, reply, ctx)
    except Refused as error:
        return _under(
            say(
                "(This could not be sent to {target}: {error})",
                target=scheduled.target,
                error=error,
            ),
            reply,
        )
    ctx.journal.note("sent", to=place.name)
    return msgspec.structs.replace(reply, silent=True, reason=f"sent to {place.name}")


def for_schedule(
    delivery: NewDelivery, turn: Turn, reply: Reply, *, settings: CronSettings
) -> NewDelivery:
    """Return a delivery that answers no message of its chat, and is not too long for one."""
    parts = delivery.parts
    if parts is None and delivery.state is DeliveryState.PENDING:
        shown = cut(reply.parts, _job_of(turn), settings=settings)
        parts = None if shown == reply.parts else shown
    target = msgspec.structs.replace(delivery.target, reply_to=None)
    return msgspec.structs.replace(delivery, target=target, parts=parts)


def cut(parts: tuple[Part, ...], job: str, *, settings: CronSettings) -> tuple[Part, ...]:
    """Return what is sent of a reply: too long a text ends with the place of the rest.

    Its attachments stay, those that are only named in a last part of the text, too.
    """
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(without_thoughts("".join(texts))) <= settings.max_chars:
        return parts
    named = texts.pop() if len(texts) > 1 and len(texts[-1]) <= MOST_NAMED_CHARS else ""
    said = TextPart(
        _shortened(without_thoughts("".join(texts)), job, limit=settings.shown_chars) + named
    )
    return (said, *(part for part in parts if not isinstance(part, TextPart)))


def _shortened(text: str, job: str, *, limit: int) -> str:
    in_chat = words(
        "… [cut here: {count} characters in all. They are kept whole: /schedule output {job} shows them "
        "in the chat that the job is from]"
    )
    in_search = words(
        "… [cut here: {count} characters in all. They are kept whole, in the conversation of {job}, "
        "which `hermes search` finds]"
    )
    note = say(in_search if ":" in job else in_chat, count=number(len(text)), job=job)
    return f"{text[:limit]}\n\n{note}"


async def _send(turn: Turn, reply: Reply, ctx: TurnContext) -> FoundTarget:
    services, scheduled = ctx.services, turn.event.scheduled
    assert scheduled is not None
    place = await services.courier.find(
        scheduled.target,
        message_id=turn.id,
        person_id=turn.person_id,
        is_operators=scheduled.is_operators,
    )
    if place.reach == "admins" and not scheduled.is_operators:
        raise Forbidden("it is not a chat of the person any more")
    shown = (
        reply.parts
        if place.target is None
        else cut(reply.parts, scheduled.job, settings=services.settings.cron)
    )
    text = without_thoughts(text_of(shown))
    parcel = Parcel(
        id=f"{reply_id(turn.id)}.cron",
        message_id=turn.id,
        person_id=turn.person_id,
        text=text,
        purpose="reply",
    )
    await services.courier.send(parcel, place)
    return place


def _under(head: str, reply: Reply) -> Reply:
    if not head:
        return reply
    parts: tuple[Part, ...] = (TextPart(f"{head}\n\n"), *reply.parts)
    return msgspec.structs.replace(reply, parts=parts)


def _job_of(turn: Turn) -> str:
    return "" if turn.event.scheduled is None else turn.event.scheduled.job

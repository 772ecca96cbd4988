"""Messages that somebody sends one after the other and means as one: which they are, and their event.

The first message is the host of the turn and the others are steps of it; their rows stay where they
are until its commit. Waiting for more of them is the work of the stage `join_follow_ups`.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, DeliveryState, Outcome
from hermes.message.parts import ImagePart, Part, TextPart
from hermes.message.reply import Reply
from hermes.pipeline.needs import HasCommands, HasSettings, Lookup
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import MessageRecord


class FollowUpServices(HasSettings, HasCommands, Protocol):
    """What decides which messages are meant as one: the settings, and how platforms are answered."""

    @property
    def merging(self) -> frozenset[str]: ...
    @property
    def first_state(self) -> Callable[[str], DeliveryState]: ...


def takes_more(message: MessageRecord, services: FollowUpServices) -> bool:
    """Return whether others might join a message that has not been worked on; called every turn."""
    event = message.event
    if event is None or message.attempts or message.control:
        return False
    return event.source.platform in services.merging or starts_burst(event, services)


def starts_burst(event: MessageEvent, services: FollowUpServices) -> bool:
    """Return whether more photos may follow: in an album, or by their time where replies are sent.

    Who asks for the reply over HTTP sends pictures together if they are meant so.
    """
    if not is_photo(event) or not services.settings.busy.photo_burst_s:
        return False
    return may_join(event, services) and (event.album is not None or _is_pushed(event, services))


def may_join(event: MessageEvent, services: FollowUpServices) -> bool:
    """Return whether an event is a person's message that needs no turn of its own."""
    if event.is_queued or event.internal or event.scheduled is not None or event.replaces:
        return False
    # What a program sends with a key or with a history of its own is a request by itself.
    if event.key is not None or event.history or event.may_delegate:
        return False
    return services.commands.read(event.text) is None


def is_photo(event: MessageEvent) -> bool:
    """Return whether an event is photos, with or without a caption, and nothing else."""
    has_picture = False
    for part in event.parts:
        if type(part) is ImagePart:
            has_picture = True
        elif type(part) is not TextPart:
            return False
    return has_picture


def belong_together(
    turn: Turn, waiting: Iterable[MessageRecord], services: FollowUpServices
) -> tuple[tuple[MessageRecord, ...], MessageRecord | None]:
    """Return the messages that join a turn's own message, and the first one that does not.

    The limits are those of the whole turn: what has joined it before counts. No message is skipped: one behind a message that needs its own turn waits for that turn.
    """
    busy = services.settings.busy
    joined: list[MessageRecord] = []
    most = busy.max_merged - len(turn.joined)
    chars, last = asked_chars(turn), turn.received_at
    for record in waiting:
        if record.id == turn.id:
            continue
        event = record.event
        if event is None or not _belongs(record, event, turn, last=last, services=services):
            return tuple(joined), record
        chars += len(event.text)
        if len(joined) + 1 >= most or chars > busy.max_merged_chars:
            return tuple(joined), record
        joined.append(record)
        last = record.received_at
    return tuple(joined), None


def asked_chars(turn: Turn) -> int:
    """Return how many characters a turn asks, with those of the messages that joined it."""
    said = (entry.message.text for entry in turn.exchanged if entry.message.role == "user")
    return len(turn.event.text) + sum(map(len, said))


async def last_sent_at(
    first_at: float, steps: Iterable[Step], inbox: Lookup[MessageRecord]
) -> float:
    """Return when the last message came in that is part of a turn which a crash has cut off."""
    names = [step.name for step in steps if step.kind in ("burst", "steer")]
    found = [await inbox.get(name) for name in names]
    return max([first_at, *(one.received_at for one in found if one is not None)])


def with_joined(turn: Turn, joined: Iterable[MessageRecord]) -> Turn:
    """Return the turn with what other messages say in its event."""
    records = [record for record in joined if record.event is not None]
    if not records:
        return turn
    parts, contexts = list(turn.event.parts), [turn.event.channel_context]
    for record in records:
        assert record.event is not None
        parts += _behind(parts, record.event.parts)
        contexts.append(record.event.channel_context)
    event = msgspec.structs.replace(
        turn.event,
        parts=tuple(parts),
        channel_context="\n\n".join(filter(None, contexts)) or None,
    )
    names = tuple(record.id for record in records)
    return msgspec.structs.replace(turn, event=event, own=turn.event, joined=names)


async def rejoined(turn: Turn, steps: Iterable[Step], inbox: Lookup[MessageRecord]) -> Turn:
    """Return the turn with the messages that had joined it before a crash."""
    names = [step.name for step in steps if step.kind == "burst"]
    if not names:
        return turn
    found = [await inbox.get(name) for name in names]
    return with_joined(turn, [record for record in found if record is not None])


def has_used_joined(turn: Turn, reply: Reply) -> bool:
    """Return whether the messages that joined a turn end with it; otherwise they become new again.

    They do if the model has answered them, or the person has stopped what they were sent for.
    """
    if turn.user is None or reply.outcome in (Outcome.EXPIRED, Outcome.REFUSED):
        return False
    if reply.outcome in (Outcome.ANSWERED, Outcome.INTERRUPTED) or reply.earned:
        return True
    return any(entry.message.role == "assistant" for entry in turn.exchanged)


def _belongs(
    record: MessageRecord,
    event: MessageEvent,
    turn: Turn,
    *,
    last: float,
    services: FollowUpServices,
) -> bool:
    host = turn.event
    if record.person_id != turn.person_id or record.control or not may_join(event, services):
        return False
    if (event.account, event.agent) != (host.account, host.agent):
        return False
    return _is_follow_up(record, event, host, services=services) or _is_of_burst(
        record, event, host, last=last, services=services
    )


def _is_follow_up(
    record: MessageRecord, event: MessageEvent, host: MessageEvent, *, services: FollowUpServices
) -> bool:
    """Tell whether a message only waits for its turn; one that is to steer joins where tools run."""
    if record.busy is BusyPolicy.STEER or event.source.platform not in services.merging:
        return False
    return (event.channel_prompt, event.skill) == (host.channel_prompt, host.skill)


def _is_of_burst(
    record: MessageRecord,
    event: MessageEvent,
    host: MessageEvent,
    *,
    last: float,
    services: FollowUpServices,
) -> bool:
    """Return whether a photo was sent along with other photos."""
    if not is_photo(event) or not is_photo(host):
        return False
    window_s = services.settings.busy.photo_burst_s
    if _is_pushed(host, services) and abs(record.received_at - last) <= window_s:
        return True
    return host.album is not None and event.album == host.album


def _is_pushed(event: MessageEvent, services: FollowUpServices) -> bool:
    return services.first_state(event.source.platform) is DeliveryState.PENDING


def _behind(parts: list[Part], more: tuple[Part, ...]) -> list[Part]:
    """Return parts to append to others: each message begins on a new line."""
    has_text = any(isinstance(part, TextPart) for part in parts)
    return [
        TextPart(f"\n{part.text}") if has_text and isinstance(part, TextPart) else part
        for part in more
    ]

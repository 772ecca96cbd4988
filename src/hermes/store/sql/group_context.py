"""Overheard group messages: encrypted, bounded per chat, used once, deleted with their writer.

Functions for the transactions of the inbox, of erasure and of upkeep.
"""

from collections.abc import Iterable
from typing import Final

from hermes.errors import Skipped
from hermes.message.event import MessageEvent
from hermes.ports.inbox import InGroup
from hermes.store.sql.engine import decode_event
from hermes.store.sql.places import event_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Reads, Tx

_SQL = load("overheard")
_UPKEEP = load("upkeep")
MOST_MESSAGES: Final = 50
MOST_CHARS: Final = 8000
KEPT_S: Final = 24 * 3600.0


async def keep_overheard(
    tx: Tx,
    group: InGroup,
    *,
    message_id: str,
    person_id: str,
    body: int,
    event: MessageEvent,
    at: float,
) -> None:
    """Store a message's text, and delete the oldest of its chat beyond the limits."""
    chars = len(event.text) + len(event.source.user_name or "")
    tx.put(_SQL["keep"], group.chat, group.thread, message_id, person_id, body, chars, at)
    total = 0
    for number, row in enumerate(await tx.rows(_SQL["of_chat"], group.chat), start=1):
        total += row[3]
        if number > MOST_MESSAGES or total > MOST_CHARS or row[4] < at - KEPT_S:
            _forget(tx, [row[:3]])


async def take_missed(
    tx: Tx, group: InGroup, *, sealer: Sealer, at: float
) -> tuple[MessageEvent, ...]:
    """Return and delete what was said since the bot was last addressed."""
    assert group.takes is not None
    rows = await tx.rows(_SQL["missed"], group.chat, *group.takes)
    bodies = [
        await sealer.get(tx, row[2], owner=row[4], place=event_place(row[1]))
        for row in rows
        if row[3] >= at - KEPT_S
    ]
    _forget(tx, [row[:3] for row in rows])
    return tuple(decode_event(body) for body in bodies if body is not None)


async def count_bots(tx: Tx, group: InGroup) -> None:
    """End a row of bot turns with a person's message, or count one more bot message.

    Raises `Skipped` if there are too many.
    """
    if not group.is_bot:
        tx.put(_SQL["person_wrote"], group.chat)
        return
    if group.is_kept:
        return
    row = await tx.row(_SQL["bot_turns"], group.chat)
    if row is not None and row[0] >= group.bot_turns:
        raise Skipped(
            f"bots have had {row[0]} turns in a row in this chat, and no person wrote in between; "
            "more would be a loop (access.platforms.NAME.bot_turns)"
        )
    tx.put(_SQL["count_bot_turn"], group.chat)


async def forget_overheard(tx: Tx, person_id: str) -> None:
    """Delete the texts of an erased person."""
    _forget(tx, await tx.rows(_SQL["of_person"], person_id))


async def has_old(db: Reads, now: float) -> bool:
    """Return whether any text is too old."""
    return await db.row(_SQL["old"], now - KEPT_S, 1) is not None


async def forget_old(tx: Tx, now: float, *, limit: int) -> None:
    """Delete texts that are too old, oldest first."""
    _forget(tx, await tx.rows(_SQL["old"], now - KEPT_S, limit))


def _forget(tx: Tx, rows: Iterable[tuple[int, str, int]]) -> None:
    for number, message_id, body in rows:
        tx.put(_SQL["drop"], number)
        tx.put(_SQL["forget_body"], message_id)
        tx.put(_UPKEEP["drop_body"], body)

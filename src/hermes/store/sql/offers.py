"""The answers that are shown as buttons, and what is to change of messages that are posted."""

from collections.abc import Sequence

import msgspec

from hermes.errors import GuardFailed
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.offer import NewOffer, Press
from hermes.message.parts import choices_of, text_of
from hermes.ports.channel import Target
from hermes.ports.offers import KeptReaction, Offer, OfferEnd, PostChange, PostedDelivery
from hermes.ports.outbox import is_repeat
from hermes.store.sql.delivery_story import DeliveryStories
from hermes.store.sql.engine import Engine, decode_event, encode
from hermes.store.sql.newcomers import find_or_add_person
from hermes.store.sql.places import event_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("offers")
_UPKEEP = load("upkeep")
# No store ever holds so many: a platform's inbox is bounded before.
_MOST_EARLY = 100_000
_decode_says = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_chat = msgspec.json.Decoder(ChatMessage).decode
_decode_target = msgspec.json.Decoder(Target).decode
_ENDS: dict[str | None, OfferEnd] = {"approved": "approved", "denied": "denied"}


async def write_offer(
    tx: Tx,
    engine: Engine,
    offer: NewOffer | None,
    *,
    delivery: str,
    message_id: str,
    person_id: str,
    platform: str,
) -> None:
    """Write the offer of a delivery inside the transaction that writes the delivery, if it has one."""
    if offer is None:
        return
    body = await engine.sealer.put(tx, person_id, encode(offer.says))
    where = (offer.id, delivery, message_id, platform, offer.lane)
    tx.put(_SQL["add"], *where, offer.who, offer.subject, body, offer.expires_at)


async def use_offer(tx: Tx, press: Press | None, *, message_id: str, at: float) -> None:
    """Let a message press an answer; raises `GuardFailed` if somebody has, or it is too late."""
    if press is None:
        return
    if await tx.changed(_SQL["press"], press.offer, press.index, message_id, at) != 1:
        raise GuardFailed(f"the offer {press.offer} was used before, or is too old")


async def forget_reactions(tx: Tx, person_id: str) -> None:
    """Delete the reactions of an erased person that wait for their message, inside a transaction."""
    for (name,) in await tx.rows(_SQL["early_of"], person_id):
        await _drop_early(tx, name)


async def _drop_early(tx: Tx, name: str) -> None:
    row = await tx.row(_SQL["early_body"], name)
    tx.put(_SQL["drop_early"], name)
    if row is not None:
        tx.put(_UPKEEP["drop_body"], row[0])


class SqlOffers:
    """Implements `ports.offers.OfferStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id
        self._stories = DeliveryStories(engine)

    async def posted(
        self, platform: str, chat_id: str, platform_message_id: str
    ) -> PostedDelivery | None:
        """Return what a posted message belongs to, by the platform's id of it."""
        row = await self._engine.reads.row(_SQL["posted"], platform, chat_id, platform_message_id)
        return None if row is None else PostedDelivery(*row)

    async def keep_reaction(
        self, event: MessageEvent, platform_message_id: str, *, at: float, most: int
    ) -> KeptReaction:
        """Store a reaction to a message that is not known to be posted, if one may be in its chat."""
        source, sealer = event.source, self._engine.sealer
        way = (event.account, source.platform, event.route, event.external_id)
        name = sealer.digest("\0".join(way).encode("utf-8", "replace")).hex()
        where = (source.platform, source.chat_id)

        async def unit(tx: Tx) -> KeptReaction:
            if await tx.row(_SQL["posted"], *where, platform_message_id) is not None:
                return "posted"
            if await tx.row(_SQL["knows_early"], name) is not None:
                return "kept"
            if await tx.row(_SQL["is_in_doubt"], *where) is None:
                return "unknown"
            who = (source.platform, source.user_id)
            person_id = await find_or_add_person(
                tx, *who, sealer=sealer, make_id=self._make_id, at=at
            )
            body = await sealer.put(tx, person_id, encode(event), place=event_place(name))
            tx.put(_SQL["keep_early"], name, *where, platform_message_id, person_id, body, at)
            for (old,) in await tx.rows(_SQL["old_early"], 0.0, most):
                await _drop_early(tx, old)
            return "kept"

        return await self._engine.writer.run("keep_reaction", unit)

    async def early_reactions(self, *, limit: int) -> tuple[tuple[str, MessageEvent | None], ...]:
        """Return reactions of which the message is known now, with their names; None for erased ones."""
        reads, sealer = self._engine.reads, self._engine.sealer
        found: list[tuple[str, MessageEvent | None]] = []
        for name, person_id, body in await reads.rows(_SQL["early"], limit):
            content = await sealer.get(reads, body, owner=person_id, place=event_place(name))
            found.append((name, None if content is None else decode_event(content)))
        return tuple(found)

    async def drop_reactions(self, names: Sequence[str], *, before: float) -> None:
        """Forget reactions that were handed on, and those that came before then."""
        reads = self._engine.reads
        if not names and not await reads.rows(_SQL["old_early"], before, _MOST_EARLY):
            return

        async def unit(tx: Tx) -> None:
            old = await tx.rows(_SQL["old_early"], before, _MOST_EARLY)
            for name in (*names, *(row[0] for row in old)):
                await _drop_early(tx, name)

        await self._engine.writer.run("drop_reactions", unit)

    async def get(self, offer_id: str) -> Offer | None:
        """Return one offer."""
        row = await self._engine.reads.row(_SQL["get"], offer_id)
        if row is None:
            return None
        says = await self._engine.sealer.get(self._engine.reads, row[4], owner=row[8])
        return Offer(
            id=offer_id,
            platform=row[0],
            chat_id=row[1],
            lane=row[2],
            who=row[3],
            says=None if says is None else _decode_says(says),
            expires_at=row[5],
            subject=row[6],
            chosen_by=row[7],
            delivery=row[9],
            is_posted=bool(row[10]),
            is_fresh=bool(row[11]),
        )

    async def changes(self, platform: str, now: float, *, limit: int) -> tuple[PostChange, ...]:
        """Return which messages of a platform are to be changed now."""
        reads = self._engine.reads
        ended = await reads.rows(_SQL["ended"], platform, now, limit)
        vanishing = await reads.rows(_SQL["vanishing"], platform, now, limit)
        ends = [await self._end(row) for row in ended]
        return (*ends, *map(_deletion, vanishing))

    async def _end(self, row: Row) -> PostChange:
        offer, delivery, message_id, person_id, target, posted, body, *end = row
        chosen, state, subject, story = end
        reads, content = self._engine.reads, None
        if body is not None:
            content = await self._engine.sealer.get(reads, body, owner=person_id)
        told = await self._stories.read(reads, person_id, story, delivery_id=delivery)
        parts = () if content is None else _decode_chat(content).parts
        labels = [choice.label for choice in choices_of(parts)]
        is_known = chosen is not None and 0 <= chosen < len(labels)
        is_answered = chosen is not None or ((subject or "")[:2] == "q_" and state == "approved")
        return PostChange(
            delivery=delivery,
            message_id=message_id,
            target=_decode_target(target),
            platform_message_id=posted,
            kind="end",
            offer=offer,
            text=text_of(parts),
            ended="chosen" if is_answered else _ENDS.get(state, "expired"),
            chosen=labels[chosen] if is_known else "",
            is_repeat=is_repeat(told),
        )

    async def changed(self, change: PostChange) -> None:
        """Say that a message was changed, or that it is left as it is."""
        is_end = change.kind == "end"

        async def unit(tx: Tx) -> None:
            if is_end:
                tx.put(_SQL["show"], change.offer)
            else:
                tx.put(_SQL["vanished"], change.delivery)

        await self._engine.writer.run("post_changed", unit)


def _deletion(row: Row) -> PostChange:
    delivery, message_id, target, posted = row
    return PostChange(
        delivery=delivery,
        message_id=message_id,
        target=_decode_target(target),
        platform_message_id=posted or "",
        kind="delete",
    )

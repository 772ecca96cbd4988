"""The answers that are shown as buttons, and what is to change of messages that are posted."""

import msgspec

from hermes.errors import GuardFailed
from hermes.message.chat import ChatMessage
from hermes.message.offer import NewOffer, Press
from hermes.message.parts import choices_of, text_of
from hermes.ports.channel import Target
from hermes.ports.offers import Offer, OfferEnd, PostChange, PostedDelivery
from hermes.ports.outbox import is_repeat
from hermes.store.sql.delivery_story import DeliveryStories
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("offers")
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


class SqlOffers:
    """Implements `ports.offers.OfferStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stories = DeliveryStories(engine)

    async def posted(
        self, platform: str, chat_id: str, platform_message_id: str
    ) -> PostedDelivery | None:
        """Return what a posted message belongs to, by the platform's id of it."""
        row = await self._engine.reads.row(_SQL["posted"], platform, chat_id, platform_message_id)
        return None if row is None else PostedDelivery(*row)

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

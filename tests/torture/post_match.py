"""Which reply each message on a platform is, where the platform keeps no reference: by chat and words."""

import re
from collections import defaultdict
from collections.abc import Callable

import msgspec

from hermes.outbox.marks import REPEAT_PREFIX
from hermes.testing.push.book import Posted
from tests.torture.books import Books
from tests.torture.places import Place

CURSOR = "▉"
_WORD = re.compile(r"\w+-m\d+(?= )")


class Slot(msgspec.Struct, kw_only=True):
    """A message that a reply makes up, whose words it answers, and what on the platform is it."""

    ref: str
    text: str
    word: str
    is_notice: bool = False
    plain: int = 0
    marked: int = 0


def attribute(books: Books, posted: tuple[Posted, ...], *, place: Place) -> tuple[Posted, ...]:
    """Return what stands there with the reference of the reply that it is."""
    slots = _slots(books, place)
    refs: dict[tuple[str, str], str | None] = {}
    # Whole replies first: what is left of a preview belongs to one that was sent again.
    for post in sorted(posted, key=lambda one: one.text.endswith(CURSOR)):
        refs[post.chat, post.message_id] = _ref(post, slots[post.chat])
    return tuple(
        msgspec.structs.replace(post, ref=refs[post.chat, post.message_id]) for post in posted
    )


def _slots(books: Books, place: Place) -> dict[str, list[Slot]]:
    slots: dict[str, list[Slot]] = defaultdict(list)
    words = {message.id: message.external_id for message in books.messages}
    for delivery in books.deliveries:
        if delivery.platform == place.platform:
            slots[delivery.chat] += [
                Slot(
                    ref=f"{delivery.id}.{number}",
                    text=text,
                    word=words[delivery.message_id],
                    is_notice=delivery.purpose == "notice",
                )
                for number, text in enumerate(place.shown(delivery.text))
            ]
    return slots


def _ref(post: Posted, slots: list[Slot]) -> str | None:
    text = post.text.removeprefix(REPEAT_PREFIX)
    is_marked = text != post.text
    slot = _begun(text, slots) if text.endswith(CURSOR) else _whole(text, slots, is_marked)
    if slot is None:
        return None
    slot.marked += is_marked
    slot.plain += not is_marked
    return slot.ref


def _whole(text: str, slots: list[Slot], is_marked: bool) -> Slot | None:
    """Return the reply with these words: the first that misses one like it, else the last."""
    same = [slot for slot in slots if slot.text == text]
    missing = [slot for slot in same if not (slot.marked if is_marked else slot.plain)]
    if is_marked:
        # A repeat is one of what stands there already, as far as anything does.
        missing.sort(key=lambda slot: not slot.plain)
    else:
        # What was repeated stood there before: a later message is another's.
        missing.sort(key=lambda slot: bool(slot.marked))
    return next(iter(missing or same[-1:]), None)


def _begun(text: str, slots: list[Slot]) -> Slot | None:
    """Return the reply that was being written when its gateway died; a notice is sent whole."""
    slots = [slot for slot in slots if not slot.is_notice]
    begun = text.rstrip(f" {CURSOR}")
    word = _WORD.search(f"{begun} ")
    claims: list[Callable[[Slot], bool]] = [
        lambda slot: word is not None and slot.word == word[0],
        lambda slot: not slot.plain and slot.text.startswith(begun),
        # Its turn ended with other words.
        lambda slot: not slot.plain and bool(slot.marked),
        lambda slot: slot.text.startswith(begun),
    ]
    found = (slot for claim in claims for slot in slots if claim(slot))
    return next(found, None)

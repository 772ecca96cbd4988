"""Which reply each message on a platform is, where the platform keeps no reference.

The outbox knows the ids of what was confirmed. What was not is told by chat and words: it stands for
a reply that was sent again, or that died half written. Replies of one chat stand in order, so it
is none of those that were confirmed, or repeated, before it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from hermes.outbox.marks import REPEAT_PREFIX
from hermes.testing.push.state import PostedMessage
from tests.torture.books import Books
from tests.torture.places import Place

CURSOR = "▉"
# How every answer of the scripted model begins; a turn that ended otherwise says something else.
ANSWER = "#"
# A word that is followed by others; the last one of a preview may be cut off.
_WORD = re.compile(r"\w+-m\d+(?= )")


class Slot(msgspec.Struct, kw_only=True):
    """A message that a reply makes up, whose words it answers, and what on the platform is it."""

    ref: str
    text: str
    word: str
    known_as: str | None = None
    is_notice: bool = False
    is_held: bool = False
    place: int | None = None
    plain: int = 0
    marked: int = 0

    @property
    def in_doubt(self) -> bool:
        """Whether it was said that nobody knows how often it stands there."""
        return self.is_held or bool(self.marked)

    def take(self, post: PostedMessage, number: int) -> str:
        """Count a message as one of this, and return its reference; a repeat comes last."""
        is_marked = post.text.startswith(REPEAT_PREFIX)
        self.marked += is_marked
        self.plain += not is_marked
        if is_marked or post.message_id == self.known_as:
            self.place = number
        return self.ref


_Claim = Callable[[Slot], bool]


def attribute(
    books: Books, posted: tuple[PostedMessage, ...], *, place: Place
) -> tuple[PostedMessage, ...]:
    """Return what stands there with the reference of the reply that it is."""
    slots = _slots(books, place)
    known = {(chat, slot.known_as): slot for chat, some in slots.items() for slot in some}
    numbered = list(enumerate(posted))
    refs: dict[int, str | None] = {}
    for number, post in numbered:
        if slot := known.get((post.chat, post.message_id)):
            refs[number] = slot.take(post, number)
    marked = [
        one for one in numbered if one[0] not in refs and one[1].text.startswith(REPEAT_PREFIX)
    ]
    for number, post in marked:
        slot = _marked(post, _by_row(slots[post.chat], number))
        refs[number] = None if slot is None else slot.take(post, number)
    plain = [one for one in numbered if one[0] not in refs]
    plain.sort(key=lambda one: _how_vague(one[1].text))
    begun = _begun_words(post for _, post in plain)
    wishes = [
        _wish(post, _by_row(slots[post.chat], number), begun=begun[post.chat])
        for number, post in plain
    ]
    for (number, post), slot in zip(plain, _shared_out(wishes), strict=True):
        refs[number] = None if slot is None else slot.take(post, number)
    return tuple(
        msgspec.structs.replace(post, ref=refs[number]) for number, post in enumerate(posted)
    )


def _how_vague(text: str) -> tuple[bool, int]:
    """Order whole replies first: what is left of a preview was sent again. The longest say most."""
    is_preview = text.endswith(CURSOR)
    return is_preview, -len(text) if is_preview else 0


def _by_row(slots: list[Slot], number: int) -> tuple[list[Slot], list[Slot]]:
    """Return what a message may be: the slots in a row with it, and the others."""
    in_row: list[Slot] = []
    others: list[Slot] = []
    before = -1
    for index, slot in enumerate(slots):
        after = next((one.place for one in slots[index:] if one.place is not None), number + 1)
        if slot.place is None or slot.place > number:
            (in_row if before < number < after else others).append(slot)
        before = before if slot.place is None else slot.place
    return in_row, others


def _slots(books: Books, place: Place) -> dict[str, list[Slot]]:
    slots: dict[str, list[Slot]] = defaultdict(list)
    words = {message.id: message.external_id for message in books.messages} | _said(books)
    for delivery in books.deliveries:
        if delivery.platform == place.platform:
            slots[delivery.chat] += [
                Slot(
                    ref=f"{delivery.id}.{number}",
                    text=text,
                    word=words[delivery.message_id],
                    known_as=dict(enumerate(delivery.known_as)).get(number),
                    is_notice=delivery.purpose == "notice",
                    is_held=delivery.held,
                )
                for number, text in enumerate(place.shown(delivery.text))
            ]
    return slots


def _said(books: Books) -> dict[str, str]:
    """Return the first word of the messages that stand in a transcript."""
    found = {
        entry.message_id: _WORD.search(f"{entry.message.text} ")
        for entry in reversed(books.entries)
        if entry.message.role == "user"
    }
    return {message_id: word[0] for message_id, word in found.items() if word is not None}


def _begun_words(unconfirmed: Iterable[PostedMessage]) -> dict[str, set[str]]:
    """Return by chat which messages' replies stand there half written."""
    words: dict[str, set[str]] = defaultdict(set)
    for post in unconfirmed:
        word = _WORD.search(post.text) if post.text.endswith(CURSOR) else None
        if word is not None:
            words[post.chat].add(word[0])
    return words


class _Wish(msgspec.Struct, frozen=True):
    """Which replies an unconfirmed message may be, the likeliest first.

    Each of `free` has room for one. Without room, it is `last`: that reply was sent twice.
    """

    free: list[Slot]
    last: Slot | None


def _shared_out(wishes: list[_Wish]) -> list[Slot | None]:
    """Return the reply of each message, so that as many as can be have one of their own."""
    owners: dict[int, int] = {}

    def find(number: int, asked: set[int]) -> bool:
        for slot in wishes[number].free:
            if id(slot) in asked or slot.plain:
                continue
            asked.add(id(slot))
            if id(slot) not in owners or find(owners[id(slot)], asked):
                owners[id(slot)] = number
                return True
        return False

    for number in range(len(wishes)):
        find(number, set())
    own = {number: slot for slot, number in owners.items()}
    return [
        next((slot for slot in wish.free if id(slot) == own.get(number)), wish.last)
        for number, wish in enumerate(wishes)
    ]


def _wish(post: PostedMessage, slots: tuple[list[Slot], list[Slot]], *, begun: set[str]) -> _Wish:
    in_row, others = slots
    if post.text.endswith(CURSOR):
        return _begun(post.text.rstrip(f" {CURSOR}"), in_row, others)
    same = [slot for slot in in_row + others if slot.text == post.text]
    # One that stands half written has its message already.
    free = sorted(same, key=lambda slot: slot.word in begun)
    return _Wish(free, next(iter(same[-1:]), None))


def _marked(post: PostedMessage, slots: tuple[list[Slot], list[Slot]]) -> Slot | None:
    """Return the reply that was sent once more: one that was confirmed is not."""
    in_row, others = slots
    text = post.text.removeprefix(REPEAT_PREFIX)
    same = [slot for slot in in_row + others if slot.text == text]
    same.sort(key=lambda slot: slot.place is not None)
    return next(iter([slot for slot in same if not slot.marked] or same[-1:]), None)


def _begun(begun: str, in_row: list[Slot], others: list[Slot]) -> _Wish:
    """Return what was being written when its gateway died; a notice is sent whole.

    It was said to be a repeat afterwards, or left to the operator; anything else is a mistake, and
    is looked for last. Its turn may have ended with other words, and may have been that of another
    message: one that steered it is answered again in a turn of its own if the first one fails.
    Only the whole word of a message is a better sign than the place in the chat.
    """
    word = _WORD.search(begun)
    claims: list[_Claim] = [
        lambda slot: slot.in_doubt and not slot.text.startswith(ANSWER),
        lambda slot: slot.text.startswith(begun),
    ]
    if not any(slot.in_doubt and slot.text.startswith(begun) for slot in in_row + others):
        claims.append(lambda slot: slot.in_doubt)
    mistakes: list[_Claim] = [
        lambda slot: slot.in_doubt and slot.text.startswith(begun),
        lambda slot: word is not None and slot.word == word[0],
        lambda slot: slot.text.startswith(begun),
    ]
    replies = [slot for slot in in_row + others if not slot.is_notice]
    named = [slot for slot in replies if word and slot.word == word[0] and slot.in_doubt]
    last = next(iter(named or _claimed(in_row, mistakes) or _claimed(others, mistakes)), None)
    return _Wish(named or _claimed(in_row, claims) + _claimed(others, claims), last)


def _claimed(slots: list[Slot], claims: list[_Claim]) -> list[Slot]:
    """Return the replies that fit a claim, those of the first claim first."""
    replies = sorted(
        (slot for slot in slots if not slot.is_notice), key=lambda one: not one.in_doubt
    )
    found = {id(slot): slot for claim in claims for slot in replies if claim(slot)}
    return list(found.values())

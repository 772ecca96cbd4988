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
    refs: dict[tuple[str, str], str | None] = {}
    unconfirmed: list[tuple[int, PostedMessage]] = []
    for number, post in enumerate(posted):
        slot = known.get(_name(post))
        if slot is None:
            unconfirmed.append((number, post))
            continue
        refs[_name(post)] = slot.take(post, number)
    begun = _begun_words(post for _, post in unconfirmed)
    for number, post in sorted(unconfirmed, key=lambda one: _how_vague(one[1].text)):
        slot = _guess(post, _by_row(slots[post.chat], number), begun=begun[post.chat])
        refs[_name(post)] = None if slot is None else slot.take(post, number)
    return tuple(msgspec.structs.replace(post, ref=refs[_name(post)]) for post in posted)


def _how_vague(text: str) -> tuple[bool, int]:
    """Order whole replies first: what is left of a preview was sent again. The longest say most."""
    is_preview = text.endswith(CURSOR)
    return is_preview, -len(text) if is_preview else 0


def _name(post: PostedMessage) -> tuple[str, str]:
    return post.chat, post.message_id


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


def _guess(
    post: PostedMessage, slots: tuple[list[Slot], list[Slot]], *, begun: set[str]
) -> Slot | None:
    in_row, others = slots
    text = post.text.removeprefix(REPEAT_PREFIX)
    if text.endswith(CURSOR):
        return _begun(text.rstrip(f" {CURSOR}"), in_row, others)
    is_marked = text != post.text
    # Of several replies with the same words, one that stands half written has its message already; and
    # one that was confirmed was not sent once more.
    has_own = (
        (lambda slot: slot.place is not None) if is_marked else (lambda slot: slot.word in begun)
    )
    return _whole(text, sorted(in_row + others, key=has_own), is_marked=is_marked)


def _whole(text: str, slots: list[Slot], *, is_marked: bool) -> Slot | None:
    """Return the reply with these words: the first that misses one like it, else the last."""
    same = [slot for slot in slots if slot.text == text]
    missing = [slot for slot in same if not (slot.marked if is_marked else slot.plain)]
    return next(iter(missing or same[-1:]), None)


def _begun(begun: str, in_row: list[Slot], others: list[Slot]) -> Slot | None:
    """Return the reply that was being written when its gateway died; a notice is sent whole.

    It was said to be a repeat afterwards, or left to the operator; anything else is a mistake, and
    is looked for last. Its turn may have ended with other words, and may have been that of another
    message: one that steered it is answered again in a turn of its own if the first one fails.
    Only the whole word of a message is a better sign than the place in the chat.
    """
    word = _WORD.search(begun)
    named: list[_Claim] = [
        lambda slot: word is not None and slot.word == word[0] and slot.in_doubt,
    ]
    claims: list[_Claim] = [
        lambda slot: not slot.plain and slot.in_doubt and not slot.text.startswith(ANSWER),
        lambda slot: not slot.plain and slot.text.startswith(begun),
        lambda slot: slot.in_doubt and slot.text.startswith(begun),
        lambda slot: not slot.plain and slot.in_doubt,
        lambda slot: word is not None and slot.word == word[0],
        lambda slot: slot.text.startswith(begun),
    ]
    return (
        _first_claimed(in_row + others, named)
        or _first_claimed(in_row, claims)
        or _first_claimed(others, claims)
    )


def _first_claimed(slots: list[Slot], claims: list[_Claim]) -> Slot | None:
    replies = sorted(
        (slot for slot in slots if not slot.is_notice), key=lambda one: not one.in_doubt
    )
    return next((slot for claim in claims for slot in replies if claim(slot)), None)

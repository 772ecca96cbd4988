"""Merges new facts with known ones: duplicates merge, the newer value wins. Pure."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence

import msgspec

from hermes.memory.structural import BUILT_IN, FactKeys
from hermes.ports.memory import EarlierValue, Fact, FactChange

MOST_FACTS = 10_000
_EARLIER_KEPT = 5
_ARTICLES = frozenset({"a", "an", "the"})


class LearntFact(msgspec.Struct, frozen=True):
    """A new fact about a person, clean, and the message that it came from."""

    key: str
    value: str
    source: str


def merge(
    current: Sequence[Fact],
    learnt: Iterable[LearntFact],
    *,
    person_id: str,
    at: float,
    make_id: Callable[[], str],
    forget: Iterable[str] = (),
    is_order: bool = False,
    most: int = MOST_FACTS,
    keys: FactKeys = BUILT_IN,
) -> FactChange:
    """Return the changes that new facts make to the known ones; the last value of a key counts.

    Known facts change nothing, however they are worded; an operator's order may repeat one under
    another key, and equal values of a structural key and another are two facts. A replaced value is kept beside the new one with its source. If there are too many
    facts, the oldest are dropped.
    """
    facts = {fact.key: fact for fact in current}
    gone = {key for key in map(keys.common, forget) if facts.pop(key, None) is not None}
    meanings = {_meaning(fact.value): fact.key for fact in facts.values()}
    changed: dict[str, Fact] = {}
    for one in learnt:
        known, meaning = facts.get(one.key), _meaning(one.value)
        twin = one.key if is_order else meanings.get(meaning, one.key)
        if _is_known(known, meaning) or (
            twin != one.key and twin not in keys and one.key not in keys
        ):
            continue
        if known is None:
            fact = _new(one, person_id, at=at, make_id=make_id, keys=keys)
        else:
            fact = _next(known, one, at=at, keys=keys)
            meanings.pop(_meaning(known.value), None)
        facts[one.key] = changed[one.key] = fact
        meanings[meaning] = one.key
    # A key that was deleted and learnt again is a new fact: the old one is still deleted.
    dropped = [fact.id for fact in current if fact.key in gone]
    surplus = _surplus(facts.values(), most)
    kept = tuple(fact for fact in changed.values() if fact.id not in surplus)
    return FactChange(put=kept, forget=(*dropped, *(surplus & {fact.id for fact in current})))


def _is_known(fact: Fact | None, meaning: str) -> bool:
    return fact is not None and _meaning(fact.value) == meaning


def _new(
    one: LearntFact, person_id: str, *, at: float, make_id: Callable[[], str], keys: FactKeys
) -> Fact:
    return Fact(
        id=make_id(),
        person_id=person_id,
        key=one.key,
        value=one.value,
        source=one.source,
        at=at,
        updated_at=at,
        is_structural=one.key in keys,
    )


def _next(known: Fact, one: LearntFact, *, at: float, keys: FactKeys) -> Fact:
    before = EarlierValue(known.value, known.source, known.updated_at)
    earlier = (before, *known.earlier)[:_EARLIER_KEPT]
    return msgspec.structs.replace(
        known,
        value=one.value,
        source=one.source,
        updated_at=at,
        earlier=earlier,
        is_structural=known.is_structural or one.key in keys,
    )


def _surplus(facts: Iterable[Fact], most: int) -> frozenset[str]:
    """Return the ids of facts over the limit; structural ones always stay."""
    loose = [fact for fact in facts if not fact.is_structural]
    count = len(loose) - most
    if count <= 0:
        return frozenset()
    loose.sort(key=lambda fact: fact.updated_at)
    return frozenset(fact.id for fact in loose[:count])


def _meaning(value: str) -> str:
    """Return a form that is equal for values that differ only in spelling or word order."""
    plain = unicodedata.normalize("NFKC", value).casefold()
    words = "".join(char if char.isalnum() else " " for char in plain).split()
    return " ".join(sorted(word for word in words if word not in _ARTICLES)) or plain

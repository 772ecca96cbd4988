"""What is known of people, changed by operators, by the people themselves and by what they say.

Every change comes through here: values are cleaned before they are stored, changes are merged with
known facts, and the person's cached souls are dropped.
"""

from collections.abc import Callable, Sequence

import msgspec

from hermes.errors import BadRequest
from hermes.memory.fact_merge import LearntFact, merge
from hermes.memory.sanitiser import TextLimits, clean_key, clean_value
from hermes.memory.soul_cache import SoulCache
from hermes.memory.structural import BUILT_IN, FactKeys
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.memory import Decide, Fact, FactChange, FactStore

# A longer value is not a fact: it is refused before it is read.
_LONGEST = 10_000
_AS_REQUIRED = TextLimits()


class FactOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that was set, what was removed from its value, and whether it is new."""

    fact: Fact
    removed: tuple[str, ...] = ()
    is_changed: bool = True


class PeoplesFacts:
    """Changes facts."""

    def __init__(
        self,
        store: FactStore,
        *,
        souls: SoulCache,
        clock: Clock,
        make_id: MakeId,
        limits: TextLimits = _AS_REQUIRED,
        keys: FactKeys = BUILT_IN,
    ) -> None:
        self.limits = limits
        self._keys = keys
        self._store = store
        self._souls = souls
        self._clock = clock
        self._make_id = make_id

    @property
    def keys(self) -> FactKeys:
        """The structural keys."""
        return self._keys

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        """Return what is known of a person, oldest first."""
        return await self._store.of(person_id)

    async def set(self, person_id: str, key: str, *, value: str, source: str) -> FactOutcome:
        """Store a fact; raises `BadRequest` if nothing is left of it after cleaning."""
        learnt, removed = learnt_from(key, value, source=source, limits=self.limits, keys=self.keys)
        decide = self.merging(person_id, (learnt,), is_order=True)
        change = await self._store.change(person_id, decide)
        await self._souls.invalidate(person_id)
        fact = next((fact for fact in change.put if fact.key == learnt.key), None)
        if fact is not None:
            return FactOutcome(fact=fact, removed=removed)
        known = next(fact for fact in await self._store.of(person_id) if fact.key == learnt.key)
        return FactOutcome(fact=known, removed=removed, is_changed=False)

    async def forget(self, person_id: str, key: str) -> tuple[Fact, ...]:
        """Delete what is known under a key; return what it was."""
        wanted = self.keys.common(key)
        return await self._drop(person_id, lambda fact: fact.key == wanted)

    async def forget_all(self, person_id: str) -> tuple[Fact, ...]:
        """Delete all that is known of a person, and what was derived from it; return the facts."""
        return await self._drop(person_id, lambda fact: True, is_all=True)

    async def _drop(
        self, person_id: str, is_meant: Callable[[Fact], bool], *, is_all: bool = False
    ) -> tuple[Fact, ...]:
        dropped: list[Fact] = []

        def decide(current: tuple[Fact, ...]) -> FactChange:
            dropped[:] = [fact for fact in current if is_meant(fact)]
            return FactChange(forget=tuple(fact.id for fact in dropped), forget_dream=is_all)

        await self._store.change(person_id, decide)
        await self._souls.invalidate(person_id)
        return tuple(dropped)

    def merging(
        self,
        person_id: str,
        learnt: Sequence[LearntFact],
        *,
        forget: Sequence[str] = (),
        is_order: bool = False,
    ) -> Decide:
        """Return how new facts change the known ones."""
        at = self._clock.now()

        def decide(current: tuple[Fact, ...]) -> FactChange:
            return merge(
                current,
                learnt,
                person_id=person_id,
                at=at,
                make_id=lambda: self._make_id("f"),
                forget=forget,
                is_order=is_order,
                keys=self.keys,
            )

        return decide

    async def changed(self, person_id: str) -> None:
        """Drop the cached souls of a person whose facts another transaction has changed."""
        await self._souls.invalidate(person_id)


def learnt_from(
    key: str,
    value: str,
    *,
    source: str,
    limits: TextLimits = _AS_REQUIRED,
    keys: FactKeys = BUILT_IN,
) -> tuple[LearntFact, tuple[str, ...]]:
    """Return a fact as it may be stored, and the families of what was removed from it."""
    if len(key) > _LONGEST or len(value) > _LONGEST:
        raise BadRequest(f"A fact is a short key and a value of at most {_LONGEST:,} characters.")
    name, text = clean_key(key, limits.key), clean_value(value, limits.value)
    kept = keys.common(name.text)
    if not kept or not text.text:
        which = "key" if not kept else "value"
        raise BadRequest(
            f"Nothing is left of the fact's {which} after cleaning: write a plain one, such as "
            "`diet vegan`."
        )
    return LearntFact(kept, text.text, source), (*name.removed, *text.removed)

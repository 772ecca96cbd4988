"""What is known of a person, as the operator sees and changes it.

Values are cleaned and merged below; here orders are checked and worded.
"""

from collections.abc import Awaitable, Callable

import msgspec
import structlog

from hermes.control.consent import find_person
from hermes.control.person_record import PersonRecord, person_record
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.memory.facts import PeoplesFacts
from hermes.ports.dreams import Dream
from hermes.ports.memory import EarlierValue, Fact, KnownPerson
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_MOST_LISTED = 10_000
_log = structlog.get_logger(__name__)
# Dreams of a person with the gateway's models; returns what they have then.
DreamNow = Callable[[str], Awaitable[Dream | None]]


class MemoryPeopleAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many of the people about whom something is known."""

    limit: WholeNumber = 50


class MemoryLine(KnownPerson, frozen=True, kw_only=True):
    """How much is known of a person, who is named as a platform names them."""

    user: str


class MemoryPeopleReport(msgspec.Struct, frozen=True, kw_only=True):
    """The people about whom something is known, those of the newest facts first."""

    people: tuple[MemoryLine, ...] = ()


class MemoryAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory; `user` is `platform:user_id`, or the id of a person."""

    user: str


class FactOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact to keep, in the place of what was known under its key; by whom."""

    user: str
    key: str
    value: str
    by: str = ""


class ForgetOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key to forget, or everything; by whom."""

    user: str
    key: str = ""
    is_everything: bool = False
    by: str = ""


class FactLine(msgspec.Struct, frozen=True, kw_only=True):
    """A fact; `source` is the message that taught it, or who set it."""

    key: str
    value: str
    source: str
    at: float
    updated_at: float
    is_structural: bool
    earlier: tuple[EarlierValue, ...] = ()


class MemoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a person, structural facts first, and the last dream of them."""

    user: str
    person_id: str
    facts: tuple[FactLine, ...]
    dream: Dream | None = None


class DreamOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish that a person is dreamt of now; by whom."""

    user: str
    by: str = ""


class DreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a person's dream says now; none if nothing is known of them."""

    user: str
    person_id: str
    dream: Dream | None = None


class FactReport(msgspec.Struct, frozen=True, kw_only=True):
    """The current fact, what was removed for it, and whether the order changed anything."""

    user: str
    person_id: str
    fact: FactLine
    removed: tuple[str, ...] = ()
    changed: bool = True


class ForgottenReport(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that were deleted."""

    user: str
    person_id: str
    forgotten: tuple[FactLine, ...]


class MemoryOperations:
    """Where operators' orders about memory arrive."""

    def __init__(
        self, store: Store, facts: PeoplesFacts, *, dream_now: DreamNow | None = None
    ) -> None:
        self._store = store
        self._facts = facts
        self._dream_now = dream_now

    async def list(self, ask: MemoryPeopleAsk) -> MemoryPeopleReport:
        """Return how much is known of whom, without what it is."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"{ask.limit} people: expected a number from 1 to {_MOST_LISTED:,}.")
        found = await self._store.facts.people(limit=ask.limit)
        return MemoryPeopleReport(people=tuple([await self._line(one) for one in found]))

    async def _line(self, known: KnownPerson) -> MemoryLine:
        user = await self._store.users.get(known.person_id)
        channels = user.channels if user else ()
        name = f"{channels[0].platform}:{channels[0].user_id}" if channels else ""
        return MemoryLine(**msgspec.structs.asdict(known), user=name)

    async def show(self, ask: MemoryAsk) -> MemoryReport:
        """Return what is known of a person."""
        person = await find_person(self._store.people, ask.user)
        facts = sorted(await self._facts.of(person.id), key=lambda fact: not fact.is_structural)
        return MemoryReport(
            user=ask.user,
            person_id=person.id,
            facts=tuple(fact_line(fact) for fact in facts),
            dream=await self._store.dreams.of(person.id),
        )

    async def record(self, ask: MemoryAsk) -> PersonRecord:
        """Return all that is kept of a person but what was said in their sessions."""
        person = await find_person(self._store.people, ask.user)
        return await person_record(self._store, person.id, name=ask.user)

    async def dream(self, order: DreamOrder) -> DreamReport:
        """Dream of a person now, whether it is time for it or not."""
        person = await find_person(self._store.people, order.user)
        if self._dream_now is None:
            raise Conflict(
                "A dream needs a model, so a gateway must run: start one with `hermes up`."
            )
        if person.is_erased:
            raise Conflict(f"{order.user[:80]} was erased: nothing is known of them.")
        _log.info("dream_ordered", person_id=person.id, by=order.by)
        dream = await self._dream_now(person.id)
        return DreamReport(user=order.user, person_id=person.id, dream=dream)

    async def set(self, order: FactOrder) -> FactReport:
        """Keep a fact about a person."""
        person = await find_person(self._store.people, order.user)
        source = f"operator {order.by}".strip()
        kept = await self._facts.set(person.id, order.key, value=order.value, source=source)
        # Neither the key nor the value: what is known of people does not belong in a log.
        _log.info("fact_set", person_id=person.id, by=order.by, removed=kept.removed)
        return FactReport(
            user=order.user,
            person_id=person.id,
            fact=fact_line(kept.fact),
            removed=kept.removed,
            changed=kept.is_changed,
        )

    async def forget(self, order: ForgetOrder) -> ForgottenReport:
        """Forget a fact about a person, or all of them."""
        person = await find_person(self._store.people, order.user)
        if order.is_everything == bool(order.key):
            raise BadRequest("Give the key to forget, or everything, not both.")
        if order.is_everything:
            gone = await self._facts.forget_all(person.id)
        else:
            gone = await self._facts.forget(person.id, order.key)
            if not gone:
                raise await self._unknown(person.id, order.key)
        _log.info("facts_forgotten", person_id=person.id, count=len(gone), by=order.by)
        return ForgottenReport(
            user=order.user, person_id=person.id, forgotten=tuple(fact_line(one) for one in gone)
        )

    async def _unknown(self, person_id: str, key: str) -> NotFound:
        known = ", ".join(sorted(fact.key for fact in await self._facts.of(person_id))) or "nothing"
        return NotFound(
            f"Nothing is known under {self._facts.keys.common(key)[:50]!r}. What is known: {known[:500]}."
        )


def fact_line(fact: Fact) -> FactLine:
    """Return a fact as it is shown."""
    return FactLine(
        key=fact.key,
        value=fact.value,
        source=fact.source,
        at=fact.at,
        updated_at=fact.updated_at,
        is_structural=fact.is_structural,
        earlier=fact.earlier,
    )

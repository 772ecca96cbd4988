"""The memory port: what is known of people, the souls of sessions, and the jobs that learn.

Everything here is plain; the store seals it with the key of its person. Whoever changes facts says
how in a function of those that stand, which runs inside the one unit that writes the change.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from hermes.ports.spend import SpendEntry
from hermes.ports.vectors import Page


class EarlierValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that a newer one replaced, and which message had taught it."""

    value: str
    source: str
    at: float


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing known of a person; `source` is the message that taught it, or who set it.

    `at` is when it became known, `updated_at` when it got its value; `earlier` are the values it
    had before, the newest first.
    """

    id: str
    person_id: str
    key: str
    value: str
    source: str
    at: float
    updated_at: float
    is_structural: bool = False
    earlier: tuple[EarlierValue, ...] = ()


class FactChange(msgspec.Struct, frozen=True, kw_only=True):
    """Facts to keep, new or in the place of those with the same id, and ids to forget.

    What was dreamt of the person goes with a fact that is forgotten, or by `forget_dream` alone.
    """

    put: tuple[Fact, ...] = ()
    forget: tuple[str, ...] = ()
    forget_dream: bool = False

    def __bool__(self) -> bool:
        return bool(self.put or self.forget)


Decide = Callable[[tuple[Fact, ...]], FactChange]


class KeptFact(Protocol):
    """A fact that was set, what was taken out of its value, and whether it is news."""

    @property
    def fact(self) -> Fact:
        """The current fact."""
        ...

    @property
    def removed(self) -> tuple[str, ...]:
        """The families of what was taken out of it."""
        ...

    @property
    def is_changed(self) -> bool:
        """Whether it was not known before."""
        ...


class FactKeeper(Protocol):
    """Changes what is known of people, with every value cleaned on its way in."""

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        """Return what is known of a person, the oldest first."""
        ...

    async def set(self, person_id: str, key: str, *, value: str, source: str) -> KeptFact:
        """Keep a fact; raises `BadRequest` when nothing is left of it once it is clean."""
        ...

    async def forget(self, person_id: str, key: str) -> tuple[Fact, ...]:
        """Forget what is known under a key; return what that was."""
        ...


class KnownPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person about whom `facts` are known, the last of them learned at this time."""

    person_id: str
    facts: int
    at: float


class FactStore(Protocol):
    """What is known of people."""

    async def people(self, *, limit: int) -> tuple[KnownPerson, ...]:
        """Return the people about whom something is known, those of the newest facts first."""
        ...

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        """Return the facts of a person, the oldest first; answered from memory."""
        ...

    async def change(self, person_id: str, decide: Decide) -> FactChange:
        """Change a person's facts in one unit; return what was changed."""
        ...

    async def some(self, person_id: str, ids: Sequence[str]) -> tuple[Fact, ...]:
        """Return the facts of a person that have these ids, in their order."""
        ...

    async def has_loose(self, person_id: str) -> bool:
        """Return whether anything is known of a person that is not structural."""
        ...


class VectorStore(Protocol):
    """Where people's facts stand among meanings: pages of vectors, as `ports.vectors` packs them.

    Which facts still lack their vector is written together with the facts, so that none is lost.
    """

    async def pages(self, person_id: str, model: str) -> tuple[bytes, ...]:
        """Return the pages of a person that this model made."""
        ...

    async def waiting(self, person_id: str, *, limit: int) -> tuple[Fact, ...]:
        """Return facts of a person that have no vector yet; there may be structural ones."""
        ...

    async def is_foreign(self, person_id: str, model: str) -> bool:
        """Return whether a person has pages that another model made."""
        ...

    async def keep(self, person_id: str, page: Page, *, facts: Sequence[Fact]) -> None:
        """Keep the vectors of some facts; those of a fact that has changed by now are left out.

        Facts that have no vector in the page no longer wait for one.
        """
        ...

    async def renew(self, person_id: str) -> None:
        """Drop every vector of a person; all their facts wait for new ones."""
        ...


class SaidBefore(msgspec.Struct, frozen=True):
    """A message that a person wrote in an earlier session."""

    text: str
    at: float


class Soul(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the system blocks of a session tell of its place and person, behind the personality.

    In a session that others write in, too, it tells of the place alone, and turns see what was said
    from the message `shared_from` on.
    """

    person_id: str
    blocks: tuple[str, ...]
    shared_from: int | None = None


class SoulStore(Protocol):
    """What sessions contain about their person; the commit of the first turn writes it."""

    def drop(self, lane: str) -> None:
        """Drop the cached blocks of a session; they are read again when they are needed."""
        ...

    async def get(self, lane: str, epoch: int) -> Soul | None:
        """Return the blocks of a session, if it has begun; none are left of an erased person's."""
        ...

    async def said_before(
        self,
        person_id: str,
        *,
        lane: str,
        epoch: int,
        limit: int,
        is_command: Callable[[str], bool],
    ) -> tuple[SaidBefore, ...]:
        """Return the newest messages of a person's other sessions, oldest first.

        Without commands, messages that got no answer, and what was taken out of its conversation.
        One person over several platforms is one who linked them.
        """
        ...


EXTRACT = "extract"
"""The kind of the jobs that learn from what a person said."""


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """Work that a turn leaves behind, at `due_at`; the same `key` is one job.

    A later turn puts it off, but never beyond `latest_at` of the first. With `is_patient` it does not
    change when a job that failed is tried again.
    """

    kind: str
    key: str
    lane: str
    epoch: int
    person_id: str
    due_at: float
    latest_at: float
    is_patient: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is due; `covered` is how much of the session was dealt with before.

    `latest_at` is when it was to run at the latest, before it failed.
    """

    kind: str
    key: str
    lane: str
    epoch: int
    person_id: str
    attempts: int
    touched: int
    covered: int
    latest_at: float


class ReadExchange(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange of a session: what the person of a job wrote, and what was answered."""

    message_id: str
    text: str
    answer: str
    at: float


class Lessons(msgspec.Struct, frozen=True):
    """What a job has to learn from; `covered` is how far the session goes with it."""

    heard: tuple[ReadExchange, ...]
    covered: int


class JobStore(Protocol):
    """Work after the reply, journaled; a job is done only with what it changes."""

    async def due(
        self, now: float, *, limit: int, kinds: Sequence[str] | None = None
    ) -> tuple[Job, ...]:
        """Return jobs that are due, the longest first; with `kinds` only those of these."""
        ...

    async def next_due_at(self) -> float | None:
        """Return when the next job becomes due."""
        ...

    async def lessons(self, job: Job, *, limit: int) -> Lessons:
        """Return what the person of a job said since it was last done."""
        ...

    async def finish(
        self, job: Job, decide: Decide, *, covered: int, spent: Sequence[SpendEntry]
    ) -> FactChange:
        """End a job with what it learnt and took; it stays due if the session went on meanwhile."""
        ...

    async def put_off(
        self,
        job: Job,
        *,
        due_at: float | None,
        reason: str,
        spent: Sequence[SpendEntry],
        counts: bool = True,
    ) -> None:
        """Delay a failed job; without a time it is parked until the session continues.

        `counts` uses up one of its attempts.
        """
        ...

    async def parked(self) -> int:
        """Return how many jobs are parked."""
        ...

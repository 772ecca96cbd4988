"""The dream port: what a weekly look at a person adds up to, and the jobs that make it.

Like every job, a dream ends in the one unit that writes it. What it says is plain here; the store
seals it with the key of its person.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes.ports.memory import Job, SaidBefore
from hermes.ports.spend import SpendEntry

DREAM = "dream"
"""The kind of these jobs."""


def dream_key(person_id: str) -> str:
    """Return the name of the one job of a person's dreams."""
    return f"{DREAM}:{person_id}"


class Dream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Insights about a person, and what is not known yet and worth asking."""

    at: float
    insights: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


class RecentMessages(msgspec.Struct, frozen=True):
    """What a person wrote since the last dream, oldest first; `covered` is how far that goes."""

    said: tuple[SaidBefore, ...]
    covered: int


class DreamStore(Protocol):
    """Dreams of people, and whose turn it is."""

    async def of(self, person_id: str) -> Dream | None:
        """Return the last dream of a person; answered from memory while nobody has one."""
        ...

    async def last_begun_at(self) -> float | None:
        """Return when the last dream was begun, of whomever."""
        ...

    async def next_person(self, *, before: float, after: str, limit: int) -> tuple[str | None, str]:
        """Look at the next people behind the id `after`, at most `limit`.

        Returns the first whose last dream was begun at `before` or earlier and of whom there is
        something new, and the id to go on behind: empty at the end.
        """
        ...

    async def begin(self, person_id: str, *, at: float) -> Job:
        """Put down the job of a person's dream, due at once; one that waits is begun again."""
        ...

    async def lately_said(self, job: Job, *, limit: int) -> RecentMessages:
        """Return what the person of a job wrote since the last dream."""
        ...

    async def finish(
        self,
        job: Job,
        dream: Dream | None,
        *,
        covered: int,
        seen: Sequence[str],
        spent: Sequence[SpendEntry],
    ) -> bool:
        """End a job with its dream and what it took; without a dream the last one stays.

        `seen` are the facts it was made of: if one is forgotten by now, nothing is written but
        what it took, the job stays due, and false is returned.
        """
        ...

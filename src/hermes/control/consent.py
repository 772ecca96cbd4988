"""Whether a person's conversations may be trained on: asked and set by the operator.

Nobody has agreed until it was said here; exports ask for the flag, and write nothing of anybody
who has not.
"""

import msgspec
import structlog

from hermes.errors import BadRequest, NotFound
from hermes.message.short_ids import SHORTEST, only_one
from hermes.ports.clock import Clock
from hermes.ports.people import PeopleStore, Person

_log = structlog.get_logger(__name__)


class ConsentAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Whose consent; `user` is `platform:user_id`, or the id of a person."""

    user: str


class ConsentOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish that a person's conversations may be trained on, or that they may not; by whom."""

    user: str
    may_train: bool
    by: str = ""


class ConsentReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a person's consent stands; `changed` says whether the order before this did anything."""

    user: str
    person_id: str
    may_train: bool
    changed: bool = False


class ConsentOperations:
    """Where operators' orders about consent arrive."""

    def __init__(self, people: PeopleStore, *, clock: Clock) -> None:
        self._people = people
        self._clock = clock

    async def show(self, ask: ConsentAsk) -> ConsentReport:
        """Return whether a person's conversations may be trained on."""
        person = await find_person(self._people, ask.user)
        return ConsentReport(user=ask.user, person_id=person.id, may_train=person.may_train)

    async def set(self, order: ConsentOrder) -> ConsentReport:
        """Keep that a person agreed, or took it back; the same order again changes nothing."""
        person = await find_person(self._people, order.user)
        may_train, at = order.may_train, self._clock.now()
        if may_train and person.is_erased:
            raise BadRequest(
                f"{order.user[:80]!r} was erased: nothing of what they said can be read any more, so "
                "nothing of it can be trained on. Nothing was changed."
            )
        changed = person.may_train != may_train
        if changed:
            if not await self._people.set_consent(person.id, may_train=may_train, at=at):
                raise unknown_person(order.user)
            _log.info("consent", person_id=person.id, may_train=may_train, by=order.by)
        return ConsentReport(
            user=order.user, person_id=person.id, may_train=may_train, changed=changed
        )


def unknown_person(user: str) -> NotFound:
    """Return the error for a person who never wrote."""
    return NotFound(
        f"Nobody is known as {user[:80]!r}. Write PLATFORM:USER_ID as the platform names them, such "
        "as telegram:4711, or the id of a person, which `hermes users list` shows."
    )


async def find_person(people: PeopleStore, user: str) -> Person:
    """Return the person behind `platform:user_id`, or of an id or a part of it.

    Raises what to write instead.
    """
    if not user.strip():
        raise BadRequest("The person has no name: write PLATFORM:USER_ID, such as telegram:4711.")
    platform, separator, user_id = user.partition(":")
    person = await people.get(user) or (await people.find(platform, user_id) if separator else None)
    if person is None and not separator:
        whole = only_one(user, await people.matching(user)) if len(user) >= SHORTEST else None
        person = None if whole is None else await people.get(whole)
    if person is None:
        raise unknown_person(user)
    return person

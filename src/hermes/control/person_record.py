"""All that is kept of a person in the store but their sessions, as one value for an export."""

import msgspec

from hermes.control.consent import unknown_person
from hermes.ports.dreams import Dream
from hermes.ports.memory import Fact
from hermes.ports.people import PersonHistory, User
from hermes.ports.responses import StoredResponse
from hermes.ports.store import Store
from hermes.ports.wallet import LedgerLine, Wallet

MOST_LINES = 100_000
_MOST_BYTES = 33_554_432


class PersonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person: who they are, what is known of them, what they had and spent, the newest first.

    `user` is the name that was asked for; of very many lines of the ledger only the newest are here.
    `more_responses` are stored responses for which there is no room.
    """

    user: str
    person: User
    papers: PersonHistory
    facts: tuple[Fact, ...] = ()
    dream: Dream | None = None
    wallet: Wallet | None = None
    ledger: tuple[LedgerLine, ...] = ()
    responses: tuple[StoredResponse, ...] = ()
    more_responses: int = 0


async def person_record(store: Store, person_id: str, *, name: str) -> PersonRecord:
    """Return all of a person; raises `NotFound` for nobody."""
    person = await store.users.get(person_id)
    if person is None:
        raise unknown_person(name)
    responses, more = await store.responses.of_person(person_id, most_bytes=_MOST_BYTES)
    return PersonRecord(
        user=name,
        person=person,
        papers=await store.users.papers(person_id),
        facts=await store.facts.of(person_id),
        dream=await store.dreams.of(person_id),
        wallet=await store.wallets.get(person_id),
        ledger=await store.wallets.lines(person_id, limit=MOST_LINES),
        responses=responses,
        more_responses=more,
    )

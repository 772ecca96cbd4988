"""Consent as the operator sets and sees it, over the real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.calls.days import Calendar
from hermes.control.consent import ConsentAsk, ConsentOrder, ConsentReport
from hermes.control.keys import NewKey
from hermes.control.operations import Operations
from hermes.errors import BadRequest, NotFound
from hermes.message.ids import make_id
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

NOW = 1_700_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
def operations(store: Store) -> Operations:
    return Operations(
        store,
        calendar=Calendar("UTC"),
        clock=ManualClock(NOW),
        make_id=make_id,
        address="http://127.0.0.1:8080",
    )


async def a_person(operations: Operations) -> tuple[str, str]:
    """Make somebody; return how a platform names them, and their id."""
    made = await operations.keys.create(NewKey(user="ann:1"))
    return "v1:ann:1", made.key.person_id


@pytest.mark.req("G6")
async def test_nobody_has_agreed_until_it_is_said_and_it_can_be_taken_back(operations):
    user, person = await a_person(operations)

    before = await operations.consent.show(ConsentAsk(user=user))
    with capture_logs() as logs:
        on = await operations.consent.set(ConsentOrder(user=user, may_train=True, by="olga"))
        again = await operations.consent.set(ConsentOrder(user=person, may_train=True, by="olga"))
    agreed = await operations.consent.show(ConsentAsk(user=person))
    off = await operations.consent.set(ConsentOrder(user=user, may_train=False))
    after = await operations.consent.show(ConsentAsk(user=user))

    assert before == ConsentReport(user=user, person_id=person, may_train=False)
    assert on == ConsentReport(user=user, person_id=person, may_train=True, changed=True)
    assert again == ConsentReport(user=person, person_id=person, may_train=True)
    assert agreed.may_train
    assert (off.may_train, off.changed, after.may_train) == (False, True, False)
    # The log knows the person, never what a platform calls them.
    assert logs == [
        {
            "event": "consent",
            "person_id": person,
            "may_train": True,
            "by": "olga",
            "log_level": "info",
        }
    ]


@pytest.mark.req("G6")
async def test_an_unknown_person_is_an_error_that_says_how_to_name_one(operations):
    await a_person(operations)

    for user in ("v1:bob", "ann:1", "p_nobody", ":", "v1:"):
        with pytest.raises(NotFound, match=r"Nobody is known as .* PLATFORM:USER_ID"):
            await operations.consent.show(ConsentAsk(user=user))
        with pytest.raises(NotFound):
            await operations.consent.set(ConsentOrder(user=user, may_train=True))
    with pytest.raises(BadRequest):
        await operations.consent.show(ConsentAsk(user=" "))


@pytest.mark.req("G6", "J24")
async def test_an_erased_person_cannot_agree(operations, store):
    user, person = await a_person(operations)
    await operations.consent.set(ConsentOrder(user=user, may_train=True))
    await store.people.erase(person, at=NOW)

    with pytest.raises(NotFound):
        await operations.consent.set(ConsentOrder(user=user, may_train=True))
    with pytest.raises(BadRequest, match="was erased: nothing of what they said can be read"):
        await operations.consent.set(ConsentOrder(user=person, may_train=True))
    assert not (await operations.consent.show(ConsentAsk(user=person))).may_train
    assert not (await operations.consent.set(ConsentOrder(user=person, may_train=False))).may_train

"""J24: bodies at rest are sealed per person; erasing a person destroys their key."""

from pathlib import Path

import pytest

from hermes.errors import StoreError
from tests.contract.journal.rig import open_rig
from tests.stores.opening import KEYS, new_keys, open_store, opened, raw_bytes, tables

SECRET = "the word is xylophone"


@pytest.mark.req("J24", "A15")
async def test_j24_no_body_is_readable_in_the_files(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say(SECRET)
        await rig.outcome(message_id)
        result = await rig.store.inbox.result(message_id)

    assert result is not None
    assert SECRET in result.text
    assert b"xylophone" not in raw_bytes(tmp_path)


@pytest.mark.req("J24")
async def test_j24_erasing_a_person_makes_every_body_of_theirs_unreadable(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say(SECRET)
        await rig.outcome(message_id)
        other = await rig.say("kept", chat="bob")
        await rig.outcome(other)
        record = await rig.store.inbox.get(message_id)
        assert record is not None

        await rig.store.people.erase(record.person_id, at=rig.clock.now())

        gone = await rig.store.inbox.get(message_id)
        assert gone is not None
        assert gone.event is None
        assert await rig.store.inbox.result(message_id) is None
        person = await rig.store.people.get(record.person_id)
        assert person is not None
        assert person.is_erased
        with tables(tmp_path) as left:
            key = "SELECT wrapped FROM person_keys WHERE person_id = ?1"
            assert left.rows(key, (record.person_id,)) == []
        assert (await rig.store.transcripts.history(rig.lane(), epoch=0, head=9)).messages == ()
        kept = await rig.store.inbox.result(other)
        assert kept is not None
        assert kept.text == "#1 kept"


@pytest.mark.req("J24")
async def test_j24_a_waiting_message_of_an_erased_person_ends_refused(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say(SECRET)
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())

    async with open_rig(tmp_path) as rig:
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        ended = await rig.store.inbox.get(message_id)
        assert ended is not None
        assert ended.outcome == "refused"


@pytest.mark.req("J24")
async def test_j24_an_erased_person_who_writes_again_is_somebody_new(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("hello")
        await rig.outcome(first)
        before = await rig.store.inbox.get(first)
        assert before is not None
        await rig.store.people.erase(before.person_id, at=rig.clock.now())

        second = await rig.say("hello again")

        assert await rig.outcome(second) == "answered"
        after = await rig.store.inbox.get(second)
        assert after is not None
        assert after.person_id != before.person_id


@pytest.mark.req("J24", "A15")
async def test_j24_the_store_key_rotates_without_touching_bodies(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say(SECRET)
        await rig.outcome(message_id)
        before = rig.store.digest(b"same")
    both = new_keys(KEYS)
    async with opened(tmp_path, key_file=both) as store:
        assert await store.rotate_keys() == 1

    only_new = both.split()[0] + b"\n"
    async with opened(tmp_path, key_file=only_new) as store:
        result = await store.inbox.result(message_id)
        digest = store.digest(b"same")

    assert result is not None
    assert SECRET in result.text
    assert digest == before


@pytest.mark.req("J24")
async def test_j24_another_key_file_is_a_clear_error(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer(SECRET)

    with pytest.raises(StoreError, match="restore the key file"):
        await open_store(tmp_path, key_file=new_keys())

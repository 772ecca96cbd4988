"""A new key for the store: people go on talking, a crash at any step loses nothing, old keys go."""

from pathlib import Path

import pytest

from hermes.app.key_rotation import KeyRotation
from hermes.config.home import replace_secret_file
from hermes.errors import StoreError
from hermes.ports.search import SearchAsk
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.store.people import person
from tests.stores.opening import new_keys, opened_tables

SECRET = "the word is xylophone"


class Crash(Exception):
    """The process ends here."""


def put_keys(folder: Path) -> Path:
    path = folder / "store.keys"
    replace_secret_file(path, new_keys())
    return path


def rotation(rig: Rig, path: Path, *, dies_at: int = 0) -> KeyRotation:
    """Return a rotation that dies instead of replacing the key file for the n-th time."""
    replaced = 0

    def replace(at: Path, content: bytes) -> None:
        nonlocal replaced
        replaced += 1
        if replaced == dies_at:
            raise Crash
        replace_secret_file(at, content)

    search = rig.core.search
    return KeyRotation(path, rig.store, search=search, replace=replace)


def keys_that_open(folder: Path, key_file: bytes) -> int:
    with opened_tables(folder, key_file=key_file) as found:
        return found.try_keys()


@pytest.mark.req("J24", "A15")
async def test_j24_the_key_rotates_while_people_talk_and_search(tmp_path: Path) -> None:
    path = put_keys(tmp_path)
    old = path.read_bytes()
    async with open_rig(tmp_path, keys=old, search=True) as rig:
        first = await rig.say(SECRET)
        await rig.outcome(first)
        search = rig.core.search
        assert search is not None
        await search.find(SearchAsk(text="xylophone", limit=5))

        report = await rotation(rig, path).rotate("olga")
        second = await rig.say("and the other is marimba", user="somebody-new")
        await rig.outcome(second)
        found = await search.find(SearchAsk(text="marimba", limit=5))
        await search.rebuild()
        again = await search.find(SearchAsk(text="marimba", limit=5))

    assert (report.data_keys, report.removed) == (1, 1)
    assert found.found
    assert again.found
    assert len(path.read_bytes().split()) == 1
    assert keys_that_open(tmp_path, path.read_bytes()) == 2
    with pytest.raises(StoreError, match="restore the key file"):
        keys_that_open(tmp_path, old)


@pytest.mark.req("J24")
@pytest.mark.parametrize("step", [1, 2])
async def test_j24_a_rotation_that_is_cut_off_loses_nothing_and_is_finished_by_the_next(
    tmp_path: Path, step: int
) -> None:
    path = put_keys(tmp_path)
    old = path.read_bytes()
    async with open_rig(tmp_path, keys=old) as rig:
        message_id = await rig.say(SECRET)
        await rig.outcome(message_id)
        with pytest.raises(Crash):
            await rotation(rig, path, dies_at=step).rotate("olga")

    # what a start finds on disk opens everything
    assert keys_that_open(tmp_path, path.read_bytes()) == 1
    async with open_rig(tmp_path, keys=path.read_bytes()) as rig:
        result = await rig.store.inbox.result(message_id)
        await rotation(rig, path).rotate("olga")

    assert result is not None
    assert SECRET in result.text
    assert len(path.read_bytes().split()) == 1
    assert keys_that_open(tmp_path, path.read_bytes()) == 1


@pytest.mark.req("J24")
async def test_j24_many_keys_are_wrapped_in_small_steps_that_are_told(tmp_path: Path) -> None:
    path = put_keys(tmp_path)
    told: list[int] = []
    async with open_rig(tmp_path, keys=path.read_bytes(), start=False) as rig:
        for number in range(230):
            await person(rig.store, f"user-{number}")
        await rotation(rig, path).rotate("olga", tell=told.append)

    assert told == [100, 200, 230]
    assert keys_that_open(tmp_path, path.read_bytes()) == 230


@pytest.mark.req("J24")
async def test_j24_a_rotation_that_dies_between_two_steps_leaves_a_file_that_opens_all(
    tmp_path: Path,
) -> None:
    path = put_keys(tmp_path)

    def die(_done: int) -> None:
        raise Crash

    async with open_rig(tmp_path, keys=path.read_bytes(), start=False) as rig:
        for number in range(130):
            await person(rig.store, f"user-{number}")
        with pytest.raises(Crash):
            await rotation(rig, path).rotate("olga", tell=die)

    assert keys_that_open(tmp_path, path.read_bytes()) == 130

"""Credentials: what was checked once is known without reading, and never for too long."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.message.ids import make_id
from hermes.ports.clock import ManualClock
from hermes.store.sqlite.seal import make_store_keys
from hermes.store.sqlite.store import SqliteStore, StoreOptions

DIGEST = b"d" * 32


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(
        tmp_path / "hermes.db",
        key_file=make_store_keys(),
        clock=ManualClock(),
        make_id=make_id,
        options=StoreOptions(),
    )
    yield opened
    await opened.close()


@pytest.mark.req("J2")
async def test_a_session_that_was_checked_still_expires(store: SqliteStore) -> None:
    await store.access.add("session", DIGEST, label="browser", expires_at=2_000_000_000.0)

    checks = [
        store.access.check("session", DIGEST, now=now)
        for now in (1_999_999_998.0, 1_999_999_999.0, 2_000_000_000.0)
    ]

    assert checks == [True, True, False]


@pytest.mark.req("J2")
async def test_a_code_that_was_checked_can_still_be_used_up(store: SqliteStore) -> None:
    await store.access.add("signin", DIGEST, label="link", expires_at=None)
    before = store.access.check("signin", DIGEST, now=1.0)

    used = [await store.access.use_once("signin", DIGEST, now=1.0) for _ in range(2)]

    assert (before, used) == (True, [True, False])
    assert not store.access.check("signin", DIGEST, now=1.0)


@pytest.mark.req("J2")
async def test_what_was_unknown_is_known_once_it_is_added(store: SqliteStore) -> None:
    before = store.access.check("token", DIGEST, now=1.0)

    await store.access.add("token", DIGEST, label="api", expires_at=None)

    assert (before, store.access.check("token", DIGEST, now=1.0)) == (False, True)
    assert not store.access.check("session", DIGEST, now=1.0)

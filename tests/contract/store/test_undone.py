"""What is undone leaves nothing behind, in memory neither."""

import asyncio
from pathlib import Path

import pytest

from hermes.errors import NotFound
from hermes.ports.directory import ChatEntry
from tests.stores.opening import opened


@pytest.mark.req("J19", "J24")
async def test_a_data_key_that_was_rolled_back_seals_nothing(tmp_path: Path) -> None:
    team = ChatEntry(platform="slack", chat_id="C1", kind="group", name="team")

    async with opened(tmp_path) as store:
        results = await asyncio.gather(
            store.directory.keep("slack", [team], is_listing=False, at=1.0),
            store.users.unlink("rest", "nobody", at=1.0),
            return_exceptions=True,
        )

    assert isinstance(results[1], NotFound)
    async with opened(tmp_path) as again:
        assert [entry.name for entry in await again.directory.chats()] == ["team"]

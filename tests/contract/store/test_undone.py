"""What is undone leaves nothing behind, in memory neither."""

import asyncio
from pathlib import Path
from typing import NoReturn

import pytest

from hermes.errors import GuardFailed
from hermes.ports.directory import ChatEntry
from hermes.store.sql.tx import Tx
from tests.contract.store.opening import opened


async def fails(_tx: Tx) -> NoReturn:
    raise GuardFailed("row -1 is not there")


@pytest.mark.req("J19", "J24")
async def test_a_data_key_that_was_rolled_back_seals_nothing(tmp_path: Path) -> None:
    team = ChatEntry(platform="slack", chat_id="C1", kind="group", name="team")

    async with opened(tmp_path) as store:
        results = await asyncio.gather(
            store.directory.keep("slack", [team], is_listing=False, at=1.0),
            store._engine.writer.run("unit", fails),
            return_exceptions=True,
        )

    assert isinstance(results[1], GuardFailed)
    async with opened(tmp_path) as again:
        assert [entry.name for entry in await again.directory.chats()] == ["team"]

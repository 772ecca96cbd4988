"""Several reloads at once: the first applies the change, and the others find nothing to do."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from hermes.config import Settings, load
from hermes.control.mcp import McpOperations
from hermes.control.reload import ReloadOperations
from hermes.control.status import ChannelStatus
from hermes.testing.manual_time import ManualClock
from hermes.tools.mcp.servers import McpServers


async def connect_nothing(_platform: str, _settings: Settings) -> ChannelStatus:
    raise AssertionError


@pytest.mark.req("W6")
async def test_reloads_at_once_report_a_change_once(tmp_path: Path) -> None:
    held, levels = load({}, tmp_path), list[str]()
    (tmp_path / "config.yaml").write_text("logs: {level: debug}\n")
    again = partial(load, {}, tmp_path)
    operations = ReloadOperations(
        held.settings,
        reread=again,
        mcp=McpOperations(McpServers(held.settings.mcp, clock=ManualClock()), again),
        set_level=levels.append,
        renew=connect_nothing,
    )

    reports = await asyncio.gather(*(operations.reload() for _ in range(3)))

    assert [one.applied for one in reports] == [("logs.level",), (), ()]
    assert levels == ["debug"]

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

CONFIG = "platforms: {{telegram: {{enabled: true, extra: {{bot_token: '1:{}'}}}}}}\n"


@pytest.mark.req("W6")
async def test_reloads_at_once_report_a_change_once(tmp_path: Path) -> None:
    file, connected = tmp_path / "config.yaml", list[str]()
    file.write_text(CONFIG.format("old"))
    file.chmod(0o600)
    again = partial(load, {}, tmp_path)
    loaded = again()
    held = loaded.settings
    file.write_text(CONFIG.format("new"))

    async def connect(platform: str, _settings: Settings) -> ChannelStatus:
        connected.append(platform)
        # Connecting takes its time, in which the others would begin.
        await asyncio.to_thread(again)
        return ChannelStatus(name=platform, state="connected")

    operations = ReloadOperations(
        held,
        reread=again,
        mcp=McpOperations(McpServers(held.mcp, clock=ManualClock()), loaded, reread=again),
        set_level=lambda _: None,
        renew=connect,
    )
    reports = await asyncio.gather(*(operations.reload() for _ in range(3)))

    assert [one.applied for one in reports] == [("platforms.telegram.extra.bot_token",), (), ()]
    assert connected == ["telegram"]


@pytest.mark.req("W6")
async def test_a_bots_token_is_taken_over_and_more_or_fewer_bots_need_a_restart(
    tmp_path: Path,
) -> None:
    file, connected = tmp_path / "config.yaml", list[str]()
    file.write_text("telegram: {accounts: {a: {bot_token: '1:old'}, gone: {bot_token: '2:b'}}}\n")
    file.chmod(0o600)
    again = partial(load, {}, tmp_path)
    loaded = again()
    file.write_text("telegram: {accounts: {a: {bot_token: '1:new'}, more: {bot_token: '3:c'}}}\n")

    async def connect(channel: str, _settings: Settings) -> ChannelStatus:
        connected.append(channel)
        return ChannelStatus(name=channel, state="connected")

    servers = McpServers(loaded.settings.mcp, clock=ManualClock())
    report = await ReloadOperations(
        loaded.settings,
        reread=again,
        mcp=McpOperations(servers, loaded, reread=again),
        set_level=lambda _: None,
        renew=connect,
    ).reload()

    assert (connected, report.applied) == (
        ["telegram/a"],
        ("platforms.telegram.accounts.a.extra.bot_token",),
    )
    accounts = {key.split(".")[3] for key in report.needs_restart}
    assert accounts == {"gone", "more"}

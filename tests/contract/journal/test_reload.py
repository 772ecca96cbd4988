"""W37: `/reload-mcp` in a chat asks first, tells what changed, and the model knows on its next turn."""

from pathlib import Path

import pytest

from hermes.control.orders import BY_CHAT
from hermes.errors import BadRequest
from hermes.message.parts import ReasoningPart, TextPart, ToolResultPart
from hermes.testing.manual_time import ManualClock
from hermes.tools.mcp.report import Diff
from tests.contract.journal.rig import Rig, open_rig

ADMINS = {"ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["ann", "bob"]'}
CHANGED = Diff(servers_added=("late",), tools_added=("mcp_late_look",), tools_removed=("mcp_old",))


class Servers:
    """MCP servers that change with every reload."""

    def __init__(self, diff: Diff = CHANGED) -> None:
        self.diff = diff
        self.reloads = 0

    async def reload(self) -> Diff:
        self.reloads += 1
        return self.diff


def notes(rig: Rig) -> list[str]:
    """Return the notes that the model was given last."""
    return [
        part.text
        for message in rig.model.calls[-1].request.messages
        for part in message.parts
        if isinstance(part, TextPart | ToolResultPart | ReasoningPart)
        and "tools you have" in part.text
    ]


@pytest.mark.req("W37", "W18")
async def test_it_asks_and_only_a_confirmation_reloads(tmp_path: Path) -> None:
    servers = Servers()
    async with open_rig(tmp_path, reload_mcp=servers.reload, settings=ADMINS) as rig:
        assert "/reload-mcp once does it now" in await rig.answer("/reload-mcp")
        assert "/reload-mcp once does it now" in await rig.answer("/reload-mcp perhaps")
        assert await rig.answer("/reload-mcp cancel") == "Nothing was changed."
        assert servers.reloads == 0

        told = await rig.answer("/reload-mcp once")
        assert told.splitlines() == [
            "The MCP servers were reloaded.",
            "New servers: late.",
            "New tools: mcp_late_look.",
            "Removed tools: mcp_old.",
        ]
        assert servers.reloads == 1
        assert "does it now" in await rig.answer("/reload-mcp")
        assert rig.model.calls == []


@pytest.mark.req("W37", "W21")
async def test_the_model_is_told_on_the_next_turn_and_what_came_before_stays(
    tmp_path: Path,
) -> None:
    servers = Servers()
    async with open_rig(tmp_path, reload_mcp=servers.reload, settings=ADMINS) as rig:
        await rig.answer("tell me about clocks")
        before = rig.model.calls[-1].request.messages
        await rig.answer("/reload-mcp once")
        await rig.answer("and now?")

        messages = rig.model.calls[-1].request.messages
        assert messages[: len(before)] == before
        assert [message.role for message in messages[-4:]] == [
            "assistant", "user", "assistant", "user",
        ]  # fmt: skip
        (note,) = notes(rig)
        assert "New tools: mcp_late_look." in note
        # people never see a note
        shown = await rig.core.gateway_api.conversation("rest", "ann", limit=9, user_id="ann")
        assert not any("tools you have" in str(one.result) for one in shown.messages)

        # where nothing changed there is nothing to tell
        servers.diff = Diff()
        count = len(messages)
        assert "nothing changed" in await rig.answer("/reload-mcp once")
        await rig.answer("and now?")
        assert len(rig.model.calls[-1].request.messages) == count + 2


@pytest.mark.req("W37", "A10")
async def test_a_session_that_begins_with_it_is_still_a_persons_own(tmp_path: Path) -> None:
    async with open_rig(tmp_path, reload_mcp=Servers().reload, settings=ADMINS) as rig:
        await rig.answer("/reload-mcp once")
        await rig.answer("hello there, how are you doing today?")

        assert len(rig.model.calls[-1].request.messages) == 1
        assert await rig.store.souls.get(rig.lane(), 0) is not None


@pytest.mark.req("W37")
async def test_always_is_remembered_for_whoever_said_it_until_they_take_it_back(
    tmp_path: Path,
) -> None:
    clock, servers = ManualClock(), Servers()
    async with open_rig(tmp_path, clock=clock, reload_mcp=servers.reload, settings=ADMINS) as rig:
        await rig.answer("/reload-mcp always")
    async with open_rig(tmp_path, clock=clock, reload_mcp=servers.reload, settings=ADMINS) as rig:
        assert "were reloaded" in await rig.answer("/reload-mcp")
        assert "does it now" in await rig.answer("/reload-mcp", chat="bob")
        assert "ask you again" in await rig.answer("/reload-mcp cancel")
        assert "does it now" in await rig.answer("/reload-mcp")
    assert servers.reloads == 2


@pytest.mark.req("W37", "W32")
async def test_a_wrong_configuration_is_told_and_who_may_not_use_it_cannot(tmp_path: Path) -> None:
    async def broken() -> Diff:
        raise BadRequest("Nothing was changed, because the configuration is wrong: mcp.servers")

    closed = {"ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["root"]'}
    async with open_rig(tmp_path, reload_mcp=broken, settings=closed) as rig:
        refused = await rig.answer("/reload-mcp once")
        assert "You may not use /reload-mcp here" in refused
        assert "`ann` has to be in access.platforms.rest.commands.dm.admins" in refused
        told = await rig.answer("/reload-mcp once", chat="root")
        assert told.startswith("Nothing was changed, because the configuration is wrong")


@pytest.mark.req("W18", "W32")
@pytest.mark.parametrize("name", sorted(BY_CHAT))
async def test_orders_to_the_gateway_are_for_named_admins_also_where_all_else_is_open(
    tmp_path: Path, name: str
) -> None:
    named = {
        "ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["root"]',
        "ACCESS__PLATFORMS__REST__COMMANDS__DM__ALLOWED": f'["{name}", "status"]',
    }
    servers = Servers()
    for folder in ("open", "named"):
        (tmp_path / folder).mkdir()
    async with open_rig(tmp_path / "open", reload_mcp=servers.reload) as rig:
        assert f"You may not use /{name} here" in await rig.answer(f"/{name} once")
        assert name not in await rig.answer("/help")
    async with open_rig(tmp_path / "named", reload_mcp=servers.reload, settings=named) as rig:
        assert f"You may not use /{name} here" in await rig.answer(f"/{name} once")
        assert "may not" not in await rig.answer("/status")
        assert "may not" not in await rig.answer(f"/{name} once", chat="root")
        assert name in await rig.answer("/help", chat="root")
    assert servers.reloads == (1 if name == "reload-mcp" else 0)

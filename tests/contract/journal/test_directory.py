"""W28: chats are known by name, from listings and from messages, over restarts and sealed."""

import json
from pathlib import Path

import pytest

from hermes.app.make_courier import make_send_operations
from hermes.control.sends import DirectoryAsk, SendOperations, SendOrder
from hermes.errors import BadRequest
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.parts import TextPart
from hermes.message.source import ChatType, Source
from hermes.ports.channel import ListingChannel
from hermes.ports.directory import ChatEntry
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, open_rig, settings_of
from tests.stores.opening import raw_bytes

PLATFORM = {"PLATFORMS__PUSH__ENABLED": "true"}


def listed(chat_id: str, name: str, guild: str | None = None) -> ChatEntry:
    return ChatEntry(platform="push", chat_id=chat_id, kind="channel", name=name, guild=guild)


def desk_of(rig: Rig, home: Path) -> SendOperations:
    return make_send_operations(
        rig.store,
        settings_of(home, PLATFORM),
        home=home,
        clock=rig.clock,
        make_id=make_id,
        wake_lane=rig.core.lanes.wake,
        wake_outbox=rig.core.signals.wake_outbox,
    )


async def write(
    rig: Rig, chat: str, *, user: str, name: str | None, kind: ChatType = "group"
) -> str:
    """Let somebody write in a chat that has a name; the way that channels hand messages in."""
    is_direct = kind == "dm"
    event = MessageEvent(
        account="default",
        route="api",
        external_id=make_id("x"),
        source=Source(
            platform="push",
            chat_id=chat,
            user_id=user,
            chat_type=kind,
            chat_name=None if is_direct else name,
            user_name=name if is_direct else None,
        ),
        parts=(TextPart("hello"),),
        at=rig.clock.now(),
    )
    message_id = (
        await rig.core.maintenance.directory.noticing(rig.core.inbox.accept)(event)
    ).message_id
    await rig.outcome(message_id)
    return message_id


async def known(rig: Rig) -> dict[str, str]:
    return {one.chat_id: one.name for one in await rig.store.directory.chats("push")}


@pytest.mark.req("W28")
async def test_w28_listings_and_messages_fill_it_and_it_outlives_the_process(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(PUSH, name="push")
    assert isinstance(push, ListingChannel)
    push.chats = (listed("C1", "general", "Acme"), listed("C2", "old news", "Acme"))
    async with open_rig(tmp_path, push=push) as rig:
        await write(rig, "family", user="ann", name="The Smiths of Xylophone Street")
        await write(rig, "ann", user="ann", name="Ann Xylophone", kind="dm")
        await rig.core.maintenance.directory.round()
        assert await rig.core.maintenance.directory.round() == 0
    async with open_rig(tmp_path) as rig:
        assert await known(rig) == {
            "ann": "Ann Xylophone",
            "C1": "general",
            "C2": "old news",
            "family": "The Smiths of Xylophone Street",
        }
        rig.push.chats = (listed("C1", "lobby", "Acme"),)
        await rig.core.maintenance.directory.round()

        assert (await known(rig))["C1"] == "lobby"
        assert "C2" not in await known(rig)
        assert "family" in await known(rig)
    assert b"Xylophone" not in raw_bytes(tmp_path)


@pytest.mark.req("W28", "J24")
async def test_w28_the_name_of_somebody_who_is_erased_goes_with_them(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await write(rig, "ann", user="ann", name="Ann", kind="dm")
        await rig.core.maintenance.directory.round()
        person = await rig.store.people.find("push", "ann")
        assert person is not None

        await rig.store.people.erase(person.id, at=rig.clock.now())

        assert await known(rig) == {}


@pytest.mark.req("W28")
async def test_w28_a_listing_that_fails_leaves_what_is_known(tmp_path: Path) -> None:
    class Failing(MemoryChannel):
        async def directory(self) -> tuple[ChatEntry, ...]:
            if self.calls:
                raise BadRequest("no")
            return await super().directory()

    push = Failing(PUSH, name="push")
    push.chats = (listed("C1", "general"),)
    async with open_rig(tmp_path, push=push) as rig:
        await rig.core.maintenance.directory.round()
        assert await known(rig) == {"C1": "general"}
        push.calls.append(("send", "x"))
        assert await rig.core.maintenance.directory.round() == 0
        assert await known(rig) == {"C1": "general"}


@pytest.mark.req("W28", "W27")
async def test_w28_an_operator_sends_by_name(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=PLATFORM) as rig:
        rig.push.chats = (
            listed("C1", "general", "Acme"),
            listed("C2", "general", "Umbrella"),
            listed("C3", "random", "Acme"),
        )
        await rig.core.maintenance.directory.round()
        desk = desk_of(rig, tmp_path)

        report = await desk.send(SendOrder(to="push:#rand", text="by name", by="ops"))

        assert report.to == "push:C3"
        await rig.until(lambda: rig.push.texts("C3") == ["by name"])
        with pytest.raises(BadRequest, match=r"Acme/general \(push:C1\), Umbrella/general"):
            await desk.send(SendOrder(to="push:general", text="x"))
        report = await desk.send(SendOrder(to="push:umbrella/general", text="x"))
        assert report.to == "push:C2"
        chats = (await desk.directory(DirectoryAsk(platform="push"))).chats
        assert [one.chat_id for one in chats] == ["C1", "C2", "C3"]
        assert (await desk.directory(DirectoryAsk(platform="other"))).chats == ()


@pytest.mark.req("W28", "J9")
async def test_w28_a_person_finds_the_names_of_their_own_chats_alone(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await write(rig, "room-1", user="ann", name="Garden club")
        await write(rig, "room-2", user="bob", name="Secret society")
        await rig.core.maintenance.directory.round()

        async def send(name: str) -> str:
            arguments = json.dumps({"target": f"push:{name}", "text": "dinner"})
            message_id = await rig.say(
                f"send it [[tool:send_message {arguments}]]", chat="ann", platform="push"
            )
            return await rig.outcome(message_id)

        assert await send("garden") == "parked"
        await rig.answer("/approve", chat="ann", platform="push")
        await rig.until(lambda: "dinner" in rig.push.texts("room-1"))
        assert await send("secret") == "answered"
        assert "dinner" not in rig.push.texts("room-2")
        # Nor does the model learn which chat has that name.
        told = str(rig.model.calls[-1].request.messages)
        assert "room-2" not in told

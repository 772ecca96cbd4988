"""Encrypted rooms on a real homeserver: the channel and another client read each other."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import pytest
from nio import (
    AsyncClient,
    AsyncClientConfig,
    MegolmEvent,
    RoomEncryptedImage,
    RoomMessageText,
)
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment

from hermes.channels.matrix.channel import MatrixChannel
from hermes.channels.matrix.encrypted_rooms import KEY_NOTICE
from hermes.message.parts import ImagePart, TextPart
from hermes.ports.channel import Delivery, Target
from tests.system.live import live_gateway, model_server, with_model
from tests.system.matrix_rig import picture
from tests.system.real_synapse import Person, Synapse
from tests.system.synapse_rig import OnSynapse

pytestmark = [pytest.mark.timeout(300), pytest.mark.req("W9")]
MEGOLM = {"algorithm": "m.megolm.v1.aes-sha2"}
CAT, DOG = picture(1), picture(2)


class Other:
    """Somebody with another maker's client, whose keys are in a folder."""

    def __init__(self, synapse: Synapse, user_id: str, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._config = AsyncClientConfig(store_sync_tokens=True, encryption_enabled=True)
        self._made = (synapse.url, user_id, folder)
        self.client = self._new()
        self.seen: list[str] = []

    def _new(self, device_id: str = "") -> AsyncClient:
        url, user_id, folder = self._made
        return AsyncClient(
            url, user_id, device_id=device_id, store_path=str(folder), config=self._config
        )

    async def sign_in(self) -> None:
        await self.client.login("pass", device_name="other")
        await self.sync()

    async def restart(self) -> None:
        before = self.client
        await before.close()
        self.client = self._new(before.device_id)
        self.client.restore_login(before.user_id, before.device_id, before.access_token)
        await self.client.sync(timeout=100, full_state=True)

    async def sync(self) -> None:
        self._note(await self.client.sync(timeout=100))
        if self.client.should_upload_keys:
            await self.client.keys_upload()
        if self.client.should_query_keys:
            await self.client.keys_query()

    # Any: the client has no types.
    def _note(self, response: Any) -> None:
        for room in response.rooms.join.values():
            self.seen += [getattr(event, "body", "") for event in room.timeline.events]

    async def say(self, room: str, content: Mapping[str, Any]) -> str:
        await self.sync()
        sent = await self.client.room_send(
            room, "m.room.message", dict(content), ignore_unverified_devices=True
        )
        return str(sent.event_id)

    async def say_text(self, room: str, body: str) -> str:
        return await self.say(room, {"msgtype": "m.text", "body": body})

    async def until(self, fits: Callable[[Any], bool]) -> Any:
        """Return the first event of a room that fits, once it can be read."""
        async with asyncio.timeout(60):
            while True:
                response = await self.client.sync(timeout=500)
                for room in response.rooms.join.values():
                    for event in room.timeline.events:
                        self.seen.append(getattr(event, "body", ""))
                        if fits(event):
                            return event

    async def has_seen(self, *bodies: str) -> None:
        """Wait until all of these were in a room, in whichever order."""
        async with asyncio.timeout(60):
            while not set(bodies) <= set(self.seen):
                await self.sync()

    async def reads(self, body: str) -> RoomMessageText:
        found: RoomMessageText = await self.until(
            lambda event: isinstance(event, RoomMessageText) and event.body == body
        )
        return found


@pytest.fixture
async def ada(
    synapse: Synapse, session: aiohttp.ClientSession, tmp_path: Path
) -> AsyncIterator[Other]:
    logging.getLogger("nio").setLevel(logging.CRITICAL)
    person = await synapse.register(session, "ada")
    made = Other(synapse, person.user_id, tmp_path / "other")
    await made.sign_in()
    yield made
    await made.client.close()


@pytest.fixture
async def rig(tmp_path: Path, synapse: Synapse, bot: Person) -> AsyncIterator[OnSynapse]:
    made = OnSynapse(tmp_path, synapse, bot, encryption=True, poll_s=2)
    yield made
    await made.close()


async def room_of(ada: Other, bot: Person) -> str:
    """Return an encrypted room with both in it."""
    state = [{"type": "m.room.encryption", "state_key": "", "content": MEGOLM}]
    made = await ada.client.room_create(is_direct=True, invite=[bot.user_id], initial_state=state)
    async with asyncio.timeout(60):
        while True:
            await ada.sync()
            room = ada.client.rooms.get(made.room_id)
            if room is not None and room.joined_count == 2:
                return str(made.room_id)


async def send(channel: MatrixChannel, room: str, text: str, *, key: str) -> str:
    target = Target(platform="matrix", account="default", chat_id=room)
    parts = (TextPart(text),)
    receipt = await channel.send(Delivery(id=key, target=target, parts=parts, key=f"{key}.0"))
    return receipt.platform_message_id


@pytest.mark.quality("encrypted rooms")
async def test_two_clients_read_each_other_also_after_both_were_restarted(
    rig: OnSynapse, ada: Other, bot: Person
) -> None:
    channel = await rig.connected()
    room = await room_of(ada, bot)
    await ada.say_text(room, "one")
    await rig.until("one")
    sent = await send(channel, room, "**first**", key="d_1")
    first = await ada.reads("first")
    assert (first.event_id, first.formatted_body) == (sent, "<strong>first</strong>")
    assert first.decrypted

    await channel.disconnect()
    await ada.restart()
    again = rig.channel()
    await again.connect(rig.accept)
    await ada.say_text(room, "two")
    await rig.until("one", "two")
    await send(again, room, "second", key="d_2")
    await again.edit(Target(platform="matrix", account="default", chat_id=room), sent, text="x")

    assert (await ada.reads("second")).decrypted
    shown = [event["type"] for event in await bot.events(room) if event["sender"] == bot.user_id]
    assert "m.room.message" not in shown


async def test_attachments_are_encrypted_both_ways(rig: OnSynapse, ada: Other, bot: Person) -> None:
    channel = await rig.connected()
    room = await room_of(ada, bot)
    sealed, keys = encrypt_attachment(CAT)
    uri = await bot.upload(sealed, "application/octet-stream")
    info = {"mimetype": "image/png", "size": len(CAT)}
    image = {"msgtype": "m.image", "body": "cat.png", "info": info}
    await ada.say(room, {**image, "file": {**keys, "url": uri}})
    await rig.until("")
    [part] = rig.events[0].parts
    assert isinstance(part, ImagePart)
    assert await channel.fetch(part.media, limit=1000) == CAT

    kept = await rig.media_cache.keep(DOG, mime="image/png", name="dog.png")
    target = Target(platform="matrix", account="default", chat_id=room)
    await channel.send(Delivery(id="d", target=target, parts=(ImagePart(kept),), key="d_1.0"))
    shown = await ada.until(
        lambda event: isinstance(event, RoomEncryptedImage) and event.sender == bot.user_id
    )
    uploaded = await bot.download(shown.url)
    assert decrypt_attachment(uploaded, shown.key["k"], shown.hashes["sha256"], shown.iv) == DOG
    assert uploaded != DOG


async def test_the_device_is_verified_by_its_owner_and_stays_the_same(
    rig: OnSynapse, bot: Person
) -> None:
    channel = await rig.connected()
    await channel.disconnect()
    found = await bot.call("POST", "keys/query", {"device_keys": {bot.user_id: []}})
    again = rig.channel()
    await again.connect(rig.accept)

    assert await bot.call("POST", "keys/query", {"device_keys": {bot.user_id: []}}) == found
    [(name, device)] = found["device_keys"][bot.user_id].items()
    [owner] = found["self_signing_keys"][bot.user_id]["keys"]
    assert set(device["signatures"][bot.user_id]) == {f"ed25519:{name}", owner}


async def test_a_message_without_its_key_is_told_once_and_read_when_the_key_comes(
    rig: OnSynapse, ada: Other, bot: Person
) -> None:
    channel = await rig.connected()
    room = await room_of(ada, bot)
    lost = {**MEGOLM, "ciphertext": "AwgA", "session_id": "nobody", "sender_key": "k"}
    for number in range(2):
        path = f"/_matrix/client/v3/rooms/{quote(room)}/send/m.room.encrypted/lost{number}"
        token = ada.client.access_token
        body = msgspec.json.encode(lost).decode()
        await ada.client.send("PUT", f"{path}?access_token={token}", body)

    notice = await ada.until(lambda event: getattr(event, "body", "") == KEY_NOTICE)
    assert notice.decrypted
    await ada.say_text(room, "later")
    await rig.until("later")
    own = [one for one in await bot.events(room) if one["sender"] == bot.user_id]
    assert [one["type"] for one in own if one["type"] == "m.room.encrypted"] == ["m.room.encrypted"]
    assert not isinstance(notice, MegolmEvent)
    await channel.probe()


@pytest.mark.req("J16", "J17")
@pytest.mark.parametrize(
    "where", ["store.put_channel_state.after:8", "channel.send.before:1", "channel.send.after:1"]
)
async def test_a_kill_in_an_encrypted_room_leaves_one_reply(
    tmp_path: Path, synapse: Synapse, ada: Other, bot: Person, where: str
) -> None:
    home = tmp_path / "home"
    async with model_server() as model:
        more = {
            **with_model(model),
            "MATRIX_HOMESERVER": synapse.url,
            "MATRIX_ACCESS_TOKEN": bot.token,
            "HERMES_MATRIX__JOIN": "all",
            "HERMES_MATRIX__ENCRYPTION": "true",
            "HERMES_ACCESS__ALLOW_ALL": "true",
        }
        async with live_gateway(home, more) as gateway:
            room = await room_of(ada, bot)
            await ada.say_text(room, "one")
            await ada.reads("#1 one")
            await gateway.settled()
            await gateway.stop()
        await ada.say_text(room, "two")
        await killed(home, {**more, "HERMES_FAILPOINTS": where})
        async with live_gateway(home, more) as gateway:
            await ada.say_text(room, "three")
            await ada.has_seen("#2 two", "#3 three")
            await gateway.settled()
            await ada.sync()

    # A reply in doubt is settled beside the next one, so either may be first. An edit begins with `*`.
    assert sorted(body for body in ada.seen if body.startswith("#")) == [
        "#1 one",
        "#2 two",
        "#3 three",
    ]


async def killed(home: Path, more: dict[str, str]) -> None:
    """Run a gateway that dies by itself; it may do so before it is ready."""
    try:
        async with live_gateway(home, more) as gateway:
            try:
                async with asyncio.timeout(30):
                    await gateway.process.wait()
            except TimeoutError:
                raise RuntimeError(gateway.said()[-3000:]) from None
    except AssertionError as died:
        assert "hermes up ended" in str(died)  # noqa: PT017 - the process says nothing more

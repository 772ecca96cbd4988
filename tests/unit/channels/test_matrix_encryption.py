"""Encrypted rooms against the strict homeserver: what is kept, what is refused, what is asked for."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from vodozemac import Account, GroupSession, MegolmMessage

from hermes.channel_kit.memory_state import MemoryChannelState
from hermes.channels.matrix.channel import MatrixChannel
from hermes.channels.matrix.encrypted_rooms import KEY_NOTICE
from hermes.channels.matrix.encryption.attachments import seal, secret_of, unseal
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore
from hermes.channels.matrix.encryption.own_device import PICKLE
from hermes.channels.matrix.encryption.signatures import decode64, encode64, signed
from hermes.errors import BadRequest, ConfigurationError, DeliveryUnknown
from hermes.message.parts import TextPart
from hermes.ports.channel import Delivery, Target
from hermes.ports.channel_state import PlatformState
from hermes.testing.matrix.people import room_id, user_id
from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.matrix.state import BOT
from hermes.testing.site import SiteCall
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.matrix_rig import Rig as AloneRig
from tests.unit.channels.matrix_device import MEGOLM, PersonDevice

pytestmark = pytest.mark.req("W9")
ADA, ROOM = user_id("ada"), room_id("c")


class Killed(asyncio.CancelledError):
    """The process is gone."""


class Writes(MemoryChannelState):
    """A store after one of whose writes the process ends."""

    def __init__(self) -> None:
        super().__init__()
        self._left: int | None = None

    def ends_after(self, writes: int | None) -> None:
        self._left = writes

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        if self._left == 0:
            raise Killed
        await super().put(platform, key, value=value, fence=fence)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                raise Killed


class Homeserver(MatrixStandIn):
    """It looks at what the bot has stored when it is told of keys, or of an encrypted message."""

    before: Callable[[str], Awaitable[None]] | None = None
    queries = 0

    def on_query_keys(self, call: SiteCall) -> dict[str, Any]:
        self.queries += 1
        return super().on_query_keys(call)

    async def look(self, call: SiteCall) -> None:
        if self.before is not None:
            await self.before(call.name)

    async def on_upload_keys(self, call: SiteCall) -> dict[str, Any]:  # type: ignore[override]  # a site awaits
        await self.look(call)
        return super().on_upload_keys(call)

    async def on_send_to_device(self, call: SiteCall) -> dict[str, Any]:  # type: ignore[override]  # a site awaits
        await self.look(call)
        return super().on_send_to_device(call)

    async def on_send(self, call: SiteCall) -> dict[str, Any]:  # type: ignore[override]  # a site awaits
        await self.look(call)
        return super().on_send(call)


class Rig(AloneRig):
    """The channel with encryption, in an encrypted room with Ada."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = Homeserver()
        self.writes = Writes()
        self.state = PlatformState(self.writes, "matrix")
        self.looks: list[tuple[str, dict[str, Any]]] = []
        self.ada = PersonDevice(self.server, ADA)

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self.server.settings, "encryption": True}

    async def begin(self) -> MatrixChannel:
        self.server.room("c", "ada", "Ada", is_direct=True)
        content = {"algorithm": MEGOLM}
        self.server.state.add(ROOM, ADA, "m.room.encryption", content, state_key="")
        self.ada.publish()
        return await self.connected()

    async def look(self, name: str) -> None:
        """Remember what is stored now."""
        record = "device" if name == "upload_keys" else f"out/{ROOM}"
        self.looks.append((name, json.loads(await self.state.get(f"e2ee/{record}") or b"{}")))

    def put(self, content: Mapping[str, Any], user: str = ADA) -> str:
        event = self.server.state.add(ROOM, user, "m.room.encrypted", content)
        return str(event["event_id"])

    async def barrier(self) -> None:
        await self.server.taken()

    async def verify(self, device: PersonDevice) -> None:
        """Sign a device with the keys of the bot's owner, which this home has made."""
        seeds = json.loads(await self.state.get("e2ee/device") or b"{}")["seeds"]
        key = Ed25519PrivateKey.from_private_bytes(decode64(seeds["self_signing"]))
        public = encode64(key.public_key().public_bytes_raw())
        keys = device.keys()
        sign = key.sign
        both = signed(keys, user_id=BOT, key_id=public, sign=lambda data: encode64(sign(data)))
        self.server.change_device(BOT, device.name, both)
        await self.barrier()

    def asked(self) -> list[tuple[str, str]]:
        """Return whom the bot asked for which session."""
        return [
            (user, content["body"]["session_id"])
            for kind, user, _, content in self.server.sent_to_devices
            if kind == "m.room_key_request"
        ]

    def sealed(self) -> list[dict[str, Any]]:
        """Return the encrypted events of the bot."""
        events = [event for _, event in self.server.state.rooms[ROOM].events]
        return [
            one["content"]
            for one in events
            if (one["type"], one["sender"]) == ("m.room.encrypted", BOT)
        ]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    await made.server.start()
    yield made
    await made.close()
    await made.server.stop()


def to(text: str, *, key: str = "d_1.0") -> Delivery:
    target = Target(platform="matrix", account="default", chat_id=ROOM)
    return Delivery(id="d_1", target=target, parts=(TextPart(text),), key=key)


async def test_a_message_is_read_once_its_key_is_there_and_answered_encrypted(rig: Rig) -> None:
    channel = await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    rig.put(rig.ada.message(ROOM, "hello"))
    await rig.barrier()

    await channel.send(to("**hi**"))

    assert rig.texts() == ["hello"]
    [key] = rig.ada.received()
    [sealed] = rig.sealed()
    said = rig.ada.reads(key, sealed)
    assert (said["room_id"], said["type"]) == (ROOM, "m.room.message")
    assert said["content"]["formatted_body"] == "<strong>hi</strong>"
    assert rig.server.posts("c") == ()
    assert rig.server.rejections == ()


async def test_an_encrypted_redaction_takes_nothing_from_others(rig: Rig) -> None:
    # given a thumb of Ada's on a message of the bot
    channel = await rig.begin()
    eve = PersonDevice(rig.server, user_id("eve"))
    rig.server.state.add(
        ROOM, eve.user, "m.room.member", {"membership": "join"}, state_key=eve.user
    )
    eve.publish()
    receipt = await channel.send(to("hi"))
    thumb = {"rel_type": "m.annotation", "event_id": receipt.platform_message_id, "key": "👍"}
    event = rig.server.state.add(ROOM, ADA, "m.reaction", {"m.relates_to": thumb})
    await rig.barrier()

    # when somebody else says, where no homeserver can look, that it is taken away
    eve.tell("m.room_key", eve.room_key(ROOM))
    gone = {"redacts": event["event_id"]}
    rig.put(eve.message(ROOM, "", type="m.room.redaction", content=gone), eve.user)
    rig.put(eve.message(ROOM, "barrier"), eve.user)
    await rig.barrier()

    heard = [(one.source.user_id, one.text, one.reaction is not None) for one in rig.events]
    assert heard == [(ADA, "", True), (eve.user, "barrier", False)]


async def test_a_key_that_comes_late_opens_what_waited_also_after_a_restart(rig: Rig) -> None:
    channel = await rig.begin()
    key = rig.ada.room_key(ROOM)
    late = [rig.put(rig.ada.message(ROOM, text)) for text in ("one", "two")]
    await rig.barrier()
    assert rig.texts() == []
    assert sorted(rig.asked()) == [(ADA, rig.ada.group.session_id), (BOT, rig.ada.group.session_id)]

    await channel.disconnect()
    await rig.connected()
    rig.ada.tell("m.room_key", key)
    await rig.barrier()
    rig.put(rig.ada.message(ROOM, "three"))
    await rig.barrier()

    assert [event.external_id for event in rig.events[:2]] == late
    assert rig.texts() == ["one", "two", "three"]


async def test_what_cannot_be_read_is_told_once_in_a_room(rig: Rig) -> None:
    await rig.begin()
    for _ in range(2):
        rig.put({**rig.ada.message(ROOM, "x"), "session_id": "unknown"})
    await rig.barrier()

    [key] = rig.ada.received()
    [sealed] = rig.sealed()
    assert rig.ada.reads(key, sealed)["content"]["body"] == KEY_NOTICE


@pytest.mark.parametrize(
    "other",
    [
        {"sender": "@eve:hermes.test"},
        {"recipient": "@eve:hermes.test"},
        {"recipient_keys": {"ed25519": "other"}},
        {"keys": {"ed25519": "other"}},
        {"keys": None},
    ],
)
async def test_a_key_from_a_message_that_is_forged_or_passed_on_is_not_taken(
    rig: Rig, other: dict[str, Any]
) -> None:
    await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM), **other)
    rig.put(rig.ada.message(ROOM, "forged"))
    await rig.barrier()

    assert rig.texts() == []


async def test_a_key_of_an_unknown_device_is_not_taken(rig: Rig) -> None:
    await rig.begin()
    hidden = PersonDevice(rig.server, ADA, "HIDDEN")
    hidden.tell("m.room_key", hidden.room_key(ROOM))
    rig.put(hidden.message(ROOM, "forged"))
    await rig.barrier()

    assert rig.texts() == []


@pytest.mark.parametrize("spoil", ["signatures", "keys", "device_id"])
async def test_a_device_whose_keys_are_not_signed_by_itself_gets_no_key(
    rig: Rig, spoil: str
) -> None:
    channel = await rig.begin()
    other = PersonDevice(rig.server, ADA, "OTHER")
    other.publish()
    keys = other.keys()
    keys[spoil] = {"device_id": "PHONE"}.get(spoil, {})
    rig.server.change_device(ADA, "OTHER", keys)

    await channel.send(to("secret"))

    assert other.received() == []
    assert [told["type"] for told in rig.ada.received()] == ["m.room_key"]


async def test_a_device_that_has_other_keys_than_before_gets_none(rig: Rig) -> None:
    channel = await rig.begin()
    await channel.send(to("one"))
    taken = PersonDevice(rig.server, ADA)
    taken.publish()
    await rig.barrier()

    await channel.send(to("two", key="d_2.0"))

    assert len(rig.ada.received()) == 1
    assert len(rig.sealed()) == 2


async def test_a_message_that_is_repeated_as_another_one_is_refused(rig: Rig) -> None:
    await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    content = rig.ada.message(ROOM, "pay")
    rig.put(content)
    rig.put(content)
    rig.put(content, user_id("eve"))
    rig.put(rig.ada.message(ROOM, "once"))
    await rig.barrier()

    assert rig.texts() == ["pay", "once"]


@pytest.mark.parametrize("spoil", ["ciphertext", "room", "algorithm", "plain"])
async def test_a_message_that_was_spoiled_is_refused(rig: Rig, spoil: str) -> None:
    await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    content = rig.ada.message("!other:hermes.test" if spoil == "room" else ROOM, "x")
    if spoil == "plain":
        content["ciphertext"] = rig.ada.group.encrypt(b"[" * 5000).to_base64()
    elif spoil == "ciphertext":
        content["ciphertext"] = content["ciphertext"][:-8] + "AAAAAAAA"
    elif spoil == "algorithm":
        content["algorithm"] = "m.megolm.v9"
    rig.put(content)
    rig.put(rig.ada.message(ROOM, "good"))
    await rig.barrier()

    assert rig.texts() == ["good"]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"ciphertext": 7, "algorithm": [], "sender_key": {}},
        {"algorithm": "m.olm.v1.curve25519-aes-sha2", "sender_key": "x", "ciphertext": "body"},
        {"type": 0, "body": "AAAA"},
        {"type": 0, "body": "é"},
        {"type": 9, "body": "AAAA"},
        {"type": True, "body": "AwogAAAA"},
        {"type": [], "body": "AAAA"},
        {"type": 0, "body": {}},
        {"type": 1, "body": "A" * 200_000},
    ],
)
async def test_a_broken_message_to_the_device_harms_nothing(
    rig: Rig, content: dict[str, Any]
) -> None:
    await rig.begin()
    curve = rig.ada.bot_keys()[f"curve25519:{rig.server.device}"]
    if "body" in content:
        sealed = {"algorithm": "m.olm.v1.curve25519-aes-sha2", "sender_key": rig.ada.curve}
        content = {**sealed, "ciphertext": {curve: content}}
    rig.server.tell_device(ADA, "m.room.encrypted", content)
    rig.server.tell_device(ADA, "m.room_key", rig.ada.room_key(ROOM))
    rig.server.tell_device(ADA, "m.room_key_request", {"action": "request", "body": 7})
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    rig.put(rig.ada.message(ROOM, "still here"))
    await rig.barrier()

    assert rig.texts() == ["still here"]


@pytest.mark.parametrize("is_readable", [True, False])
async def test_strangers_do_not_have_the_bot_ask_about_them_without_end(
    rig: Rig, is_readable: bool
) -> None:
    await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    rig.put(rig.ada.message(ROOM, "one"))
    await rig.barrier()
    before = rig.server.queries

    # when people whom the bot has never met write to its device; each answer of their homeserver may take 10 s
    eve = PersonDevice(rig.server, "@eve:evil.example")
    for number in range(40):
        eve.user = f"@x{number}:evil.example"
        sealed = eve.seal("m.room_key", {}) if is_readable else eve.garbage()
        rig.server.tell_device(eve.user, "m.room.encrypted", sealed)
    rig.put(rig.ada.message(ROOM, "two"))
    await rig.barrier()

    assert rig.texts() == ["one", "two"]
    # Ada was the first of the twenty in this minute.
    assert rig.server.queries - before == (19 if is_readable else 0)


async def test_a_stranger_who_becomes_a_member_keeps_the_key_that_they_had_first(rig: Rig) -> None:
    # given somebody who has only written to the device
    channel = await rig.begin()
    eve = PersonDevice(rig.server, user_id("eve"))
    eve.publish()
    rig.server.tell_device(eve.user, "m.room.encrypted", eve.seal("m.room_key", {}))
    rig.put(rig.ada.message(ROOM, "one"))
    await rig.barrier()
    assert await rig.state.get(f"e2ee/devices/{eve.user}") is None
    assert await rig.state.get(f"e2ee/strangers/{eve.user}") is not None

    # when they come into the room with another key for the same device
    PersonDevice(rig.server, eve.user).publish()
    rig.server.state.enter(ROOM, eve.user, "Eve")
    await rig.barrier()
    await channel.send(to("two"))

    # then that key is not taken, and what is known of them is not a stranger's any more
    kept = json.loads(await rig.state.get(f"e2ee/devices/{eve.user}") or b"{}")
    assert kept["pinned"] == {eve.name: eve.keys()["keys"][f"ed25519:{eve.name}"]}
    assert kept["devices"] == {}
    assert await rig.state.get(f"e2ee/strangers/{eve.user}") is None


async def test_a_room_key_in_the_clear_is_not_taken(rig: Rig) -> None:
    await rig.begin()
    rig.server.tell_device(ADA, "m.room_key", rig.ada.room_key(ROOM))
    rig.put(rig.ada.message(ROOM, "forged"))
    await rig.barrier()

    assert rig.texts() == []


async def test_a_key_is_passed_on_to_nobody_but_a_verified_device_of_the_bot(rig: Rig) -> None:
    await rig.begin()
    rig.ada.tell("m.room_key", rig.ada.room_key(ROOM))
    await rig.barrier()
    doubtful = PersonDevice(rig.server, BOT, "SECOND")
    doubtful.publish()
    own = PersonDevice(rig.server, BOT, "THIRD")
    own.publish()
    await rig.verify(own)
    body = {"algorithm": MEGOLM, "room_id": ROOM, "session_id": rig.ada.group.session_id}
    for user, device in ((BOT, "SECOND"), (BOT, "NONE"), (ADA, "PHONE"), (BOT, "THIRD")):
        request = {"action": "request", "request_id": "1", "body": body}
        request["requesting_device_id"] = device
        rig.server.tell_device(user, "m.room_key_request", request)
    await rig.barrier()

    assert (doubtful.received(), rig.ada.received()) == ([], [])
    [told] = own.received()
    assert told["type"] == "m.forwarded_room_key"
    assert told["content"]["session_key"] == rig.ada.exported()
    assert told["content"]["sender_key"] == rig.ada.curve


@pytest.mark.parametrize(
    ("user", "is_verified", "texts"),
    [(BOT, True, ["waits"]), (BOT, False, []), (user_id("eve"), False, [])],
)
async def test_a_forwarded_key_is_taken_from_a_verified_device_of_the_bot_only(
    rig: Rig, user: str, is_verified: bool, texts: list[str]
) -> None:
    await rig.begin()
    exported = rig.ada.exported()
    rig.put(rig.ada.message(ROOM, "waits"))
    await rig.barrier()
    device = PersonDevice(rig.server, user, "SECOND")
    device.publish()
    if is_verified:
        await rig.verify(device)
    forwarded = {**rig.ada.room_key(ROOM, session_key=exported), "sender_key": rig.ada.curve}
    device.tell("m.forwarded_room_key", forwarded)
    await rig.barrier()
    rig.put({**rig.ada.message(ROOM, "x"), "session_id": "barrier"})
    await rig.barrier()

    assert rig.texts() == texts


async def test_what_the_homeserver_gets_was_kept_before(rig: Rig) -> None:
    rig.server.before = rig.look
    channel = await rig.begin()
    await channel.send(to("one"))
    await channel.send(to("two", key="d_2.0"))

    [(_, first), (_, keys), (_, shared), (_, one), (_, two)] = [
        found for found in rig.looks if found[0] != "upload_signatures"
    ]
    account = Account.from_pickle(keys["account"], PICKLE)
    published = rig.server.device_keys[BOT][rig.server.device]["keys"].values()
    kept = {account.curve25519_key.to_base64(), account.ed25519_key.to_base64()}
    offered = {told["key"] for told in rig.server.one_time_keys[BOT, rig.server.device].values()}
    assert set(published) == kept
    assert Account.from_pickle(first["account"], PICKLE).curve25519_key.to_base64() in kept
    assert {key.to_base64() for key in account.one_time_keys.values()} == offered
    assert [record["sent"] for record in (shared, one, two)] == [0, 1, 2]
    [told] = rig.ada.received()
    session = GroupSession.from_pickle(shared["session"], PICKLE)
    assert told["content"]["session_key"] == session.session_key.to_base64()


async def test_a_process_that_ends_at_any_write_goes_on_with_the_same_keys(rig: Rig) -> None:
    channel = await rig.begin()
    key = rig.ada.room_key(ROOM)
    rig.put(rig.ada.message(ROOM, "hello"))
    await rig.barrier()
    await channel.disconnect()
    rig.ada.tell("m.room_key", key)
    for number in range(1, 12):
        await channel.disconnect()
        # The write itself happens, and nothing after it.
        rig.writes.ends_after(number)
        channel = rig.channel()
        with suppress(Killed):
            await channel.connect(rig.accept)
            await channel.send(to(f"reply {number}", key=f"d_{number}.0"))
        rig.writes.ends_after(None)
    await channel.disconnect()
    channel = await rig.connected()
    await rig.barrier()
    await channel.send(to("last", key="d_99.0"))

    assert rig.texts() == ["hello"]
    keys = {told["content"]["session_id"]: told for told in rig.ada.received()}
    said = [
        (sealed["ciphertext"], rig.ada.reads(keys[sealed["session_id"]], sealed)["content"]["body"])
        for sealed in rig.sealed()
    ]
    assert said[-1][1] == "last"
    assert len({ciphertext for ciphertext, _ in said}) == len(said)
    assert len({MegolmMessage.from_base64(one).message_index() for one, _ in said}) == len(said)
    assert rig.server.rejections == ()


async def test_one_time_keys_are_made_only_as_they_are_used_up(rig: Rig) -> None:
    await rig.begin()
    free = rig.server.one_time_keys[BOT, rig.server.device]
    first = set(free)
    for _ in range(2):
        await rig.channels[-1].disconnect()
        await rig.connected()
    assert set(free) == first

    for name in sorted(first)[2:]:
        del free[name]
    rig.put({**rig.ada.message(ROOM, "x"), "session_id": "barrier"})
    await rig.barrier()
    await rig.barrier()

    assert len(free) == len(first)
    assert len(first & set(free)) == 2


async def test_no_two_messages_have_one_step_though_the_first_was_lost(rig: Rig) -> None:
    channel = await rig.begin()
    rig.server.plan(Fault(kind="reset_after"))
    with pytest.raises(DeliveryUnknown):
        await channel.send(to("one"))
    await channel.disconnect()
    again = await rig.connected()
    await again.send(to("one"))
    await again.send(to("two", key="d_2.0"))

    [key] = rig.ada.received()
    said = [rig.ada.reads(key, sealed)["content"]["body"] for sealed in rig.sealed()]
    assert said == ["one", "two"]
    assert len({sealed["ciphertext"] for sealed in rig.sealed()}) == 2
    assert len({sealed["session_id"] for sealed in rig.sealed()}) == 1


async def test_who_has_left_cannot_read_what_comes_later(rig: Rig) -> None:
    channel = await rig.begin()
    eve = PersonDevice(rig.server, user_id("eve"))
    eve.publish()
    rig.server.state.enter(ROOM, eve.user, "Eve")
    await rig.barrier()
    await channel.send(to("for both"))
    leave = {"membership": "leave"}
    rig.server.state.add(ROOM, eve.user, "m.room.member", leave, state_key=eve.user)
    await rig.barrier()

    await channel.send(to("for ada", key="d_2.0"))

    assert [len(rig.ada.received()), len(eve.received())] == [2, 1]
    assert len({sealed["session_id"] for sealed in rig.sealed()}) == 2


async def test_a_device_whose_keys_this_home_does_not_have_is_not_taken_over(rig: Rig) -> None:
    rig.server.device_keys[BOT] = {rig.server.device: {"keys": {}}}

    with pytest.raises(ConfigurationError, match="sign in as the bot once more"):
        await rig.begin()


def test_an_attachment_is_opened_by_its_key_only_as_it_was_sent() -> None:
    sealed, file = seal(b"a cat")
    secret = secret_of(file)

    assert unseal(sealed, secret) == b"a cat"
    for bad in (sealed[:-1], b"", b"x" + sealed[1:]):
        with pytest.raises(BadRequest, match="not what was sent"):
            unseal(bad, secret)
    for spoiled in ({}, {**file, "v": "v1"}, {**file, "iv": "x"}, {**file, "key": {"k": 7}}):
        with pytest.raises(BadRequest, match="does not say how"):
            secret_of(json.loads(json.dumps(spoiled)))


async def test_without_encryption_nothing_of_keys_is_sent(rig: Rig) -> None:
    await rig.connected(encryption=False)
    await rig.server.say(PersonMessage(text="hi", chat="open"))

    assert rig.texts() == ["hi"]
    assert rig.server.device_keys == {}


@pytest.mark.parametrize("kind", ["out/", "strangers/"])
async def test_of_keys_of_rooms_and_of_strangers_the_newest_are_kept_and_of_devices_all(
    kind: str,
) -> None:
    state = PlatformState(MemoryChannelState(), "matrix")
    store = DeviceKeyStore(state, most={kind: 2})
    for number in range(99):
        await store.put(f"devices/{number}", number)
    for name in ("a", "b", "c", "d"):
        await store.put(f"{kind}{name}", 0)
    for number in range(99, 198):
        await store.put(f"devices/{number}", number)

    kept = [
        name for name in ("a", "b", "c", "d") if await store.get(f"{kind}{name}", int) is not None
    ]
    assert kept == ["c", "d"]
    assert None not in [await store.get(f"devices/{number}", int) for number in range(198)]

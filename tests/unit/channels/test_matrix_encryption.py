"""Encrypted rooms against the strict homeserver: what is kept, what is refused, what is asked for."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.channels.matrix.channel import MatrixChannel
from hermes.channels.matrix.encrypted_rooms import KEY_NOTICE
from hermes.channels.matrix.encryption.attachments import seal, secret_of, unseal
from hermes.errors import BadRequest, ConfigurationError, DeliveryUnknown
from hermes.message.parts import TextPart
from hermes.ports.channel import Delivery, Target
from hermes.testing.matrix.people import room_id, user_id
from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.matrix.state import BOT
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.matrix_rig import Rig as AloneRig
from tests.unit.channels.matrix_device import MEGOLM, PersonDevice

pytestmark = pytest.mark.req("W9")
ADA, ROOM = user_id("ada"), room_id("c")


class Rig(AloneRig):
    """The channel with encryption, in an encrypted room with Ada."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = MatrixStandIn()
        self.ada = PersonDevice(self.server, ADA)

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self.server.settings, "encryption": "on"}

    async def begin(self) -> MatrixChannel:
        self.server.room("c", "ada", "Ada", is_direct=True)
        content = {"algorithm": MEGOLM}
        self.server.state.add(ROOM, ADA, "m.room.encryption", content, state_key="")
        self.ada.publish()
        return await self.connected()

    def put(self, content: Mapping[str, Any], user: str = ADA) -> str:
        event = self.server.state.add(ROOM, user, "m.room.encrypted", content)
        return str(event["event_id"])

    async def barrier(self) -> None:
        await self.server.taken()

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
    own = PersonDevice(rig.server, BOT, "SECOND")
    own.publish()
    body = {"algorithm": MEGOLM, "room_id": ROOM, "session_id": rig.ada.group.session_id}
    for user, device in ((BOT, "SECOND"), (BOT, "NONE"), (ADA, "PHONE")):
        request = {"action": "request", "request_id": "1", "body": body}
        request["requesting_device_id"] = device
        rig.server.tell_device(user, "m.room_key_request", request)
    await rig.barrier()

    assert own.received() == []
    assert rig.ada.received() == []


async def test_a_forwarded_key_is_not_taken_from_a_device_that_nobody_verified(rig: Rig) -> None:
    await rig.begin()
    rig.put(rig.ada.message(ROOM, "waits"))
    await rig.barrier()
    for user in (BOT, user_id("eve")):
        device = PersonDevice(rig.server, user, "SECOND")
        device.publish()
        forwarded = {**rig.ada.room_key(ROOM), "sender_key": rig.ada.curve}
        device.tell("m.forwarded_room_key", forwarded)
    await rig.barrier()

    assert rig.texts() == []


async def test_keys_are_kept_before_they_are_sent(rig: Rig) -> None:
    await rig.begin()
    before = dict(rig.server.one_time_keys[BOT, rig.server.device])
    account = rig.server.device_keys[BOT][rig.server.device]["keys"]
    # The process ends before it learns that its keys have arrived.
    rig.server.one_time_keys.clear()
    rig.server.plan(Fault(op="any", kind="reset_after", times=100))
    channel = rig.channels[0]
    await channel.disconnect()
    rig.server._faults.clear()

    await rig.connected()

    assert rig.server.device_keys[BOT][rig.server.device]["keys"] == account
    assert set(rig.server.one_time_keys[BOT, rig.server.device]).isdisjoint(before)
    assert rig.server.rejections == ()


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
    await rig.connected(encryption="off")
    await rig.server.say(PersonMessage(text="hi", chat="open"))

    assert rig.texts() == ["hi"]
    assert rig.server.device_keys == {}

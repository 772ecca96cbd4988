"""Messages in encrypted rooms: each sender has a Megolm session, whose key the devices there are given.

A key is stored before it is sent, and a session's step before the message that it encrypts: no two
messages are ever encrypted by the same step.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import structlog
from vodozemac import (
    ExportedSessionKey,
    GroupSession,
    InboundGroupSession,
    MegolmMessage,
    SessionKey,
)

from hermes.channels.matrix.encryption.devices import DeviceBook
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore, OwnRoomKey, RoomKey
from hermes.channels.matrix.encryption.olm_sessions import OlmSessions, ToDevice
from hermes.channels.matrix.encryption.own_device import PICKLE, Myself
from hermes.channels.matrix.encryption.signatures import MEGOLM, Device, Object, table, text
from hermes.ports.clock import Clock

_MOST_SENDERS: Final = 5
_MOST_SEEN: Final = 2_000
# As the specification proposes, if a room says nothing else.
_MOST_SENT: Final = 100
_LONGEST_S: Final = 604_800.0
_log = structlog.get_logger(__name__)

Senders = dict[str, RoomKey]


class NotDecrypted(Exception):
    """A message cannot be decrypted; `needs_key` if its key may still come."""

    def __init__(self, why: str, *, needs_key: bool = False) -> None:
        super().__init__(why)
        self.needs_key = needs_key


class RoomKeys:
    """The Megolm sessions of all rooms."""

    def __init__(
        self,
        store: DeviceKeyStore,
        *,
        me: Myself,
        devices: DeviceBook,
        olm: OlmSessions,
        clock: Clock,
    ) -> None:
        self._store = store
        self._me = me
        self._devices = devices
        self._olm = olm
        self._clock = clock

    async def encrypt(
        self, room_id: str, members: Iterable[str], *, kind: str, content: Object, txn: str
    ) -> Object:
        """Return the encrypted content; all devices of the members have its key by then."""
        found = await self._devices.of(members)
        there = {
            user: {name: one for name, one in devices.items() if one.ed25519 != self._me.ed25519}
            for user, devices in found.items()
        }
        own = await self._current(room_id, there)
        own = await self._shared(room_id, own, there, txn=txn)
        session = GroupSession.from_pickle(own.session, PICKLE)
        plain = msgspec.json.encode({"type": kind, "content": content, "room_id": room_id})
        sealed = session.encrypt(plain).to_base64()
        own.session, own.sent = session.pickle(PICKLE), own.sent + 1
        await self._store.put(f"out/{room_id}", own)
        told: Object = {
            "algorithm": MEGOLM,
            "sender_key": self._me.curve25519,
            "device_id": self._me.device_id,
            "session_id": session.session_id,
            "ciphertext": sealed,
        }
        # Homeservers find replies, threads and edits by it.
        relation = content.get("m.relates_to")
        return told if relation is None else {**told, "m.relates_to": relation}

    # Any: the type and the content of an event.
    async def decrypt(
        self, room_id: str, sender: str, *, event_id: str, content: Mapping[str, Any]
    ) -> tuple[str, Object]:
        """Return the type and the content of an encrypted event; raise `NotDecrypted`."""
        if content.get("algorithm") != MEGOLM:
            raise NotDecrypted("it is encrypted in an unknown way")
        name = f"in/{text(content.get('session_id'))[:100]}"
        senders = await self._store.get(name, Senders) or {}
        key = senders.get(sender)
        if key is None:
            raise NotDecrypted("its key has not come", needs_key=True)
        if key.room_id != room_id:
            raise NotDecrypted("its key is that of another room")
        try:
            session = InboundGroupSession.from_pickle(key.session, PICKLE)
            message = MegolmMessage.from_base64(text(content.get("ciphertext")))
            if message.message_index() < session.first_known_index:
                raise NotDecrypted("its key has come for later messages only", needs_key=True)
            opened = session.decrypt(message)
            said = msgspec.json.decode(bytes(opened.plaintext), type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise NotDecrypted(f"it is damaged or forged: {error}") from None
        self._check_once(key, opened.message_index, event_id)
        if said.get("room_id") != room_id:
            raise NotDecrypted("it was written in another room")
        await self._store.put(name, senders)
        return text(said.get("type")), table(said, "content")

    async def take(self, told: ToDevice) -> str:
        """Store a key that its owner sends; return its session, or an empty text."""
        content = told.content
        try:
            session = InboundGroupSession(SessionKey(text(content.get("session_key"))))
        except ValueError as error:
            _log.warning("matrix.room_key_unreadable", sender=told.sender, problem=str(error))
            return ""
        key = RoomKey(
            room_id=text(content.get("room_id")),
            curve25519=told.device.curve25519,
            ed25519=told.device.ed25519,
            session=session.pickle(PICKLE),
        )
        return await self._keep(told, told.sender, session=session, key=key)

    async def take_forwarded(self, told: ToDevice, sender: str) -> str:
        """Store a key of `sender` that another device of ours passes on; return its session."""
        content = told.content
        try:
            exported = ExportedSessionKey(text(content.get("session_key")))
            session = InboundGroupSession.import_session(exported)
        except ValueError as error:
            _log.warning("matrix.room_key_unreadable", sender=told.sender, problem=str(error))
            return ""
        key = RoomKey(
            room_id=text(content.get("room_id")),
            curve25519=text(content.get("sender_key")),
            ed25519=text(content.get("sender_claimed_ed25519_key")),
            session=session.pickle(PICKLE),
        )
        return await self._keep(told, sender, session=session, key=key)

    async def forward(self, device: Device, body: Object, *, txn: str) -> bool:
        """Send a key that we have to another verified device of ours; return whether there is one."""
        name = text(body.get("session_id"))[:100]
        senders = await self._store.get(f"in/{name}", Senders) or {}
        keys = [key for key in senders.values() if key.room_id == body.get("room_id")]
        if not keys:
            return False
        session = InboundGroupSession.from_pickle(keys[0].session, PICKLE)
        exported = session.export_at(session.first_known_index)
        if exported is None:
            return False
        content: Object = {
            "algorithm": MEGOLM,
            "room_id": keys[0].room_id,
            "sender_key": keys[0].curve25519,
            "sender_claimed_ed25519_key": keys[0].ed25519,
            "session_id": name,
            "session_key": exported.to_base64(),
            "forwarding_curve25519_key_chain": [],
        }
        there = {self._me.user_id: {device.id: device}}
        return bool(await self._olm.send(there, "m.forwarded_room_key", content, txn=txn))

    async def _keep(
        self, told: ToDevice, sender: str, *, session: InboundGroupSession, key: RoomKey
    ) -> str:
        """Store a key, unless another one is known by its name or it opens less."""
        name = session.session_id
        is_named = told.content.get("session_id") == name and bool(key.room_id)
        senders = await self._store.get(f"in/{name}", Senders) or {}
        known = senders.get(sender)
        if not is_named or (known is None and len(senders) >= _MOST_SENDERS):
            _log.warning("matrix.room_key_refused", sender=told.sender, device=told.device.id)
            return ""
        if known is not None:
            if (known.room_id, known.curve25519) != (key.room_id, key.curve25519):
                _log.warning("matrix.room_key_refused", sender=told.sender, device=told.device.id)
                return ""
            before = InboundGroupSession.from_pickle(known.session, PICKLE)
            if before.first_known_index <= session.first_known_index:
                return name
            key.seen = known.seen
        await self._store.put(f"in/{name}", {**senders, sender: key})
        return name

    async def _current(self, room_id: str, there: Mapping[str, Mapping[str, Device]]) -> OwnRoomKey:
        """Return the bot's key of a room; a new one if it is used up, or somebody has left."""
        own = await self._store.get(f"out/{room_id}", OwnRoomKey)
        present = {device.curve25519 for devices in there.values() for device in devices.values()}
        now = self._clock.now()
        is_good = (
            own is not None
            and own.sent < _MOST_SENT
            and now - own.made_at < _LONGEST_S
            and present.issuperset(own.shared)
        )
        if own is not None and is_good:
            return own
        session = GroupSession()
        key = RoomKey(
            room_id=room_id,
            curve25519=self._me.curve25519,
            ed25519=self._me.ed25519,
            session=InboundGroupSession(session.session_key).pickle(PICKLE),
        )
        # Our own messages are read again, too: somebody may answer one.
        await self._store.put(f"in/{session.session_id}", {self._me.user_id: key})
        made = OwnRoomKey(session=session.pickle(PICKLE), made_at=now)
        await self._store.put(f"out/{room_id}", made)
        return made

    async def _shared(
        self,
        room_id: str,
        own: OwnRoomKey,
        there: Mapping[str, Mapping[str, Device]],
        *,
        txn: str,
    ) -> OwnRoomKey:
        """Give the key to the devices that do not have it."""
        missing = {
            user: {name: one for name, one in devices.items() if one.curve25519 not in own.shared}
            for user, devices in there.items()
        }
        if not any(missing.values()):
            return own
        session = GroupSession.from_pickle(own.session, PICKLE)
        content: Object = {
            "algorithm": MEGOLM,
            "room_id": room_id,
            "session_id": session.session_id,
            "session_key": session.session_key.to_base64(),
        }
        reached = await self._olm.send(missing, "m.room_key", content, txn=txn)
        own.shared = sorted({*own.shared, *reached})
        await self._store.put(f"out/{room_id}", own)
        return own

    def _check_once(self, key: RoomKey, index: int, event_id: str) -> None:
        """Raise for a message with the index of another one: somebody repeats what was said."""
        mark = hashlib.sha256(event_id.encode("utf-8", "replace")).hexdigest()[:32]
        if key.seen.setdefault(index, mark) != mark:
            raise NotDecrypted("it repeats another message")
        if len(key.seen) > _MOST_SEEN:
            # What is older than all that are remembered counts as a repetition.
            del key.seen[min(key.seen)]
            if index < min(key.seen):
                raise NotDecrypted("it is too old to tell whether it repeats another message")

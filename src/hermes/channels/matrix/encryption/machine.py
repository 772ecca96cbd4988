"""Encrypted rooms as the channel uses them: what the stream tells, messages in, messages out.

Between the channel and the keys; it does one thing at a time, as each changes what is stored.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encryption.devices import DeviceBook
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore, WaitingEvents
from hermes.channels.matrix.encryption.olm_sessions import OlmSessions, ToDevice
from hermes.channels.matrix.encryption.own_device import ONE_TIME, Myself
from hermes.channels.matrix.encryption.room_keys import NotDecrypted, RoomKeys
from hermes.channels.matrix.encryption.signatures import MEGOLM, Object, table, text
from hermes.channels.matrix.wire import Sync, WireEvent, readable
from hermes.errors import DeliveryError
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

_MOST_EVENTS: Final = 100
_log = structlog.get_logger(__name__)


class Encryption:
    """The keys of one account's device, and what they open."""

    def __init__(
        self,
        client: MatrixClient,
        *,
        state: PlatformState,
        clock: Clock,
        make_id: Callable[[str], str],
        password: str = "",
    ) -> None:
        self._client = client
        self._make_id = make_id
        self._store = DeviceKeyStore(state)
        self.me = Myself(client, self._store, password=password)
        self._devices = DeviceBook(
            client, self._store, self.me, epoch=make_id("epoch"), clock=clock
        )
        self._olm = OlmSessions(client, self._store, me=self.me, devices=self._devices, clock=clock)
        self._rooms = RoomKeys(
            self._store, me=self.me, devices=self._devices, olm=self._olm, clock=clock
        )
        self._lock = asyncio.Lock()
        self._members: dict[str, tuple[str, ...]] = {}
        self._replayed: list[str] = []

    async def start(self, user_id: str, device_id: str) -> None:
        """Load the device, and make its keys known."""
        async with self._lock:
            await self.me.load(user_id, device_id)
        _log.info("matrix.device", **self.me.shown(), is_signed=self.me.is_signed)

    def restart(self) -> None:
        """Ask for all devices and members again, as changes may have been missed."""
        self._devices.epoch = self._make_id("epoch")
        self._members.clear()

    async def hear(self, sync: Sync) -> tuple[tuple[str, str], ...]:
        """Take what the stream tells of keys; return messages that can be read now, by room and id.

        They are told until `settle`.
        """
        async with self._lock:
            lists = sync.device_lists
            await self._devices.changed([*lists.changed, *lists.left])
            found: list[tuple[str, str]] = []
            for event in map(readable, sync.to_device.events):
                if event is not None:
                    found += await self._take(event)
            left = sync.device_one_time_keys_count
            unused = sync.device_unused_fallback_key_types
            if left is not None:
                is_used = unused is not None and ONE_TIME not in unused
                await self.me.replenish(left.get(ONE_TIME, 0), needs_fallback=is_used)
            return tuple(found)

    async def settle(self) -> None:
        """Forget which messages waited for keys that have come, now that they are kept."""
        replayed, self._replayed = self._replayed, []
        for name in replayed:
            await self._store.drop(name)

    def members_changed(self, room_id: str) -> None:
        """Ask who is in a room before the next message there."""
        self._members.pop(room_id, None)

    async def encrypt(self, room_id: str, kind: str, content: Object) -> Object:
        """Return the content of an encrypted event."""
        async with self._lock:
            members = self._members.get(room_id)
            if members is None:
                members = await self._client.members(room_id)
                self._members[room_id] = members
            return await self._rooms.encrypt(
                room_id, members, kind=kind, content=content, txn=self._make_id("key")
            )

    async def decrypt(self, room_id: str, event: WireEvent) -> WireEvent | None:
        """Return an event as it was meant; None if it cannot be read, after asking for its key."""
        async with self._lock:
            try:
                kind, content = await self._rooms.decrypt(
                    room_id, event.sender, event_id=event.event_id, content=event.content
                )
            except NotDecrypted as problem:
                _log.warning(
                    "matrix.not_decrypted",
                    room=room_id,
                    event_id=event.event_id[:80],
                    problem=str(problem),
                )
                if problem.needs_key:
                    await self._ask(room_id, event)
                return None
        relation = event.content.get("m.relates_to")
        if relation is not None:
            content.setdefault("m.relates_to", relation)
        return msgspec.structs.replace(event, type=kind, content=content)

    async def _take(self, event: WireEvent) -> list[tuple[str, str]]:
        """Take a message to this device; return what can be read by it."""
        if event.type == "m.room_key_request":
            await self._answer(event)
        if event.type != "m.room.encrypted":
            # Keys are told encrypted only: any other sender could be anybody.
            return []
        known = self._olm.brought(event.content)
        if known is not None:
            # Told again after a crash: what waited for it may not be kept yet.
            return await self._now_readable(known) if known else []
        told = await self._olm.read(event.sender, event.content)
        if told is None:
            return []
        session = ""
        if told.content.get("algorithm") == MEGOLM and told.type == "m.room_key":
            session = await self._rooms.take(told)
        elif told.content.get("algorithm") == MEGOLM and told.type == "m.forwarded_room_key":
            session = await self._forwarded(told)
        await self._olm.settle(brought=session)
        return await self._now_readable(session) if session else []

    async def _forwarded(self, told: ToDevice) -> str:
        """Take a key that we asked for from a verified device of our own account."""
        name = text(told.content.get("session_id"))[:100]
        waiting = await self._store.get(f"waiting/{name}", WaitingEvents)
        is_own = told.sender == self.me.user_id and told.device.is_verified
        if waiting is None or not is_own or told.content.get("room_id") != waiting.room_id:
            _log.warning("matrix.forwarded_key_refused", sender=told.sender, device=told.device.id)
            return ""
        return await self._rooms.take_forwarded(told, waiting.sender)

    async def _now_readable(self, session: str) -> list[tuple[str, str]]:
        name = f"waiting/{session}"
        waiting = await self._store.get(name, WaitingEvents)
        if waiting is None:
            return []
        self._replayed.append(name)
        return [(waiting.room_id, event_id) for event_id in waiting.events]

    async def _ask(self, room_id: str, event: WireEvent) -> None:
        """Remember a message that waits for its key, and ask our own and its sender's devices for it."""
        session = text(event.content.get("session_id"))[:100]
        name = f"waiting/{session}"
        waiting = await self._store.get(name, WaitingEvents)
        is_asked = waiting is not None
        waiting = waiting or WaitingEvents(room_id=room_id, sender=event.sender)
        if (waiting.room_id, waiting.sender) != (room_id, event.sender) or not session:
            return
        if event.event_id not in waiting.events:
            waiting.events = [*waiting.events, event.event_id][-_MOST_EVENTS:]
        await self._store.put(name, waiting)
        if is_asked:
            return
        body = {
            "algorithm": MEGOLM,
            "room_id": room_id,
            "session_id": session,
            "sender_key": text(event.content.get("sender_key")),
        }
        request = {
            "action": "request",
            "body": body,
            "request_id": session,
            "requesting_device_id": self.me.device_id,
        }
        messages = {user: {"*": request} for user in {self.me.user_id, event.sender}}
        path = f"sendToDevice/m.room_key_request/{self._make_id('ask')}"
        try:
            await self._client.call("PUT", path, "key request", json={"messages": messages})
        except DeliveryError as error:
            _log.warning("matrix.key_not_asked_for", room=room_id, problem=str(error))

    async def _answer(self, event: WireEvent) -> None:
        """Answer a request for a key, if a verified device of our own account made it."""
        content, name = event.content, text(event.content.get("requesting_device_id"))
        if content.get("action") != "request" or name == self.me.device_id:
            return
        own = {}
        if event.sender == self.me.user_id:
            own = (await self._devices.of([event.sender]))[event.sender]
        device = own.get(name)
        if device is None or not device.is_verified:
            _log.warning("matrix.key_request_refused", sender=event.sender[:255], device=name[:80])
            return
        body = table(content, "body")
        is_sent = await self._rooms.forward(device, body, txn=self._make_id("key"))
        _log.info("matrix.key_request", device=name, is_answered=is_sent)

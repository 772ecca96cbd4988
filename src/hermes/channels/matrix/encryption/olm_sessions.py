"""Messages between devices: each is encrypted for one device, by an Olm session with it.

A session is stored before what it encrypted is sent, and after what it decrypted is stored.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import structlog
from vodozemac import AnyOlmMessage, Curve25519PublicKey, Session

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encryption.devices import DeviceBook
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore, Peer
from hermes.channels.matrix.encryption.own_device import ONE_TIME, PICKLE, Myself
from hermes.channels.matrix.encryption.signatures import (
    OLM,
    Device,
    Object,
    decode64,
    encode64,
    is_signed,
    table,
    text,
)
from hermes.ports.clock import Clock

_MOST_SESSIONS: Final = 5
_MOST_BYTES: Final = 131_072
_RENEW_S: Final = 3600.0
_log = structlog.get_logger(__name__)


class ToDevice(msgspec.Struct, frozen=True):
    """A message to this device that was really sent by a device of `sender`."""

    sender: str
    device: Device
    type: str
    content: Object


class OlmSessions:
    """The sessions of this device with others."""

    def __init__(
        self,
        client: MatrixClient,
        store: DeviceKeyStore,
        *,
        me: Myself,
        devices: DeviceBook,
        clock: Clock,
    ) -> None:
        self._client = client
        self._store = store
        self._me = me
        self._devices = devices
        self._clock = clock
        self._settling = ("", Peer(), "")

    async def send(
        self, messages: Mapping[str, Mapping[str, Device]], kind: str, content: Object, *, txn: str
    ) -> frozenset[str]:
        """Send a message to devices of people; return the keys of those that were reached."""
        await self._claim(messages)
        sealed: Object = {}
        reached: set[str] = set()
        for user, devices in messages.items():
            for device in devices.values():
                found = await self._encrypt(user, device, kind=kind, content=content)
                if found is not None:
                    sealed.setdefault(user, {})[device.id] = found
                    reached.add(device.curve25519)
        if sealed:
            path = f"sendToDevice/m.room.encrypted/{txn}"
            await self._client.call("PUT", path, "keys", json={"messages": sealed})
        return frozenset(reached)

    async def read(self, sender: str, content: Object) -> ToDevice | None:
        """Return what a message to this device says; None if it is not authentic.

        Its caller stores what it says, and calls `settle` then.
        """
        curve = text(content.get("sender_key"))
        sealed = table(table(content, "ciphertext"), self._me.curve25519)
        body = text(sealed.get("body"))
        if content.get("algorithm") != OLM or not body or len(body) > _MOST_BYTES:
            _log.info("matrix.to_device_unreadable", sender=sender[:255])
            return None
        try:
            plain, peer = await self._decrypt(curve, sealed.get("type"), body)
            said = msgspec.json.decode(plain, type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            _log.warning("matrix.to_device_undecryptable", sender=sender[:255], problem=str(error))
            await self._renew(sender, curve)
            return None
        # The session has moved on, also if what it says is refused.
        self._settling = (curve, peer, body)
        device = await self._devices.with_key(sender, curve)
        if device is None:
            _log.warning("matrix.unknown_device", sender=sender[:255])
        if device is None or not self._is_for_us(said, sender, device):
            await self.settle(brought="")
            return None
        return ToDevice(sender, device, text(said.get("type")), table(said, "content"))

    def brought(self, content: Object) -> str | None:
        """Return the session whose key a message brought that was read before; None for a new one."""
        sealed = table(table(content, "ciphertext"), self._me.curve25519)
        return self._me.brought(text(sealed.get("body")))

    async def settle(self, *, brought: str) -> None:
        """Store that the last message was read, and the key of which session it brought."""
        curve, peer, body = self._settling
        await self._store.put(f"olm/{curve}", peer)
        self._me.note_done(body, brought=brought)
        await self._me.save()

    def _is_for_us(self, said: Object, sender: str, device: Device) -> bool:
        """Return whether a message names its sender, its device and us; a forwarded one does not."""
        is_for_us = (
            said.get("sender") == sender
            and said.get("recipient") == self._me.user_id
            and table(said, "recipient_keys").get("ed25519") == self._me.ed25519
            and table(said, "keys").get("ed25519") == device.ed25519
        )
        if not is_for_us:
            _log.warning("matrix.to_device_forged", sender=sender[:255], device=device.id)
        return is_for_us

    # Any: the type may be anything.
    async def _decrypt(self, curve: str, kind: Any, body: str) -> tuple[bytes, Peer]:
        """Return a plain text and the sessions after it; raise `ValueError`."""
        peer = await self._store.get(f"olm/{curve}", Peer) or Peer()
        message = AnyOlmMessage.from_parts(kind if kind in (0, 1) else 9, decode64(body))
        first = message.to_pre_key() if kind == 0 else None
        for number, pickle in enumerate(peer.sessions):
            session = Session.from_pickle(pickle, PICKLE)
            if first is not None and not session.session_matches(first):
                continue
            try:
                plain = session.decrypt(message)
            except ValueError:
                continue
            del peer.sessions[number]
            return plain, _used(peer, session)
        if first is None:
            raise ValueError("no session fits the message")
        sender_key = Curve25519PublicKey.from_base64(curve)
        session, plain = self._me.account.create_inbound_session(sender_key, first)
        return bytes(plain), _used(peer, session)

    async def _encrypt(
        self, user: str, device: Device, *, kind: str, content: Object
    ) -> Object | None:
        peer = await self._store.get(f"olm/{device.curve25519}", Peer)
        if peer is None or not peer.sessions:
            return None
        session = Session.from_pickle(peer.sessions[0], PICKLE)
        said = {
            "type": kind,
            "content": content,
            "sender": self._me.user_id,
            "sender_device": self._me.device_id,
            "keys": {"ed25519": self._me.ed25519},
            "recipient": user,
            "recipient_keys": {"ed25519": device.ed25519},
        }
        number, sealed = session.encrypt(msgspec.json.encode(said)).to_parts()
        peer.sessions[0] = session.pickle(PICKLE)
        await self._store.put(f"olm/{device.curve25519}", peer)
        ciphertext = {device.curve25519: {"type": number, "body": encode64(sealed)}}
        return {"algorithm": OLM, "sender_key": self._me.curve25519, "ciphertext": ciphertext}

    async def _claim(
        self, messages: Mapping[str, Mapping[str, Device]], *, anew: bool = False
    ) -> None:
        """Begin sessions with the devices that have none, or with all."""
        wanted: dict[str, dict[str, str]] = {}
        for user, devices in messages.items():
            for device in devices.values():
                peer = await self._store.get(f"olm/{device.curve25519}", Peer)
                if anew or peer is None or not peer.sessions:
                    wanted.setdefault(user, {})[device.id] = ONE_TIME
        if not wanted:
            return
        body = {"one_time_keys": wanted}
        found = table(
            await self._client.call("POST", "keys/claim", "keys", json=body), "one_time_keys"
        )
        for user, names in wanted.items():
            for name in names:
                offered = table(table(found, user), name)
                await self._begin(user, messages[user][name], next(iter(offered.values()), None))

    async def _begin(self, user: str, device: Device, offered: object) -> None:
        is_theirs = is_signed(offered, user_id=user, key_id=device.id, key=device.ed25519)
        if not is_theirs or not isinstance(offered, dict):
            _log.warning("matrix.no_one_time_key", user=user, device=device.id)
            return
        try:
            session = self._me.account.create_outbound_session(
                Curve25519PublicKey.from_base64(device.curve25519),
                Curve25519PublicKey.from_base64(text(offered.get("key"))),
            )
        except ValueError as error:
            _log.warning("matrix.one_time_key_unreadable", user=user, problem=str(error))
            return
        name = f"olm/{device.curve25519}"
        peer = await self._store.get(name, Peer) or Peer()
        await self._store.put(name, _used(peer, session))

    async def _renew(self, sender: str, curve: str) -> None:
        """Begin a new session with a device whose messages cannot be read, now and then."""
        # Who writes what cannot be read may be anybody: nobody is asked about them.
        device = await self._devices.known(sender, curve)
        if device is None:
            return
        peer = await self._store.get(f"olm/{curve}", Peer) or Peer()
        now = self._clock.now()
        if now - peer.renewed_at < _RENEW_S:
            return
        await self._store.put(f"olm/{curve}", Peer(sessions=peer.sessions, renewed_at=now))
        there = {sender: {device.id: device}}
        await self._claim(there, anew=True)
        txn = f"renew.{device.id}.{int(now)}"
        await self.send(there, "m.dummy", {}, txn=txn)


def _used(peer: Peer, session: Session) -> Peer:
    """Return the sessions with this one first."""
    sessions = [session.pickle(PICKLE), *peer.sessions][:_MOST_SESSIONS]
    return Peer(sessions=sessions, renewed_at=peer.renewed_at)

"""A person's device with keys, as another program would write it: for the strict homeserver."""

import base64
import json
from contextlib import suppress
from typing import Any

from vodozemac import (
    Account,
    AnyOlmMessage,
    Curve25519PublicKey,
    GroupSession,
    InboundGroupSession,
    MegolmMessage,
    Session,
    SessionKey,
)

from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.matrix.state import BOT

OLM, MEGOLM = "m.olm.v1.curve25519-aes-sha2", "m.megolm.v1.aes-sha2"
Object = dict[str, Any]


class PersonDevice:
    """A device of somebody; `publish` makes its keys known."""

    def __init__(self, server: MatrixStandIn, user: str, name: str = "PHONE") -> None:
        self.server = server
        self.user = user
        self.name = name
        self.account = Account()
        self.group = GroupSession()
        self.sessions: list[Session] = []
        self.opened: list[Object] = []

    @property
    def curve(self) -> str:
        return self.account.curve25519_key.to_base64()

    @property
    def ed(self) -> str:
        return self.account.ed25519_key.to_base64()

    def signed(self, value: Object) -> Object:
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        signature = self.account.sign(text.encode()).to_base64()
        return {**value, "signatures": {self.user: {f"ed25519:{self.name}": signature}}}

    def keys(self) -> Object:
        return self.signed(
            {
                "user_id": self.user,
                "device_id": self.name,
                "algorithms": [OLM, MEGOLM],
                "keys": {f"curve25519:{self.name}": self.curve, f"ed25519:{self.name}": self.ed},
            }
        )

    def publish(self) -> None:
        self.server.change_device(self.user, self.name, self.keys())
        self.account.generate_one_time_keys(5)
        self.server.one_time_keys[self.user, self.name] = {
            f"signed_curve25519:{name}": self.signed({"key": key.to_base64()})
            for name, key in self.account.one_time_keys.items()
        }
        self.account.mark_keys_as_published()

    def bot_keys(self) -> Object:
        found: Object = self.server.device_keys[BOT][self.server.device]["keys"]
        return found

    def seal(self, kind: str, content: Object, **other: Any) -> Object:
        """Return a message to the bot's device; `other` changes what it claims."""
        bot = self.bot_keys()
        curve = bot[f"curve25519:{self.server.device}"]
        if not self.sessions:
            free = self.server.one_time_keys[BOT, self.server.device]
            key = free.pop(next(iter(free)))["key"]
            made = self.account.create_outbound_session(
                Curve25519PublicKey.from_base64(curve), Curve25519PublicKey.from_base64(key)
            )
            self.sessions.append(made)
        said = {
            "type": kind,
            "content": content,
            "sender": self.user,
            "keys": {"ed25519": self.ed},
            "recipient": BOT,
            "recipient_keys": {"ed25519": bot[f"ed25519:{self.server.device}"]},
            **other,
        }
        number, body = self.sessions[0].encrypt(json.dumps(said).encode()).to_parts()
        sealed = {"type": number, "body": base64.b64encode(body).decode().rstrip("=")}
        return {"algorithm": OLM, "sender_key": self.curve, "ciphertext": {curve: sealed}}

    def garbage(self) -> Object:
        """Return a message to the bot's device that nobody can read."""
        curve = self.bot_keys()[f"curve25519:{self.server.device}"]
        return {
            "algorithm": OLM,
            "sender_key": self.curve,
            "ciphertext": {curve: {"type": 1, "body": "AAAA"}},
        }

    def tell(self, kind: str, content: Object, **other: Any) -> None:
        self.server.tell_device(self.user, "m.room.encrypted", self.seal(kind, content, **other))

    def room_key(self, room: str, **other: Any) -> Object:
        return {
            "algorithm": MEGOLM,
            "room_id": room,
            "session_id": self.group.session_id,
            "session_key": self.group.session_key.to_base64(),
            **other,
        }

    def exported(self) -> str:
        """Return the key of the group as it is passed on."""
        found = InboundGroupSession(self.group.session_key)
        exported = found.export_at(found.first_known_index)
        assert exported is not None
        return exported.to_base64()

    def message(self, room: str, text: str, **other: Any) -> Object:
        """Return an encrypted event of a room."""
        content = {"msgtype": "m.text", "body": text}
        said = {"type": "m.room.message", "content": content, "room_id": room, **other}
        return {
            "algorithm": MEGOLM,
            "sender_key": self.curve,
            "device_id": self.name,
            "session_id": self.group.session_id,
            "ciphertext": self.group.encrypt(json.dumps(said).encode()).to_base64(),
        }

    def open(self, content: Object) -> Object:
        """Return what the bot sent to this device."""
        sealed = content["ciphertext"][self.curve]
        body = base64.b64decode(sealed["body"] + "==")
        message = AnyOlmMessage.from_parts(sealed["type"], body)
        first = message.to_pre_key() if sealed["type"] == 0 else None
        for session in self.sessions:
            if first is None or session.session_matches(first):
                with suppress(ValueError):
                    found: Object = json.loads(bytes(session.decrypt(message)))
                    return found
        assert first is not None
        sender = Curve25519PublicKey.from_base64(content["sender_key"])
        session, plain = self.account.create_inbound_session(sender, first)
        self.sessions.append(session)
        new: Object = json.loads(bytes(plain))
        return new

    def received(self) -> list[Object]:
        """Return what the bot has sent to this device."""
        sealed = [
            content
            for kind, user, device, content in self.server.sent_to_devices
            if (kind, user, device) == ("m.room.encrypted", self.user, self.name)
        ]
        self.opened += map(self.open, sealed[len(self.opened) :])
        return self.opened

    def reads(self, key: Object, content: Object) -> Object:
        """Return what an encrypted event of the bot says."""
        session = InboundGroupSession(SessionKey(key["content"]["session_key"]))
        opened = session.decrypt(MegolmMessage.from_base64(content["ciphertext"]))
        found: Object = json.loads(bytes(opened.plaintext))
        return found

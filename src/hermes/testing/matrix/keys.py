"""What a homeserver keeps of encryption: the keys of devices, and messages from device to device."""

from typing import Any

from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.matrix.people import MatrixPeople
from hermes.testing.matrix.rules import bad_json
from hermes.testing.matrix.state import BOT
from hermes.testing.site import SiteCall

_OWNERS = ("master_key", "self_signing_key", "user_signing_key")


class MatrixKeys(MatrixPeople):
    """The keys of everybody; a test puts those of people into `device_keys` and `one_time_keys`."""

    device = "STANDIN"

    # Any: whatever a site takes.
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.device_keys: dict[str, dict[str, Json]] = {}
        self.owner_keys: dict[str, dict[str, Json]] = {}
        # The keys of each device that nobody has claimed, by user and device.
        self.one_time_keys: dict[tuple[str, str], dict[str, Json]] = {}
        self.fallback_keys: dict[tuple[str, str], dict[str, Json]] = {}
        # What the bot sent to devices, and what waits for the bot, with its place in the stream.
        self.sent_to_devices: list[tuple[str, str, str, Json]] = []
        self.to_bot: list[tuple[int, Json]] = []
        self.changed_devices: list[tuple[int, str]] = []

    def tell_device(self, sender: str, kind: str, content: Json) -> None:
        """Send the bot's device a message."""
        self.state.position += 1
        self.to_bot.append(
            (self.state.position, {"sender": sender, "type": kind, "content": content})
        )
        self.state.wake()

    def change_device(self, user: str, device: str, keys: Json) -> None:
        """Give a person a device, or change it."""
        self.device_keys.setdefault(user, {})[device] = keys
        self.state.position += 1
        self.changed_devices.append((self.state.position, user))
        self.state.wake()

    def key_news(self, since: int) -> Json:
        """Return what a stream tells of keys since a position."""
        news: Json = {}
        events = [event for at, event in self.to_bot if at > since]
        changed = [user for at, user in self.changed_devices if at > since]
        if events:
            news["to_device"] = {"events": events}
        if changed:
            news["device_lists"] = {"changed": changed}
        return news

    def key_counts(self) -> Json:
        """Return how many keys of the bot nobody has claimed."""
        left = self.one_time_keys.get((BOT, self.device), {})
        unused = ["signed_curve25519"] if (BOT, self.device) in self.fallback_keys else []
        return {
            "device_one_time_keys_count": {"signed_curve25519": len(left)},
            "device_unused_fallback_key_types": unused,
        }

    def on_upload_keys(self, call: SiteCall) -> Json:
        """Take keys of the bot's device; a one-time key never changes."""
        keys = call.get("device_keys")
        if keys is not None:
            if (keys.get("user_id"), keys.get("device_id")) != (BOT, self.device):
                raise bad_json("keys of another device")
            self.device_keys.setdefault(BOT, {})[self.device] = keys
        known = self.one_time_keys.setdefault((BOT, self.device), {})
        for name, key in call.get("one_time_keys", {}).items():
            if known.setdefault(name, key) != key:
                raise bad_json(f"One time key {name} already exists")
        if call.get("fallback_keys"):
            self.fallback_keys[BOT, self.device] = call["fallback_keys"]
        return {"one_time_key_counts": {"signed_curve25519": len(known)}}

    def on_query_keys(self, call: SiteCall) -> Json:
        """Return the keys of people's devices."""
        found: Json = {
            "device_keys": {
                user: {
                    name: keys
                    for name, keys in self.device_keys.get(user, {}).items()
                    if not wanted or name in wanted
                }
                for user, wanted in call["device_keys"].items()
            }
        }
        for kind in _OWNERS:
            keys = {user: told[kind] for user, told in self.owner_keys.items() if kind in told}
            found[f"{kind}s"] = {user: keys[user] for user in call["device_keys"] if user in keys}
        return found

    def on_claim_keys(self, call: SiteCall) -> Json:
        """Give away a one-time key of each device."""
        found: Json = {}
        for user, devices in call["one_time_keys"].items():
            for device in devices:
                keys = self.one_time_keys.get((user, device), {})
                if keys:
                    name = next(iter(keys))
                    found.setdefault(user, {})[device] = {name: keys.pop(name)}
        return {"one_time_keys": found, "failures": {}}

    def on_upload_owner_keys(self, call: SiteCall) -> Json:
        """Take the bot's cross-signing keys."""
        self.owner_keys[BOT] = {name: call[name] for name in _OWNERS if name in call.params}
        return {}

    def on_upload_signatures(self, call: SiteCall) -> Json:
        """Take signatures of the bot's devices."""
        for device, keys in call.body.get(BOT, {}).items():
            self.device_keys[BOT][device]["signatures"] = keys["signatures"]
        return {"failures": {}}

    def on_send_to_device(self, call: SiteCall) -> Json:
        """Take messages to devices."""
        for user, devices in call["messages"].items():
            for device, content in devices.items():
                self.sent_to_devices.append((call["kind"], user, device, content))
        return {}

    def on_encryption(self, call: SiteCall) -> Json:
        """Return how a room is encrypted."""
        found = self.state.own_room(call["room"]).state().get(("m.room.encryption", ""))
        if found is None:
            raise SiteRefusal("gone", "Event not found.")
        content: Json = found["content"]
        return content

    def on_members(self, call: SiteCall) -> Json:
        """Return who is in a room."""
        room = self.state.own_room(call["room"])
        joined = [user for user in room.members if room.membership(user) == "join"]
        return {"joined": {user: {"display_name": room.members[user]} for user in joined}}

"""The state of the stand-in homeserver: rooms, members, events in order. No sockets."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from hermes.testing.call_rules import SiteRefusal
from hermes.testing.matrix.rules import bad_json, check_message, check_size, passes

SERVER = "hermes.test"
BOT = f"@hermes:{SERVER}"
BOT_NAME = "Hermes"

Event = dict[str, Any]


class Room(msgspec.Struct):
    """A room: its members, and all its events; each has a position in the whole stream."""

    id: str
    members: dict[str, str] = {}
    events: list[tuple[int, Event]] = []

    def membership(self, user: str) -> str:
        """Return a person's membership of the room."""
        for _, event in reversed(self.events):
            if event["type"] == "m.room.member" and event.get("state_key") == user:
                return str(event["content"]["membership"])
        return "leave"

    def state(self) -> dict[tuple[str, str], Event]:
        """Return the last event of each kind of state."""
        return {
            (event["type"], event["state_key"]): event
            for _, event in self.events
            if "state_key" in event
        }

    def find(self, event_id: str) -> Event | None:
        """Return an event of the room."""
        return next((event for _, event in self.events if event["event_id"] == event_id), None)


class MatrixState:
    """Everything on one homeserver, as one stream."""

    def __init__(self, *, now_ms: int = 1_700_000_000_000) -> None:
        self.rooms: dict[str, Room] = {}
        self.direct: dict[str, list[str]] = {}
        self.direct_at = 0
        self.position = 0
        self.media: dict[str, tuple[bytes, str]] = {}
        self._ids = 0
        self._now_ms = now_ms
        self._changed = asyncio.Event()

    def next_id(self, kind: str = "") -> str:
        """Return an id that was never used."""
        self._ids += 1
        return f"{kind}{self._ids:06d}"

    def add(  # noqa: PLR0917 - as events are spoken of: where, who, what
        self,
        room_id: str,
        sender: str,
        kind: str,
        content: Mapping[str, Any],
        **more: Any,
    ) -> Event:
        """Put an event into a room; the parameters are those of `make`."""
        event = self.make(room_id, sender, kind, content, **more)
        self.put(self.rooms[room_id], event)
        return event

    def make(  # noqa: PLR0917 - as events are spoken of: where, who, what
        self,
        room_id: str,
        sender: str,
        kind: str,
        content: Mapping[str, Any],
        *,
        state_key: str | None = None,
        event_id: str = "",
    ) -> Event:
        """Return an event that is not in the stream yet."""
        room = self.rooms[room_id]
        event: Event = {
            "type": kind,
            "sender": sender,
            "event_id": event_id or f"${self.next_id('event')}",
            "origin_server_ts": self._now_ms + self.position,
            "room_id": room_id,
            "content": dict(content),
        }
        if state_key is not None:
            event["state_key"] = state_key
            before = room.state().get((kind, state_key))
            if before is not None:
                event["unsigned"] = {"prev_content": before["content"]}
        check_size(event)
        return event

    def put(self, room: Room, event: Event) -> None:
        """Add an event to the stream; the same one again, if a test wants it."""
        self.position += 1
        room.events.append((self.position, event))
        self.wake()

    def wake(self) -> None:
        """Wake everyone who waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self, wait_s: float) -> None:
        """Wait until something happens, up to a time limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._changed.wait()

    def open_room(self, room_id: str, members: Mapping[str, str], *, is_direct: bool) -> Room:
        """Return a room with these people and the bot in it; create it if there was none."""
        room = self.rooms.get(room_id)
        if room is None:
            room = self.rooms[room_id] = Room(id=room_id)
            creator = next(iter(members))
            self.add(room_id, creator, "m.room.create", {"room_version": "11"}, state_key="")
            self.enter(room_id, creator, members[creator])
            if not is_direct:
                self.add(room_id, creator, "m.room.name", {"name": room_id}, state_key="")
            invite = {"membership": "invite", "is_direct": is_direct}
            self.add(room_id, creator, "m.room.member", invite, state_key=BOT)
            self.enter(room_id, BOT, BOT_NAME)
            if is_direct:
                self.direct.setdefault(creator, []).append(room_id)
                self.direct_at = self.position
        for user, name in members.items():
            if room.membership(user) != "join":
                self.enter(room_id, user, name)
        return room

    def enter(self, room_id: str, user: str, name: str) -> None:
        """Add a person to a room."""
        self.rooms[room_id].members[user] = name
        content = {"membership": "join", "displayname": name}
        self.add(room_id, user, "m.room.member", content, state_key=user)

    def own_room(self, room_id: str) -> Room:
        """Return a room that the bot is in; refuse any other."""
        room = self.rooms.get(room_id)
        if room is None or room.membership(BOT) != "join":
            raise SiteRefusal("M_FORBIDDEN", f"User {BOT} not in room {room_id}")
        return room

    def send(self, room_id: str, kind: str, content: Mapping[str, Any], *, txn: str) -> Event:
        """Add an event of the bot to a room, if it is allowed there; its device sees the `txn`."""
        room = self.own_room(room_id)
        if kind == "m.room.message":
            check_message(content)
        self._check_relation(room, content)
        event = self.make(room_id, BOT, kind, content)
        event["unsigned"] = {"transaction_id": txn}
        self.put(room, event)
        return event

    def redact(self, room_id: str, event_id: str) -> Event:
        """Empty an event of the bot."""
        room = self.own_room(room_id)
        event = room.find(event_id)
        if event is None:
            raise SiteRefusal("M_NOT_FOUND", event_id)
        event["content"] = {}
        event.setdefault("unsigned", {})["redacted_because"] = {"type": "m.room.redaction"}
        return self.add(room_id, BOT, "m.room.redaction", {"redacts": event_id})

    def _check_relation(self, room: Room, content: Mapping[str, Any]) -> None:
        relation = content.get("m.relates_to")
        if relation is None:
            return
        answered = relation.get("m.in_reply_to", {}).get("event_id")
        if answered is not None and room.find(answered) is None:
            raise SiteRefusal("M_UNKNOWN", f"answers an unknown event {answered}")
        kind, other = relation.get("rel_type"), room.find(relation.get("event_id", ""))
        if kind is None:
            return
        if other is None:
            raise SiteRefusal("M_UNKNOWN", "Can't send relation: event not found")
        if kind == "m.thread" and "m.relates_to" in other["content"]:
            raise SiteRefusal("M_UNKNOWN", "Cannot start threads from an event with a relation")
        if kind == "m.annotation" and not isinstance(relation.get("key"), str):
            raise bad_json("a reaction without a key")
        if kind == "m.replace" and (other["sender"] != BOT or "m.new_content" not in content):
            raise SiteRefusal("M_UNKNOWN", "an edit of what is not the sender's own")

    def timeline(
        self, room: Room, since: int, asked: Mapping[str, Any]
    ) -> tuple[list[Event], bool, int]:
        """Return the new matching events of a room, whether some are left out, and the position
        before them.
        """
        fitting = [(at, event) for at, event in room.events if at > since and passes(event, asked)]
        limit = asked.get("limit", 10)
        kept = fitting[-limit:]
        before = kept[0][0] - 1 if kept else self.position
        return [event for _, event in kept], len(fitting) > len(kept), before

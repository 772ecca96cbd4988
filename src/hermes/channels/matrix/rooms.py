"""What is known about the rooms: names, members who wrote, direct chats. No sockets.

The stream of events fills it; display names are never used to identify people.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hermes.channels.matrix.wire import Summary, WireEvent

_MEMBERS_KEPT = 500
_NAME_CHARS = 200
_TWO = 2
_STATE = frozenset(
    {
        "m.room.name",
        "m.room.topic",
        "m.room.canonical_alias",
        "m.room.encryption",
        "m.room.member",
    }
)


class MatrixRoom(msgspec.Struct):
    """One room; it changes as the stream goes on."""

    id: str
    name: str = ""
    alias: str = ""
    topic: str = ""
    is_encrypted: bool = False
    joined: int | None = None
    invited: int = 0
    heroes: tuple[str, ...] = ()
    members: dict[str, str] = {}

    @property
    def people(self) -> int | None:
        """How many are in it or invited, including the bot; None if unknown."""
        return None if self.joined is None else self.joined + self.invited


class RoomBook:
    """Every room that the bot is in."""

    def __init__(self, own: str) -> None:
        self.own = own
        self._rooms: dict[str, MatrixRoom] = {}
        self._direct: dict[str, list[str]] = {}

    @property
    def direct(self) -> dict[str, list[str]]:
        """The account's own list of direct chats: the people and their rooms."""
        return {user: list(rooms) for user, rooms in self._direct.items()}

    def get(self, room_id: str) -> MatrixRoom | None:
        """Return a room that the bot is in."""
        return self._rooms.get(room_id)

    def enter(self, room_id: str) -> MatrixRoom:
        """Return a room; create it if it is new."""
        return self._rooms.setdefault(room_id, MatrixRoom(id=room_id))

    def forget(self, room_id: str) -> None:
        """Remove a room that the bot has left."""
        self._rooms.pop(room_id, None)

    def hear_summary(self, room_id: str, summary: Summary) -> None:
        """Apply a room's member summary."""
        room = self.enter(room_id)
        if summary.joined is not None:
            room.joined = summary.joined
        if summary.invited is not None:
            room.invited = summary.invited
        if summary.heroes is not None:
            room.heroes = tuple(summary.heroes)

    def hear(self, room_id: str, event: WireEvent) -> None:
        """Apply a state event; other events are ignored."""
        if event.state_key is None or event.type not in _STATE:
            return
        room, content = self.enter(room_id), event.content
        if event.type == "m.room.member":
            self._hear_member(room, event)
        elif event.type == "m.room.encryption":
            # There is no way back: an encrypted room stays encrypted.
            room.is_encrypted = True
        elif event.type == "m.room.name":
            room.name = text_in(content, "name")
        elif event.type == "m.room.topic":
            room.topic = text_in(content, "topic")
        else:
            room.alias = text_in(content, "alias")

    def hear_direct(self, content: Mapping[str, Any]) -> None:
        """Apply the account's list of direct chats."""
        self._direct = {
            user: [room for room in rooms if isinstance(room, str)]
            for user, rooms in content.items()
            if isinstance(rooms, list)
        }

    def add_direct(self, user_id: str, room_id: str) -> dict[str, list[str]]:
        """Add a direct chat; return the list to store on the homeserver."""
        rooms = self._direct.setdefault(user_id, [])
        if room_id not in rooms:
            rooms.append(room_id)
        return self.direct

    def is_direct(self, room_id: str) -> bool:
        """Return whether a room is between the bot and one person; never with three members."""
        room = self._rooms.get(room_id)
        people = None if room is None else room.people
        if people is not None and people > _TWO:
            return False
        return people == _TWO or any(room_id in rooms for rooms in self._direct.values())

    def other_in(self, room_id: str) -> str | None:
        """Return the other person of a direct chat, if known."""
        for user, rooms in self._direct.items():
            if room_id in rooms:
                return user
        room = self._rooms.get(room_id)
        others = () if room is None else tuple(one for one in room.heroes if one != self.own)
        return others[0] if len(others) == 1 else None

    def name_of(self, room_id: str) -> str | None:
        """Return a room's display name: its name, its address, or its members."""
        room = self._rooms.get(room_id)
        if room is None:
            return None
        heroes = ", ".join(self._names(room, (one for one in room.heroes if one != self.own)))
        return room.name or room.alias or heroes[:_NAME_CHARS] or None

    def member_name(self, room_id: str, user_id: str) -> str | None:
        """Return a member's display name in a room."""
        room = self._rooms.get(room_id)
        return None if room is None else room.members.get(user_id)

    def _names(self, room: MatrixRoom, users: Iterable[str]) -> Iterable[str]:
        return (room.members.get(user) or localpart(user) for user in users)

    def _hear_member(self, room: MatrixRoom, event: WireEvent) -> None:
        user = event.state_key or ""
        name = text_in(event.content, "displayname")
        room.members.pop(user, None)
        if name and event.content.get("membership") in {"join", "invite"}:
            room.members[user] = name
            if len(room.members) > _MEMBERS_KEPT:
                del room.members[next(iter(room.members))]


def localpart(user_id: str) -> str:
    """Return the name inside a user id."""
    return user_id.removeprefix("@").partition(":")[0]


def text_in(content: Mapping[str, Any], name: str) -> str:
    """Return a short text of an event's content; empty if there is none."""
    value = content.get(name)
    return value.strip()[:_NAME_CHARS] if isinstance(value, str) else ""

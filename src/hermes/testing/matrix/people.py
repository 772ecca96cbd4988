"""The stand-in homeserver as people use it: they write, invite, send files, and read the bot's
messages.
"""

import asyncio
from html import escape
from typing import Any

from hermes.ports.clock import Clock
from hermes.testing.matrix.state import BOT, BOT_NAME, SERVER, Event, MatrixState, Room
from hermes.testing.site import Site, load_platform
from hermes.testing.stand_in import File, PersonMessage, Post

_TAKEN_S = 30.0
Told = tuple[Room, Event]
# An event type that a bot does not request: something to answer that is not a message.
_SILENT = "test.silent"
_KINDS = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


class MatrixPeople(Site):
    """The homeserver as people use it; an event that happens is a room and what is put into it."""

    def __init__(self, *, clock: Clock | None) -> None:
        super().__init__(load_platform("hermes.testing.matrix"), clock=clock)
        self.state = MatrixState()
        self.acknowledged = 0

    @property
    def token(self) -> str:
        """The bot's token."""
        return self.tokens["bot"]

    async def say(self, said: PersonMessage) -> str:
        """Write as a person; return the event's id once the bot has accepted it."""
        first = await super().say(said)
        if not said.late:
            await self.taken()
        return first

    def write(self, said: PersonMessage) -> str:
        """Write as a person, without waiting for the bot; return the event's id."""
        first, events = self.happen(said)
        for room, event in events * max(1, said.times):
            self.state.put(room, event)
        return first

    def happen(self, said: PersonMessage) -> tuple[str, list[Told]]:
        """Return the id of what a person writes, and its events."""
        room = self.room(said.chat, said.user, said.user_name, is_direct=said.chat_type == "dm")
        events = [
            self.state.make(
                room.id,
                user_id(said.user),
                "m.room.message",
                content,
                event_id=event_id(said.id) if said.id and not number else "",
            )
            for number, content in enumerate(self._contents(said, room))
        ]
        return str(events[0]["event_id"]), [(room, event) for event in events]

    async def tell(self, event: Told) -> None:
        """Put an event into the stream."""
        self.state.put(*event)

    async def taken(self) -> None:
        """Wait until the bot has received everything so far."""
        wanted = self.state.position
        async with asyncio.timeout(_TAKEN_S):
            while self.acknowledged < wanted:
                await self.state.changed(1.0)

    def room(self, chat: str, user: str, name: str, *, is_direct: bool) -> Room:
        """Return a room with a person and the bot in it; a group has another member, too."""
        others = {} if is_direct else {user_id("bystander"): "Bystander"}
        members = {user_id(user): name, **others}
        return self.state.open_room(room_id(chat), members, is_direct=is_direct)

    def invite(
        self, chat: str, user: str, *, is_direct: bool = False, history: tuple[str, ...] = ()
    ) -> str:
        """Create a room as a person, write in it, and then invite the bot; return its id."""
        name, person = room_id(chat), user_id(user)
        self.state.rooms[name] = Room(id=name)
        self.state.add(name, person, "m.room.create", {"room_version": "11"}, state_key="")
        self.state.enter(name, person, user)
        for text in history:
            said = {"msgtype": "m.text", "body": text}
            self.state.add(name, person, "m.room.message", said)
        content = {"membership": "invite", "is_direct": is_direct}
        self.state.add(name, person, "m.room.member", content, state_key=BOT)
        return name

    def say_encrypted(self, chat: str, user: str = "user-1") -> str:
        """Write as a person what only devices with keys can read."""
        room = self.room(chat, user, "Ada", is_direct=True)
        content = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA", "session_id": "s"}
        event = self.state.add(room.id, user_id(user), "m.room.encrypted", content)
        return str(event["event_id"])

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        room = self.state.rooms.get(room_id(chat))
        events = [] if room is None else [event for _, event in room.events]
        own = [one for one in events if one["sender"] == BOT and one["type"] == "m.room.message"]
        edits: dict[str, list[Event]] = {}
        for event in own:
            relation = event["content"].get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                edits.setdefault(relation["event_id"], []).append(event)
        changed = {event["event_id"] for found in edits.values() for event in found}
        return tuple(
            _post(event, edits.get(event["event_id"], []), chat)
            for event in own
            if event["event_id"] not in changed
        )

    def _contents(self, said: PersonMessage, room: Room) -> list[dict[str, Any]]:
        relation = self._relation(said, room)
        related = {"m.relates_to": relation} if relation else {}
        kind = "m.notice" if said.is_bot else "m.text"
        if not said.files:
            return [{"msgtype": kind, **_words(said), **related}]
        files = [self._file(file) for file in said.files]
        if said.text:
            files[0] |= {"body": _words(said)["body"]}
        return [file | related for file in files]

    def _relation(self, said: PersonMessage, room: Room) -> dict[str, Any]:
        relation: dict[str, Any] = {}
        if said.reply_to is not None:
            relation["m.in_reply_to"] = {"event_id": self._there(room, said.reply_to)}
        if said.thread is not None:
            root = self._there(room, said.thread)
            relation |= {"rel_type": "m.thread", "event_id": root}
            if said.reply_to is None:
                relation |= {"is_falling_back": True, "m.in_reply_to": {"event_id": root}}
        return relation

    def _there(self, room: Room, name: str) -> str:
        """Return the id of an event, creating the event if necessary."""
        wanted = event_id(name)
        if room.find(wanted) is None:
            self.state.add(room.id, user_id("bystander"), _SILENT, {}, event_id=wanted)
        return wanted

    def _file(self, file: File) -> dict[str, Any]:
        media_id = self.state.next_id("media")
        self.state.media[media_id] = (file.data, file.mime)
        return {
            "msgtype": _KINDS.get(file.mime.partition("/")[0], "m.file"),
            "body": file.name,
            "filename": file.name,
            "url": f"mxc://{SERVER}/{media_id}",
            "info": {"mimetype": file.mime, "size": len(file.data)},
        }


def room_id(chat: str) -> str:
    """Return the id of a chat's room."""
    return chat if chat.startswith("!") else f"!{chat}:{SERVER}"


def user_id(user: str) -> str:
    """Return somebody's id."""
    return user if user.startswith("@") else f"@{user}:{SERVER}"


def event_id(name: str) -> str:
    """Return the id of an event."""
    return name if name.startswith("$") else f"${name}"


def _words(said: PersonMessage) -> dict[str, Any]:
    if not said.mentions:
        return {"body": said.text, "m.mentions": {}}
    pill = f'<a href="https://matrix.to/#/{BOT}">{BOT_NAME}</a>'
    return {
        "body": f"{BOT_NAME}: {said.text}",
        "format": "org.matrix.custom.html",
        "formatted_body": f"{pill}: {escape(said.text)}",
        "m.mentions": {"user_ids": [BOT]},
    }


def _post(event: Event, edits: list[Event], chat: str) -> Post:
    content = event["content"]
    relation = content.get("m.relates_to", {})
    shown = edits[-1]["content"].get("m.new_content", content) if edits else content
    is_thread = relation.get("rel_type") == "m.thread"
    answered = None if relation.get("is_falling_back") else relation.get("m.in_reply_to", {})
    is_file = "url" in shown
    return Post(
        id=event["event_id"],
        chat=chat,
        text="" if is_file else shown.get("body", ""),
        markup=shown.get("formatted_body", ""),
        thread=relation["event_id"] if is_thread else None,
        reply_to=(answered or {}).get("event_id"),
        edits=len(edits),
        files=(shown["filename"],) if is_file else (),
        deleted=not content,
    )

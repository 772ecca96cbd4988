"""The stand-in homeserver as people use it: they write, invite, send files, and read the bot's
messages.
"""

import asyncio
from collections.abc import Mapping
from html import escape
from typing import Any

from hermes.testing.matrix.server import PASSWORD, Wire
from hermes.testing.matrix.state import BOT, BOT_NAME, SERVER, Event, MatrixState, Room
from hermes.testing.stand_in import Fault, File, PersonMessage, Post

_TAKEN_S = 30.0
# An event type that a bot does not request: something to answer that is not a message.
_SILENT = "test.silent"
_KINDS = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


class MatrixStandIn:
    """One homeserver with one bot; fits `testing.stand_in.StandIn`."""

    def __init__(self) -> None:
        self.wire = Wire()
        self._late: list[tuple[Room, Event]] = []

    @property
    def state(self) -> MatrixState:
        """The homeserver's state."""
        return self.wire.state

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        return {"homeserver": self.wire.base_url, "access_token": self.wire.token, "join": "all"}

    @property
    def password_settings(self) -> Mapping[str, Any]:
        """The settings for a channel that signs in with a password."""
        return {"homeserver": self.wire.base_url, "user_id": BOT, "password": PASSWORD}

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule."""
        return tuple(self.wire.rejected)

    async def start(self) -> None:
        """Listen."""
        await self.wire.start()

    async def stop(self) -> None:
        """Close every connection."""
        await self.wire.stop()

    def point_at(self, webhook_url: str) -> None:
        """Nothing to do: the bot polls the homeserver."""

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        self.wire.plan(fault)

    async def cut(self) -> None:
        """Drop every open connection of the bot."""
        await self.wire.cut()

    def revoke(self) -> None:
        """Invalidate the bot's token."""
        self.wire.revoke()

    def restore(self) -> None:
        """Make the bot's token valid again."""
        self.wire.is_revoked = False

    async def say(self, said: PersonMessage) -> str:
        """Write as a person; return the event's id once the bot has accepted it."""
        first = self.write(said)
        if not said.late:
            await self.taken()
        return first

    def write(self, said: PersonMessage) -> str:
        """Write as a person, without waiting for the bot; return the event's id."""
        room = self.room(said.chat, said.user, said.user_name, is_direct=said.chat_type == "dm")
        user = user_id(said.user)
        contents = self._contents(said, room)
        events = [
            self.state.make(
                room.id,
                user,
                "m.room.message",
                content,
                event_id=event_id(said.id) if said.id and not number else "",
            )
            for number, content in enumerate(contents)
        ]
        told = [(room, event) for _ in range(said.times) for event in events]
        if said.late:
            self._late += told
        else:
            told, self._late = [*told, *self._late], []
            for place, event in told:
                self.state.put(place, event)
        return str(events[0]["event_id"])

    async def taken(self) -> None:
        """Wait until the bot has received everything so far."""
        wanted = self.state.position
        async with asyncio.timeout(_TAKEN_S):
            while self.wire.acknowledged < wanted:
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

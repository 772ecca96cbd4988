"""What people do on the stand-in of Discord, and how its bot is told: the gateway, or signed calls."""

from typing import Any

import msgspec

from hermes.channel_kit.ed25519 import public_key_of
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json
from hermes.testing.event_delivery import PushRow, SignedPush, proof_signer
from hermes.testing.opcode_socket import OpcodeSocket
from hermes.testing.site import Site, load_platform
from hermes.testing.stand_in import PersonMessage
from hermes.testing.town import TownMessage

_KEY = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
_CONTENT = 1 << 15
_TIMES = "2026-01-01T00:00:00.000000+00:00"


class DiscordPeople(Site):
    """The servers and direct chats as people use them; `heartbeat_s` is asked of the bot."""

    def __init__(self, mode: str, *, clock: Clock | None, heartbeat_s: float) -> None:
        super().__init__(load_platform("hermes.testing.discord"), clock=clock)
        self.mode = mode
        self.may_read_content = True
        self.public_key = public_key_of(_KEY)
        ready = self._ready
        self.sockets = self.own(OpcodeSocket(self._refuse, ready, heartbeat_s=heartbeat_s))
        proof = proof_signer("hermes.channels.discord", _KEY)
        self.push = self.own(SignedPush(PushRow(tries=1), proof, clock=self.clock))
        # The channel of each thread, and the answers to interactions by their token.
        self.parents: dict[str, str] = {}
        self.answers: dict[str, Json | None] = {}

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person."""
        user, chat, thread = self._where(said)
        name = self.town.ids.of("message", said.id) if said.id else self.town.ids.make("message")
        mark = f"<@{self.rows.names['bot']}> " if said.mentions else ""
        files = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in said.files]
        given = {"thread": thread, "files": files, "reply_to": said.reply_to}
        message = self.town.post(chat, user, id=name, text=mark + said.text, **given)
        message.more["is_bot"] = said.is_bot
        shown = self.message(message) | self._in_server(chat)
        return name, [{"t": "MESSAGE_CREATE", "d": shown}]

    async def tell(self, event: Json) -> None:
        """Send one event: an interaction by the app's mode, everything else over the gateway."""
        if self.mode == "http" and event["t"] == "INTERACTION_CREATE":
            answer = await self.push.post(msgspec.json.encode(event["d"]))
            if answer.status == 200:
                self.answer_interaction(event["d"]["token"], msgspec.json.decode(answer.body))
            return
        await self.sockets.tell_next(event)

    async def command(self, said: PersonMessage) -> str:
        """Use a slash command as a person, such as `/model fast`; return the interaction's token."""
        name, _, words = said.text.removeprefix("/").partition(" ")
        options = [{"type": 3, "name": "text", "value": words}] if words else []
        data = {"id": self.town.ids.make("message"), "name": name, "type": 1, "options": options}
        return await self._interact(said, 2, data)

    async def press(self, said: PersonMessage) -> str:
        """Press the button whose value is the text, under the message `reply_to`."""
        _, chat, _ = self._where(said)
        message = self.town.find(chat, said.reply_to or "")
        data = {"custom_id": said.text, "component_type": 2}
        return await self._interact(said, 3, data, message=self.message(message))

    async def react(self, said: PersonMessage, *, is_removed: bool = False) -> None:
        """Put the text as an emoji on the message `reply_to`, or take it away."""
        user, chat, thread = self._where(said)
        message = self.town.find(chat, said.reply_to or "")
        place = {"channel_id": thread or chat, "message_id": message.id}
        event: Json = {"user_id": user, **place, "emoji": {"id": None, "name": said.text}}
        if not is_removed:
            event["message_author_id"] = message.user
        kind = "REMOVE" if is_removed else "ADD"
        event |= {"type": 0, "burst": False, **self._in_server(chat, user)}
        await self.tell({"t": f"MESSAGE_REACTION_{kind}", "d": event})

    async def _interact(self, said: PersonMessage, kind: int, data: Json, **more: Any) -> str:
        user, chat, thread = self._where(said)
        name = said.id or self.town.ids.make("message")
        place = self.channel(thread or chat)
        who = self._in_server(chat, user) or {"user": self.user(user)}
        told = {"channel": place, "channel_id": place["id"], "data": data, "type": kind, **who}
        token = f"aW50/ZXJh+Y3Rpb246{name}=="
        self.answers.setdefault(token, None)
        event = self.event("interaction", id=name, token=token) | told | more
        await self.tell({"t": "INTERACTION_CREATE", "d": event})
        return token

    def answer_interaction(self, token: str, answer: Json) -> None:
        """Take the answer to an interaction."""
        raise NotImplementedError

    def _where(self, said: PersonMessage) -> tuple[str, str, str | None]:
        """Return the person, the channel or direct chat, and the thread in it."""
        user = self.town.open_person(said.user, said.user_name)
        direct = user if said.chat_type == "dm" else None
        chat = self.town.open_chat(said.chat, chat_type=said.chat_type, user=direct)
        if said.thread is None:
            return user, chat, None
        # A thread that begins at a message has its id.
        thread = self.town.ids.of("message", said.thread)
        self.parents[thread] = chat
        return user, chat, thread

    def channel(self, channel_id: str) -> Json:
        """Return a channel, a thread or a direct chat."""
        chat = self.town.find_chat(self.parents.get(channel_id, channel_id))
        if channel_id in self.parents:
            more: Json = {"type": 11, "parent_id": chat.id, "name": f"thread of {chat.name}"}
        elif chat.user is not None:
            return {"id": chat.id, "type": 1, "recipients": [self.user(chat.user)]}
        else:
            more = {"type": 0, "name": chat.name, "topic": f"All about {chat.name}", "position": 0}
        return {"id": channel_id, "guild_id": self.rows.names["guild"], **more}

    def user(self, user_id: str, *, is_bot: bool = False) -> Json:
        """Return a person, or the bot."""
        if user_id == self.rows.names["bot"]:
            return dict(self.event("user", id=user_id, name="hermes", shown="Hermes", is_bot=True))
        name = self.town.people[user_id].name
        return dict(self.event("user", id=user_id, name=name.lower(), shown=name, is_bot=is_bot))

    def _in_server(self, chat: str, user: str = "") -> Json:
        if self.town.chats[chat].user is not None:
            return {}
        member: Json = {"roles": [], "joined_at": _TIMES, "deaf": False, "mute": False, "flags": 0}
        if user:
            member |= {"user": self.user(user), "permissions": "0"}
        return {"guild_id": self.rows.names["guild"], "member": member}

    def message(self, message: TownMessage) -> Json:
        """Return a message as Discord shows it."""
        bot = self.rows.names["bot"]
        answered = self.town.messages[message.chat].get(message.reply_to or "")
        is_named = f"<@{bot}>" in message.text
        shown: Json = self.event(
            "message",
            id=message.id,
            channel=message.thread or message.chat,
            text=message.text,
            kind=19 if answered is not None else 0,
            flags=message.more.get("flags", 0),
            nonce=message.more.get("nonce"),
            components=message.more.get("components") or [],
        )
        files = [self.event("file", id=it.id, name=it.name, mime=it.mime, size=it.size) for it in message.files]  # fmt: skip
        author = self.user(message.user, is_bot=message.more.get("is_bot", False))
        mentions = [self.user(bot)] if is_named else []
        whole = {"author": author, "mentions": mentions, "attachments": files}
        if answered is not None:
            whole |= {"referenced_message": self.message(answered)}
        return shown | whole | {"timestamp": _TIMES, "edited_timestamp": None}

    def _refuse(self, told: Json) -> int:
        if "properties" not in told:
            return 4002
        if told["token"] != self.tokens["bot"] or self.is_revoked:
            return 4004
        return 4014 if told["intents"] & _CONTENT and not self.may_read_content else 0

    def _ready(self, session: str) -> Json:
        ready: Json = self.event("ready", session=session)
        return ready | {"user": self.user(ready["me"])}

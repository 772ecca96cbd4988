"""What people do in the stand-in's workspace, and how its app is told: sockets, or signed calls."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.event_delivery import (
    Connection,
    EventSocket,
    PushRow,
    SignedPush,
    proof_signer,
)
from hermes.testing.site import Site, load_platform
from hermes.testing.stand_in import PersonMessage
from hermes.testing.town import TownChat, TownFile, TownMessage

_URL = re.compile(r"https?://[^\s<>|]+")
_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
_CHALLENGE = "3eZbrw1a"


class SlackPeople(Site):
    """The workspace as people use it."""

    def __init__(self, mode: str, *, clock: Clock | None, resend_s: float) -> None:
        super().__init__(load_platform("hermes.testing.slack"), clock=clock)
        self.mode = mode
        self.secret = _SECRET
        self.sockets = self.own(EventSocket(self._greet, self._hear, resend_s=resend_s))
        row = msgspec.convert(self.rows.more["push"], PushRow)
        proof = proof_signer("hermes.channels.slack", _SECRET)
        self.push = self.own(SignedPush(row, proof, clock=self.clock))
        self._is_verified = False
        self._made = self._envelopes = 0

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person; a mention of the bot in a channel makes two events."""
        user = self.town.open_person(said.user, said.user_name)
        direct = user if said.chat_type == "dm" else None
        chat = self.town.open_chat(said.chat, chat_type=said.chat_type, user=direct)
        ts = self._ts_of(said.id) or self.town.ids.make("message")
        typed = _as_sent(said.text)
        text = f"<@{self.rows.names['bot']}> {typed}" if said.mentions else typed
        thread = self._thread(said, chat, user)
        is_reply = thread is not None and thread != ts
        parent = self.town.find(chat, thread or "").user if is_reply else None
        files = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in said.files]
        if ts not in self.town.messages.get(chat, {}):
            place = self.town.chats[chat]
            self.add(place, user, text, ts=ts, thread=thread if is_reply else None, files=files)
        event = self.event(
            "message",
            channel=chat,
            user=user,
            text=text,
            ts=ts,
            thread=thread if is_reply else None,
            parent=parent,
            subtype="file_share" if files else None,
            files=[self._file(one) for one in files] or None,
            bot_of=f"B{user[1:]}" if said.is_bot else None,
            app_of="A0OTHER001" if said.is_bot else None,
        )
        kind = {"D": "im", "G": "mpim"}.get(chat[0], "channel")
        calls = [self.event_call({**event, "channel_type": kind})]
        if said.mentions and direct is None:
            # Slack leaves out the channel's type, and the author of the thread.
            left = {
                key: one for key, one in event.items() if key not in ("subtype", "parent_user_id")
            }
            calls.append(self.event_call({**left, "type": "app_mention"}))
        return f"{chat}:{ts}", calls

    def event_call(self, event: Json) -> Json:
        """Return the call of the Events API for an event."""
        at = int(float(event.get("ts", "0")))
        call: Json = self.event("call", event=event, id=f"Ev{self._next():010}", at=at)
        return call

    async def tell(self, event: Json) -> None:
        """Send the app a call of the Events API, by its mode."""
        if self.mode == "socket":
            await self._envelope("events_api", event)
            return
        await self._verify()
        await self.push.deliver(msgspec.json.encode(event))

    async def command(self, said: PersonMessage, command: str = "/hermes") -> None:
        """Send a slash command as a person."""
        values = self._acted(said)
        trigger = said.id or f"{values['number']}.{self.rows.names['team']}.trigger"
        fields = self.event("command", command=command, trigger=trigger, **values)
        await self._interact("slash_commands", fields, fields)

    async def press(self, said: PersonMessage) -> None:
        """Press a button whose value is the text, as a person: under `reply_to`, or of another app.

        A screen may show a button that is there no more.
        """
        ts = self._ts_of(said.reply_to or "") or self.town.ids.make("message")
        values = {"ts": ts, "at": said.id or self.town.ids.make("message"), **self._acted(said)}
        values |= {"action": "answer", "label": said.text, "thread": None}
        if said.reply_to is not None:
            button = self._button(said.reply_to, said.text)
            values |= {"action": button["action_id"], "label": button["text"]["text"]}
            values["thread"] = self.town.find(values["channel"], ts).thread
        payload = self.event("press", **values)
        form = {"payload": msgspec.json.encode(payload).decode()}
        await self._interact("interactive", payload, form)

    async def _interact(self, kind: str, payload: Json, form: Mapping[str, Any]) -> None:
        """Send what Slack does not repeat in the mode http."""
        if self.mode == "socket":
            await self._envelope(kind, payload)
        else:
            await self.push.post(urlencode(form).encode(), "application/x-www-form-urlencoded")

    def _button(self, message_id: str, value: str) -> Json:
        """Return the button with a value under a message of the bot."""
        chat, _, ts = message_id.partition(":")
        message = self.town.find_own(chat, ts)
        blocks = [*(message.more.get("blocks") or ()), *message.more.get("blocks_before", ())]
        under = [one for block in blocks for one in block.get("elements", ())]
        found: Json = next(one for one in under if one["value"] == value)
        return found

    async def react(
        self, said: PersonMessage, emoji: str, *, message_id: str, is_removed: bool = False
    ) -> None:
        """Put an emoji on a message, or take it away, as a person."""
        chat, _, ts = message_id.partition(":")
        message = self.town.find(chat, ts)
        user = self.town.open_person(said.user, said.user_name)
        kind = "reaction_removed" if is_removed else "reaction_added"
        at = said.id or self.town.ids.make("message")
        values = {"type": kind, "user": user, "emoji": emoji, "chat": chat, "ts": ts, "at": at}
        event = self.event("reaction", author=message.user, **values)
        await self.tell(self.event_call({**event, "ts": at}))

    async def echo(self, message_id: str) -> None:
        """Tell the app of a message of its own, as Slack does."""
        chat, _, ts = message_id.partition(":")
        shown = self.message(self.town.find_own(chat, ts), with_metadata=True)
        await self.tell(self.event_call({**shown, "channel": chat}))

    def _acted(self, said: PersonMessage) -> Json:
        user = self.town.open_person(said.user, said.user_name)
        chat = self.town.open_chat(said.chat, chat_type=said.chat_type)
        return {
            "user": user,
            "user_name": said.user_name,
            "channel": chat,
            "channel_name": "directmessage" if chat.startswith("D") else said.chat,
            "text": said.text,
            "number": self._next(),
        }

    def open_direct(self, user: str) -> str:
        """Return the direct chat with a person."""
        if user not in self.town.people:
            raise SiteRefusal("user_not_found", user)
        for chat in self.town.chats.values():
            if chat.user == user and chat.id.startswith("D"):
                return chat.id
        return self.town.open_chat(f"with {user}", user=user)

    def find_chat(self, name: str) -> TownChat:
        """Return a channel by its id or name, or the direct chat of a person."""
        is_person = name.startswith("U") and not self.town.has_chat(name)
        return self.town.find_chat(self.open_direct(name) if is_person else name.removeprefix("#"))

    def chat_to_write(self, name: str) -> TownChat:
        """Return a channel that the bot may write in."""
        return self.town.chat_to_write(self.find_chat(name).id)

    def add(
        self,
        chat: TownChat,
        user: str,
        text: str,
        *,
        ts: str = "",
        thread: str | None = None,
        files: list[TownFile] | None = None,
        more: Json | None = None,
    ) -> TownMessage:
        """Post a message; a reply makes its parent the head of a thread."""
        if thread is not None:
            parent = self.town.find(chat.id, thread)
            if parent.thread not in (None, parent.id):
                raise SiteRefusal("cannot_reply_to_message", "a reply has no thread of its own")
            parent.thread = parent.id
        is_own = user == self.rows.names["bot"]
        given = {"files": files or [], "more": more or {}, "thread": thread}
        return self.town.post(chat.id, user, id=ts, text=text, is_own=is_own, **given)

    def message(self, message: TownMessage, *, with_metadata: bool) -> Json:
        """Return a message as the history shows it."""
        names = self.rows.names if message.is_own else {}
        shown: Json = self.event(
            "shown",
            user=message.user,
            text=message.text,
            ts=message.id,
            thread=message.thread,
            bot_of=names.get("bot_id"),
            app_of=names.get("app"),
            blocks=message.more.get("blocks") or None,
            files=[self._file(file) for file in message.files] or None,
            metadata=message.more.get("metadata") if with_metadata else None,
        )
        return shown

    def _file(self, file: TownFile) -> Json:
        told: Json = self.event("file", id=file.id, name=file.name, mime=file.mime, size=file.size)
        return told

    def _ts_of(self, name: str) -> str:
        # A test that repeats a message names it by the result of `say`: channel:ts.
        ts = name.rpartition(":")[2]
        return self.town.ids.of("message", ts) if ts else ""

    def _thread(self, said: PersonMessage, chat: str, user: str) -> str | None:
        """Return the thread of a message; a thread that a test names is created."""
        name = said.thread or said.reply_to
        if name is None:
            return None
        ts = self._ts_of(name)
        message = self.town.post(chat, user, id=ts, text="a thread begins")
        return message.thread or ts

    def _next(self) -> int:
        self._made += 1
        return self._made

    async def _verify(self) -> None:
        """Send the challenge, as Slack does when the Request URL is set."""
        challenge = {"type": "url_verification", "token": "deprecated", "challenge": _CHALLENGE}
        while not self._is_verified:
            answer = await self.push.post(msgspec.json.encode(challenge))
            self._is_verified = answer.status == 200 and _CHALLENGE.encode() in answer.body
            if answer.status not in (0, 200, 503):
                self.push.rejections.append(f"events: the challenge was answered {answer.status}")
                return
            if not self._is_verified:
                await self.push.pause()

    async def _envelope(self, kind: str, payload: Json) -> None:
        """Send an envelope to one connection, until it is acknowledged."""
        self._envelopes += 1
        name = f"envelope-{self._envelopes}"

        def frame(attempt: int) -> Json:
            envelope: Json = {"envelope_id": name, "type": kind, "payload": payload}
            envelope["accepts_response_payload"] = kind != "events_api"
            if kind == "events_api":
                reason = "timeout" if attempt else ""
                envelope |= {"retry_attempt": attempt, "retry_reason": reason}
            return envelope

        await self.sockets.deliver(name, frame)

    async def _greet(self, connection: Connection) -> None:
        hello = self.event("hello", connections=len(self.sockets.connections))
        await connection.socket.send_json(hello)
        connection.is_ready = True

    async def _hear(self, _connection: Connection, frame: Json) -> None:
        extra = set(frame) - {"envelope_id", "payload"}
        self.sockets.acknowledge("" if extra else frame.get("envelope_id", ""))


def _as_sent(typed: str) -> str:
    """Return a typed text as Slack sends it: escaped, and with its links marked."""
    escaped = typed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _URL.sub(lambda found: f"<{found[0]}>", escaped)

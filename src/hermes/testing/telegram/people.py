"""What people do on the stand-in Telegram, and how its bot is told: polls, or calls of its webhook."""

import asyncio
import ipaddress
import re
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.event_delivery import PollQueue, PushRow, QueuedEvent, SignedPush
from hermes.testing.site import Site, SiteCall, load_platform
from hermes.testing.stand_in import File, PersonMessage
from hermes.testing.telegram.html_text import units
from hermes.testing.town import TownChat, TownMessage

_FIRST_UPDATE: Final = 900_000_001
_MOST: Final = 100
_PORTS: Final = frozenset({None, 443, 80, 88, 8443})
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{0,256}")
_TYPES: Final = {"dm": "private", "channel": "channel"}
_FOLDERS: Final = {"image": "photo", "audio": "voice", "video": "video"}
_SHAPES: Final[Json] = {
    "voice": {"duration": 3},
    "video": {"width": 640, "height": 360, "duration": 3},
}
_MARKS: Final = {
    "mention": re.compile(r"(?<!\S)@\w{3,32}"),
    "bot_command": re.compile(r"(?<!\S)/\w+(?:@\w+)?"),
}


class TelegramPeople(Site):
    """Telegram as people use it, and the updates of its bot."""

    def __init__(self, *, clock: Clock | None, is_limited: bool, is_local: bool) -> None:
        rows = load_platform("hermes.testing.telegram")
        super().__init__(rows, clock=clock, is_limited=is_limited)
        self.queue = PollQueue(first=_FIRST_UPDATE)
        row = msgspec.convert(rows.more["push"], PushRow)
        self.push = SignedPush(row, self._signed, clock=self.clock, sleep=self._after_failure)
        self.hook, self.secret = "", ""
        self._pointed_at = ""
        self._is_local = is_local
        self._allowed: frozenset[str] = frozenset(rows.more["kinds"].split())
        self._failed_at: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._orders: dict[int, asyncio.Lock] = {}

    async def stop(self) -> None:
        """Close every connection."""
        self.queue.end_poll()
        self._end_calls()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.push.close()
        await super().stop()

    def point_at(self, webhook_url: str) -> None:
        """Call this address instead of the webhook's own, like a proxy in front of it."""
        self._pointed_at = self.push.url = webhook_url

    def open_chat(self, said: PersonMessage) -> TownChat:
        """Return the chat of a message; create it if necessary."""
        own = self.town.ids.of("person", said.user)
        if said.chat_type == "dm" and not self.town.has_chat(said.chat):
            # On Telegram a private chat has the number of its person.
            own = self.town.ids.of("person", f"dm {said.chat}") if own in self.town.chats else own
        name = own if said.chat_type == "dm" else ""
        found = self.town.open_chat(
            said.chat, chat_type=said.chat_type, user=said.user_name, id=name
        )
        chat = self.town.chats[found]
        if said.thread is not None:
            chat.threads.add(self.town.ids.of("topic", said.thread))
        return chat

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person: a message, or one for each file."""
        chat = self.open_chat(said)
        kind = "channel_post" if chat.kind == "channel" else "message"
        first = self._spoken(said, chat)
        shown = [self._update(kind, message) for message in self._with_files(first, said)]
        return f"{first['message_id']}@{chat.id}", shown

    async def press(self, said: PersonMessage) -> None:
        """Press the button with this label under the message `reply_to`, as a person."""
        chat, message = self._named(said)
        rows = (message.more.get("reply_markup") or {}).get("inline_keyboard", [])
        values = {one["text"]: one["callback_data"] for row in rows for one in row}
        query = self.event(
            "press",
            id=self.town.ids.make("query"),
            sender=self._person(said, chat),
            message=self.message(message),
            data=values.get(said.text, said.text),
        )
        await self.tell_all([self._update("callback_query", query)])

    async def react(self, said: PersonMessage) -> None:
        """Put an emoji on the message `reply_to` as a person, in place of the one before."""
        chat, message = self._named(said)
        before = [one for one, who in message.reactions.items() if said.user in who]
        message.reactions = {said.text: {said.user}} if said.text else {}
        told = self.event(
            "reaction",
            chat=self.chat(chat),
            id=int(message.id),
            sender=self._person(said, chat),
            at=int(self.clock.now()),
            old=[{"type": "emoji", "emoji": one} for one in before],
            new=[{"type": "emoji", "emoji": one} for one in message.reactions],
        )
        await self.tell_all([self._update("message_reaction", told)])

    def happened(self, kind: str, body: Json) -> QueuedEvent:
        """Tell the bot an update of any kind, from now on."""
        return self._told(self._update(kind, body))

    async def tell_all(self, events: list[Json]) -> None:
        """Tell the bot updates at once; return once it has accepted all, the same one several times."""
        told: dict[int, QueuedEvent] = {}
        for update in events:
            known = told.get(id(update))
            if known is None:
                told[id(update)] = self._told(update)
            else:
                known.times += 1
        await asyncio.gather(*(one.taken.wait() for one in told.values()))

    async def call(self, body: bytes, *, secret: str | None = None) -> int:
        """Call the webhook once; return the status, 0 if there was no answer."""
        call = self.push.signed(body)
        if secret is not None:
            call = _with_secret(call, secret)
        return (await self.push.post(body, call=call)).status

    @property
    def webhook_info(self) -> Json:
        """The state of the webhook."""
        told: Json = self.event(
            "webhook",
            address=self.hook,
            pending=len(self.queue.waiting),
            failed_at=self._failed_at,
            problem="Wrong response from the webhook" if self._failed_at else None,
        )
        return told

    async def on_get_updates(self, call: SiteCall) -> list[Json]:
        """Answer a poll: confirm what is below the offset, then wait for more."""
        limit = call.get("limit", _MOST)
        if self.hook:
            raise SiteRefusal("hooked")
        if not 1 <= limit <= _MOST:
            raise SiteRefusal("bad", "limit must be between 1 and 100")
        self._allow(call)
        self.queue.confirm(call.get("offset", 0))
        try:
            waiting = await self.queue.wait(call.get("timeout", 0), conflict="conflict")
        except SiteRefusal:
            self.check_token(call)
            raise
        return [one.body for one in waiting[:limit]]

    def on_set_webhook(self, call: SiteCall) -> bool:
        """Deliver to a webhook from now on."""
        self.set_webhook(call["url"], call.get("secret_token", ""))
        self._allow(call)
        if call.get("drop_pending_updates"):
            self.queue.drop()
        return True

    def set_webhook(self, url: str, secret: str = "") -> None:
        """Deliver to a webhook from now on, whoever has set it."""
        # An operator's address may have a proxy in front of it.
        if url and not self._is_local and url != self._pointed_at:
            _check_url(url)
        if not _SECRET.fullmatch(secret):
            raise SiteRefusal("bad", "secret token contains unallowed characters")
        self.hook, self.secret = url, secret
        self.push.url = self._pointed_at or url
        self.queue.end_poll()
        for update in self.queue.waiting.values() if url else ():
            self._start(update)

    def on_delete_webhook(self, call: SiteCall) -> bool:
        """Deliver to polls from now on."""
        self.hook = self.secret = ""
        self._end_calls()
        if call.get("drop_pending_updates"):
            self.queue.drop()
        return True

    def on_get_webhook_info(self, _call: SiteCall) -> Json:
        """Return the state of the webhook."""
        return self.webhook_info

    def chat(self, chat: TownChat) -> Json:
        """Return a chat as Telegram shows it."""
        is_private = chat.kind == "dm"
        told: Json = self.event(
            "chat",
            id=int(chat.id),
            type=_TYPES.get(chat.kind, "supergroup"),
            person=chat.user if is_private else None,
            title=None if is_private else chat.name,
            is_forum=True if chat.threads else None,
        )
        return told

    def message(self, message: TownMessage, *, is_answer: bool = False) -> Json:
        """Return a message as Telegram shows it; an answered message contains no further reply."""
        answered = self.town.messages[message.chat].get(message.reply_to or "")
        told: Json = self.event(
            "message",
            id=int(message.id),
            at=int(message.at),
            chat=self.chat(self.town.chats[message.chat]),
            sender=self.rows.names["bot"] if message.is_own else message.more.get("sender"),
            text=message.text,
            topic=None if message.thread is None else int(message.thread),
            in_topic=None if message.thread is None else True,
            answered=self.message(answered, is_answer=True) if answered and not is_answer else None,
            keyboard=message.more.get("reply_markup"),
        )
        return told

    def _named(self, said: PersonMessage) -> tuple[TownChat, TownMessage]:
        chat = self.town.find_chat(said.chat)
        number = (said.reply_to or "").partition("@")[0]
        return chat, self.town.find(chat.id, number)

    def _person(self, said: PersonMessage, chat: TownChat) -> Json:
        number = chat.id if chat.kind == "dm" else self.town.ids.of("person", said.user)
        told: Json = self.event("person", id=int(number), is_bot=said.is_bot, name=said.user_name)
        return told

    def _spoken(self, said: PersonMessage, chat: TownChat) -> Json:
        """Return a person's message without its files, and remember it."""
        text = f"@{self.rows.names['username']} {said.text}".strip() if said.mentions else said.text
        name, ids = said.id.partition("@")[0], self.town.ids
        is_post = chat.kind == "channel"
        answered = (said.reply_to or "").partition("@")[0]
        message = self.town.post(
            chat.id,
            said.user,
            id=ids.of("message", name) if name else "",
            text=text,
            thread=None if said.thread is None else ids.of("topic", said.thread),
            reply_to=ids.of("message", answered) if answered else None,
            more={"sender": None if is_post else self._person(said, chat)},
        )
        more: Json = {"sender_chat": self.chat(chat)} if is_post else {}
        more |= {"entities": marks} if (marks := marks_of(text)) else {}
        told = {**self.message(message), **more, "text": text}
        return told if text else {key: value for key, value in told.items() if key != "text"}

    def _with_files(self, first: Json, said: PersonMessage) -> list[Json]:
        if not said.files:
            return [first]
        album = said.album or (f"album-{first['message_id']}" if len(said.files) > 1 else None)
        texts = {
            "caption": first.pop("text", None),
            "caption_entities": first.pop("entities", None),
        }
        first |= {name: value for name, value in texts.items() if value}
        first |= {"media_group_id": album} if album else {}
        others = {key: value for key, value in first.items() if not key.startswith("caption")}
        told = [{**first, **self._file(said.files[0])}]
        for file in said.files[1:]:
            number = int(self.town.ids.make("message"))
            told.append({**others, **self._file(file), "message_id": number})
        return told

    def _file(self, file: File) -> Json:
        kind = _FOLDERS.get(file.mime.partition("/")[0], "document")
        kept = self.town.keep_file(file.name, file.data, mime=file.mime)
        if kind == "photo":
            small = self.town.keep_file("small", b"small")
            sizes = ((small, 90, 60), (kept, 1280, 853))
            return {
                kind: [
                    self.event("file", id=one.id, size=one.size, width=width, height=height)
                    for one, width, height in sizes
                ]
            }
        more = _SHAPES.get(kind, {})
        told = {"id": kept.id, "size": kept.size, "mime": file.mime, "name": file.name, **more}
        return {kind: self.event("file", **told)}

    def _update(self, kind: str, body: Json) -> Json:
        self.queue.next += 1
        return {"update_id": self.queue.next - 1, kind: body}

    def _told(self, update: Json) -> QueuedEvent:
        """Deliver an update from now on; polls get updates by their number, even late ones."""
        if not self.hook and update["update_id"] + 1 < self.queue.next:
            update["update_id"], self.queue.next = self.queue.next, self.queue.next + 1
        queued = QueuedEvent(number=update["update_id"], body=update)
        if self._allowed.isdisjoint(update):
            queued.taken.set()
            return queued
        self.queue.put(queued)
        if self.hook:
            self._start(queued)
        return queued

    def _allow(self, call: SiteCall) -> None:
        if "allowed_updates" in call.params:
            known = self.rows.more["kinds"].split()
            self._allowed = frozenset(call["allowed_updates"] or known)

    def _start(self, update: QueuedEvent) -> None:
        task = asyncio.create_task(self._call_until_taken(update))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call_until_taken(self, update: QueuedEvent) -> None:
        """Call the webhook until it has accepted an update, those of a chat one after the other."""
        body = msgspec.json.encode(update.body)
        async with self._orders.setdefault(_chat_of(update.body), asyncio.Lock()):
            while not update.taken.is_set():
                await self.push.deliver(body)
                self.queue.taken(update)

    async def _after_failure(self, seconds: float) -> None:
        self._failed_at = int(self.clock.now())
        await asyncio.sleep(seconds)

    def _end_calls(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _signed(self, call: HttpRequest, _now: float) -> HttpRequest:
        return _with_secret(call, self.secret) if self.secret else call


def marks_of(text: str) -> list[Json]:
    """Return the entities that Telegram finds in a text by itself."""
    return [
        {"type": kind, "offset": units(text[: found.start()]), "length": units(found.group())}
        for kind, pattern in _MARKS.items()
        for found in pattern.finditer(text)
    ]


# Any: an update of any kind.
def _chat_of(update: Any) -> int:
    body = next((one for one in update.values() if isinstance(one, dict)), {})
    body = body.get("message", body)
    return int(body.get("chat", {}).get("id", 0))


def _with_secret(call: HttpRequest, secret: str) -> HttpRequest:
    headers = {**call.headers, "X-Telegram-Bot-Api-Secret-Token": secret}
    return msgspec.structs.replace(call, headers=headers)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise SiteRefusal("bad", "bad webhook: An HTTPS URL must be provided for webhook")
    if parts.port not in _PORTS:
        text = "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443"
        raise SiteRefusal("bad", text)
    host = parts.hostname or ""
    try:
        is_inside = not ipaddress.ip_address(host).is_global
    except ValueError:
        is_inside = host == "localhost"
    if is_inside:
        raise SiteRefusal("bad", f"bad webhook: IP address {host} is reserved")

"""What people do on the stand-in Telegram, as updates on the wire."""

import re
from typing import Any, Final

from hermes.ports.clock import Clock
from hermes.testing.stand_in import File, PersonMessage
from hermes.testing.telegram.html_text import units
from hermes.testing.telegram.state import BOT_NAME, Chat, StoredMessage, TelegramState

_FIRST_USER: Final = 5_000_001
_FIRST_GROUP: Final = -1_001_000_000_001
_TYPES: Final = {"dm": "private", "channel": "channel"}
_MARKS: Final = (
    ("mention", re.compile(r"@\w{3,32}")),
    ("bot_command", re.compile(r"/\w+(?:@\w+)?")),
)
_NUMBER: Final = re.compile(r"-?\d{1,16}")


class People:
    """Names of people, chats and messages, and Telegram's numbers for them."""

    def __init__(self, state: TelegramState, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._users: dict[str, int] = {}
        self._chats: dict[str, int] = {}
        self._said: dict[str, int] = {}
        self._topics: dict[str, int] = {}
        self._albums = 0

    def chat_id(self, name: str) -> int | None:
        """Return the number of a chat that somebody has written in."""
        return int(name) if _NUMBER.fullmatch(name) else self._chats.get(name)

    def user_id(self, name: str) -> int:
        """Return the number of a person."""
        if _NUMBER.fullmatch(name):
            return int(name)
        return self._users.setdefault(name, _FIRST_USER + len(self._users))

    def topic_id(self, name: str) -> int:
        """Return the number of a topic."""
        return (
            int(name) if name.isdigit() else self._topics.setdefault(name, 50 + len(self._topics))
        )

    def open_chat(self, said: PersonMessage) -> Chat:
        """Return the chat of a message; create it if necessary."""
        number = self.chat_id(said.chat)
        if number is None:
            number = self._number_for(said)
            self._chats[said.chat] = number
        kind = _TYPES.get(said.chat_type, "supergroup")
        name = said.user_name if kind == "private" else said.chat
        chat = self._state.chats.setdefault(number, Chat(id=number, type=kind, name=name))
        if said.thread is not None:
            chat.topics.add(self.topic_id(said.thread))
        return chat

    def messages(self, said: PersonMessage) -> list[dict[str, Any]]:
        """Return a person's message as messages: one, or one for each file."""
        chat = self.open_chat(said)
        first = self._message(said, chat, self._number(said))
        self._note(first, chat)
        if not said.files:
            return [first]
        album = said.album
        if len(said.files) > 1 and album is None:
            self._albums += 1
            album = f"album-{self._albums}"
        made = []
        for number, file in enumerate(said.files):
            wire = dict(first)
            if number:
                wire["message_id"] = self._state.next_id()
                wire.pop("text", None)
                wire.pop("entities", None)
            made.append(self._with_file(wire, file, album))
        return made

    def _with_file(self, wire: dict[str, Any], file: File, album: str | None) -> dict[str, Any]:
        text, entities = wire.pop("text", None), wire.pop("entities", None)
        wire |= self._file(file)
        if text:
            wire["caption"] = text
        if entities:
            wire["caption_entities"] = entities
        if album is not None:
            wire["media_group_id"] = album
        return wire

    def _file(self, file: File) -> dict[str, Any]:
        family = file.mime.partition("/")[0]
        kind = {"image": "photo", "audio": "voice", "video": "video"}.get(family, "document")
        file_id = self._state.keep_file(file.data, folder=kind)
        wire = {
            "file_id": file_id,
            "file_unique_id": f"u-{file_id}",
            "file_size": len(file.data),
        }
        if kind == "photo":
            small = {
                **wire,
                "file_id": self._state.keep_file(b"small", folder=kind),
                "file_size": 5,
            }
            small |= {"width": 90, "height": 60}
            return {"photo": [small, {**wire, "width": 1280, "height": 853}]}
        more = {"voice": {"duration": 3}, "video": {"width": 640, "height": 360, "duration": 3}}
        wire |= {"mime_type": file.mime, "file_name": file.name, **more.get(kind, {})}
        return {kind: wire}

    def _message(self, said: PersonMessage, chat: Chat, number: int) -> dict[str, Any]:
        text = f"@{BOT_NAME} {said.text}".strip() if said.mentions else said.text
        wire: dict[str, Any] = {
            "message_id": number,
            "date": int(self._clock.now()),
            "chat": chat.wire,
        }
        if text:
            wire["text"] = text
            wire |= {"entities": found} if (found := marks_of(text)) else {}
        if chat.type == "channel":
            wire["sender_chat"] = chat.wire
        else:
            wire["from"] = {
                "id": self.user_id(said.user) if chat.type != "private" else chat.id,
                "is_bot": said.is_bot,
                "first_name": said.user_name,
            }
        if said.thread is not None:
            wire |= {"message_thread_id": self.topic_id(said.thread), "is_topic_message": True}
        answered = self._answered(said, chat)
        return wire if answered is None else {**wire, "reply_to_message": answered}

    def _answered(self, said: PersonMessage, chat: Chat) -> dict[str, Any] | None:
        if said.reply_to is None:
            return None
        number = said.reply_to.partition("@")[0]
        known = self._said.get(said.reply_to) or (int(number) if number.isdigit() else 0)
        stored = self._state.messages.get((chat.id, known))
        return None if stored is None else self._state.wire(stored, is_reply=True)

    def _note(self, wire: dict[str, Any], chat: Chat) -> None:
        number = wire["message_id"]
        self._state.messages.setdefault(
            (chat.id, number),
            StoredMessage(
                message_id=number,
                chat=chat.id,
                text=wire.get("text", ""),
                is_own=False,
                thread=wire.get("message_thread_id"),
                author=wire.get("from", {}),
            ),
        )

    def _number(self, said: PersonMessage) -> int:
        if not said.id:
            return self._state.next_id()
        name = said.id.partition("@")[0]
        if name.isdigit():
            return int(name)
        if said.id not in self._said:
            self._said[said.id] = self._state.next_id()
        return self._said[said.id]

    def _number_for(self, said: PersonMessage) -> int:
        if said.chat_type == "dm":
            # On Telegram a private chat has the number of its person.
            own = self.user_id(said.user)
            return own if own not in self._chats.values() else self.user_id(f"dm {said.chat}")
        return _FIRST_GROUP - len(self._chats)


def marks_of(text: str) -> list[dict[str, Any]]:
    """Return the entities that Telegram finds in a text by itself."""
    return [
        {"type": kind, "offset": units(text[: found.start()]), "length": units(found.group())}
        for kind, pattern in _MARKS
        for found in pattern.finditer(text)
        if found.start() == 0 or text[found.start() - 1].isspace()
    ]

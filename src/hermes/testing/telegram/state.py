"""The state of the stand-in Telegram: chats, messages, files, drafts, limits. No I/O.

Strict on purpose: it refuses everything that the real one refuses, with the same texts.
"""

import math
from collections import deque
from typing import Any, Final

import msgspec

from hermes.ports.clock import Clock
from hermes.testing.telegram.html_text import ParsedText, parse_html, units
from hermes.testing.telegram.refusal import ApiError, bad

MAX_TEXT: Final = 4096
MAX_CAPTION: Final = 1024
MAX_PHOTO_BYTES: Final = 10 << 20
MAX_UPLOAD_BYTES: Final = 50 << 20
MAX_DOWNLOAD_BYTES: Final = 20 << 20
BOT_ID: Final = 7_000_000_001
BOT_NAME: Final = "hermes_stand_in_bot"
_PICTURES: Final = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
_NOT_MODIFIED: Final = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class Chat(msgspec.Struct, kw_only=True):
    """A chat, and its problems."""

    id: int
    type: str
    name: str
    topics: set[int] = msgspec.field(default_factory=set)
    blocked: bool = False
    moved_to: int | None = None

    @property
    def wire(self) -> dict[str, Any]:
        """The chat as Telegram shows it."""
        named = "first_name" if self.type == "private" else "title"
        wire = {"id": self.id, "type": self.type, named: self.name}
        return {**wire, "is_forum": True} if self.topics else wire


class StoredMessage(msgspec.Struct, kw_only=True):
    """A posted message."""

    message_id: int
    chat: int
    text: str
    markup: str = ""
    is_own: bool = True
    thread: int | None = None
    reply_to: int | None = None
    edits: int = 0
    before: list[str] = msgspec.field(default_factory=list)
    file: str = ""
    deleted: bool = False
    author: dict[str, Any] = msgspec.field(default_factory=dict)


class Upload(msgspec.Struct, frozen=True):
    """A file that came with a call."""

    name: str
    mime: str
    data: bytes


class Draft(msgspec.Struct, frozen=True):
    """A text shown as a draft."""

    draft_id: int
    text: str


class TelegramState:
    """Everything on the platform."""

    def __init__(self, *, clock: Clock, is_limited: bool) -> None:
        self._clock = clock
        self.is_limited = is_limited
        self.chats: dict[int, Chat] = {}
        self.messages: dict[tuple[int, int], StoredMessage] = {}
        self._own_in: dict[int, list[StoredMessage]] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.drafts: dict[int, list[Draft]] = {}
        self.actions: list[tuple[int, str]] = []
        # How many more texts with markup are refused, whatever they are.
        self.bad_markups = 0
        self._last_id = 100
        self._sent: dict[int, deque[float]] = {}

    @property
    def bot(self) -> dict[str, Any]:
        """The bot as getMe shows it."""
        return {"id": BOT_ID, "is_bot": True, "first_name": "Hermes", "username": BOT_NAME}

    def next_id(self) -> int:
        """Return the id of the next message."""
        self._last_id += 1
        return self._last_id

    def keep_file(self, data: bytes, *, folder: str) -> str:
        """Store a file and return its id."""
        file_id = f"file-{len(self.files) + 1:06d}-{folder}"
        self.files[file_id] = (f"{folder}/file_{len(self.files) + 1}", data)
        return file_id

    def chat(self, chat_id: int | str) -> Chat:
        """Return a chat that the bot may write in."""
        found = self.chats.get(chat_id) if isinstance(chat_id, int) else None
        if found is None:
            raise bad("chat not found")
        if found.moved_to is not None:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                is_rule=False,
                migrate_to_chat_id=found.moved_to,
            )
        if found.blocked:
            raise ApiError(403, "Forbidden: bot was blocked by the user", is_rule=False)
        return found

    def send_text(self, params: dict[str, Any]) -> StoredMessage:
        """Post a text."""
        parsed = self._text(params, "text", limit=MAX_TEXT)
        if not parsed.text.strip():
            raise bad("message text is empty")
        return self._post(params, parsed, markup=params["text"])

    def send_file(self, params: dict[str, Any], upload: Upload, *, kind: str) -> StoredMessage:
        """Post a file."""
        self._check_file(upload, kind)
        parsed = self._text(params, "caption", limit=MAX_CAPTION)
        return self._post(params, parsed, markup=params.get("caption", ""), file=upload.name)

    def send_album(self, params: dict[str, Any], files: dict[str, Upload]) -> list[StoredMessage]:
        """Post several files as one album."""
        items = params["media"]
        if not 2 <= len(items) <= 10:
            raise bad("group send failed: expected 2-10 items")
        kinds = {"seen" if one["type"] in {"photo", "video"} else one["type"] for one in items}
        if len(kinds) > 1:
            raise bad("documents and audio can't be mixed with other media types")
        uploads = [files.get(one["media"].removeprefix("attach://")) for one in items]
        checked = [self._attached(one, upload) for one, upload in zip(items, uploads, strict=True)]
        texts = [self._text(one, "caption", limit=MAX_CAPTION) for one in items]
        posts: list[StoredMessage] = []
        for item, upload, parsed in zip(items, checked, texts, strict=True):
            markup = item.get("caption", "")
            posts.append(
                self._post(params, parsed, markup=markup, file=upload.name, counts=not posts)
            )
        return posts

    def edit(self, params: dict[str, Any]) -> StoredMessage:
        """Replace a message's text."""
        stored = self._find(params, "edit")
        parsed = self._text(params, "text", limit=MAX_TEXT)
        if not parsed.text.strip():
            raise bad("message text is empty")
        if (stored.text, stored.markup) == (parsed.text, params["text"]):
            raise bad(_NOT_MODIFIED)
        self._pace(stored.chat)
        stored.before.append(stored.text)
        stored.text, stored.markup = parsed.text, params["text"]
        stored.edits += 1
        return stored

    def delete(self, params: dict[str, Any]) -> bool:
        """Delete a message."""
        self._find(params, "delete").deleted = True
        return True

    def draft(self, params: dict[str, Any]) -> bool:
        """Show a text as a draft."""
        chat = self.chat(params["chat_id"])
        if chat.type != "private":
            raise bad("TEXTDRAFT_PEER_INVALID")
        if params["draft_id"] == 0:
            raise bad("draft_id must be non-zero")
        parsed = self._text(params, "text", limit=MAX_TEXT)
        self.drafts.setdefault(chat.id, []).append(Draft(params["draft_id"], parsed.text))
        return True

    def own(self, chat_id: int) -> list[StoredMessage]:
        """Return the bot's messages in a chat, oldest first."""
        return list(self._own_in.get(chat_id, ()))

    def wire(self, stored: StoredMessage, *, is_reply: bool = False) -> dict[str, Any]:
        """Return a message as Telegram shows it; an answered message contains no further reply."""
        chat = self.chats[stored.chat]
        wire: dict[str, Any] = {
            "message_id": stored.message_id,
            "date": int(self._clock.now()),
            "chat": chat.wire,
            "text": stored.text,
            "from": self.bot if stored.is_own else stored.author,
        }
        if stored.thread is not None:
            wire |= {"message_thread_id": stored.thread, "is_topic_message": True}
        answered = self.messages.get((stored.chat, stored.reply_to or 0))
        if answered is not None and not is_reply:
            wire["reply_to_message"] = self.wire(answered, is_reply=True)
        return wire

    def _find(self, params: dict[str, Any], verb: str) -> StoredMessage:
        chat = self.chat(params["chat_id"])
        found = self.messages.get((chat.id, params["message_id"]))
        if found is None or found.deleted:
            raise bad(f"message to {verb} not found")
        if not found.is_own and verb == "edit":
            raise bad("message can't be edited")
        return found

    def _text(self, params: dict[str, Any], field: str, *, limit: int) -> ParsedText:
        text = params.get(field, "")
        mode = params.get("parse_mode")
        if mode not in {None, "HTML"}:
            raise bad("unsupported parse_mode")
        if mode and self.bad_markups:
            self.bad_markups -= 1
            raise bad('can\'t parse entities: Unsupported start tag "x" at byte offset 0')
        parsed = parse_html(text) if mode else ParsedText(text)
        parsed = ParsedText(parsed.text.strip(), parsed.marks)
        if units(parsed.text) > limit:
            raise bad("message is too long" if field == "text" else "message caption is too long")
        return parsed

    def _post(
        self,
        params: dict[str, Any],
        parsed: ParsedText,
        *,
        markup: str,
        file: str = "",
        counts: bool = True,
    ) -> StoredMessage:
        chat = self.chat(params["chat_id"])
        thread = params.get("message_thread_id")
        if thread is not None and thread not in chat.topics:
            raise bad("message thread not found")
        reply = self._reply(chat, params.get("reply_parameters"))
        if counts:
            self._pace(chat.id)
        stored = StoredMessage(
            message_id=self.next_id(),
            chat=chat.id,
            text=parsed.text,
            markup=markup,
            thread=thread,
            reply_to=reply,
            file=file,
        )
        self.messages[chat.id, stored.message_id] = stored
        self._own_in.setdefault(chat.id, []).append(stored)
        return stored

    def _reply(self, chat: Chat, wanted: dict[str, Any] | None) -> int | None:
        if wanted is None:
            return None
        number: int = wanted["message_id"]
        if (chat.id, number) in self.messages:
            return number
        if not wanted.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        return None

    def _attached(self, item: dict[str, Any], upload: Upload | None) -> Upload:
        if upload is None:
            raise bad("wrong file identifier/HTTP URL specified")
        self._check_file(upload, item["type"])
        return upload

    def _check_file(self, upload: Upload, kind: str) -> None:
        if not upload.data:
            raise bad("file must be non-empty")
        if len(upload.data) > (MAX_PHOTO_BYTES if kind == "photo" else MAX_UPLOAD_BYTES):
            raise ApiError(413, "Request Entity Too Large")
        if kind == "photo" and not upload.data.startswith(_PICTURES):
            raise bad("IMAGE_PROCESS_FAILED")

    def _pace(self, chat_id: int) -> None:
        """Refuse calls faster than 30 per second in total, 1 in a chat, 20 per minute in a
        group.
        """
        if not self.is_limited:
            return
        now = self._clock.monotonic()
        groups = ((chat_id, 20, 60.0),) if chat_id < 0 else ()
        for key, most, window_s in ((0, 30, 1.0), (chat_id, 1, 1.0), *groups):
            sent = self._sent.setdefault(key, deque(maxlen=64))
            recent = [at for at in sent if now - at < window_s]
            if len(recent) >= most:
                wait = max(1, math.ceil(recent[0] + window_s - now))
                raise ApiError(
                    429, f"Too Many Requests: retry after {wait}", is_rule=False, retry_after=wait
                )
        for key in (0, chat_id):
            self._sent[key].append(now)

"""Telegram on loopback as one object: its methods and files. Its rows are in `platform.toml`.

Fits `testing.stand_in.StandIn`. What people do, and how the bot is told of it, is in `people.py`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock
from hermes.testing.call_rules import KINDS, Json, Kinds, SiteRefusal, Upload
from hermes.testing.site import SiteCall, load_platform
from hermes.testing.stand_in import Post, PostButton
from hermes.testing.telegram.html_text import parse_html, units
from hermes.testing.telegram.people import TelegramPeople
from hermes.testing.town import TownChat, TownFile, TownMessage

_ROWS = load_platform("hermes.testing.telegram")
TOKEN: Final = _ROWS.tokens["bot"]
SECRET: Final = str(_ROWS.names["secret"])
_MOST_UNITS: Final = {"text": 4096, "caption": 1024}
_MAX_PHOTO_BYTES: Final = 10 << 20
_MAX_UPLOAD_BYTES: Final = 50 << 20
_MAX_DOWNLOAD_BYTES: Final = 20 << 20
_MOST_BUTTON_BYTES: Final = 64
_PICTURES: Final = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
_ALBUMS: Final = {"photo": "seen", "video": "seen", "document": "document", "audio": "audio"}


class TelegramDraft(msgspec.Struct, frozen=True):
    """A text shown as a draft."""

    draft_id: int
    text: str


class TelegramStandIn(TelegramPeople):
    """One Telegram with one bot; `mode` is how it receives updates."""

    kinds: ClassVar[Kinds] = {
        "chat": lambda value: KINDS["int"](value) or (isinstance(value, str) and value[:1] == "@"),
    }

    def __init__(
        self,
        mode: str = "poll",
        *,
        is_limited: bool = False,
        is_local: bool = False,
        token: str = TOKEN,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(clock=clock, is_limited=is_limited, is_local=is_local)
        self.mode = mode
        self.tokens["bot"] = token
        self.drafts: dict[str, list[TelegramDraft]] = {}
        self.actions: list[tuple[str, str]] = []
        self.confirmed_presses: list[str] = []
        # How many more texts with markup are refused, whatever they are.
        self.bad_markups = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        settings = {"bot_token": self.tokens["bot"], "api_url": self.url}
        hooked = {"mode": "webhook", "webhook_secret": SECRET}
        return {**settings, **hooked} if self.mode == "webhook" else settings

    def shown(self, message: TownMessage) -> Post:
        """Return a message as people see it."""
        shown = super().shown(message)
        reply = None if shown.reply_to is None else f"{shown.reply_to}@{message.chat}"
        rows = (message.more.get("reply_markup") or {}).get("inline_keyboard", [])
        buttons = [PostButton(one["text"], one["callback_data"]) for row in rows for one in row]
        return msgspec.structs.replace(shown, reply_to=reply, buttons=tuple(buttons))

    def drafts_in(self, chat: str) -> tuple[TelegramDraft, ...]:
        """Return the bot's drafts in a chat, oldest first."""
        found = self.town.find_chat(chat).id if self.town.has_chat(chat) else ""
        return tuple(self.drafts.get(found, ()))

    def earlier(self, chat: str) -> tuple[str, ...]:
        """Return the earlier texts of the bot's edited messages in a chat."""
        history = self.town.history(self.town.find_chat(chat).id, is_own=True)
        return tuple(text for message in history for text in message.before)

    def revoke(self) -> None:
        """Invalidate the bot's token from now on; a poll that waits is refused."""
        super().revoke()
        self.queue.end_poll()

    def renew(self, token: str) -> None:
        """Give the bot another token; the old one becomes invalid."""
        self.tokens["bot"] = token
        self.restore()

    def on_send_message(self, call: SiteCall) -> Json:
        """Post a text."""
        text = self._text(call.params, "text")
        if not text.strip():
            raise SiteRefusal("bad", "message text is empty")
        return self.message(self._post(call, text, markup=call["text"]))

    def on_send_file(self, call: SiteCall) -> Json:
        """Post a file."""
        kind = call.name.removeprefix("send").lower()
        file = self._kept(call.files.get(kind), kind)
        text = self._text(call.params, "caption")
        return self.message(self._post(call, text, markup=call.get("caption", ""), file=file))

    def on_send_media_group(self, call: SiteCall) -> list[Json]:
        """Post several files as one album."""
        items = call["media"]
        if not 2 <= len(items) <= 10:
            raise SiteRefusal("bad", "group send failed: expected 2-10 items")
        for one in items:
            if one.get("type") not in _ALBUMS:
                raise SiteRefusal("bad", "can't parse InputMedia: type is none of an album")
            self._rules.check_object(f"InputMedia{one['type'].capitalize()}", one)
        if len({_ALBUMS[one["type"]] for one in items}) > 1:
            text = "documents and audio can't be mixed with other media types"
            raise SiteRefusal("bad", text)
        files = [
            self._kept(call.files.get(one["media"].removeprefix("attach://")), one["type"])
            for one in items
        ]
        texts = [self._text(one, "caption") for one in items]
        posts: list[TownMessage] = []
        for one, file, text in zip(items, files, texts, strict=True):
            markup = one.get("caption", "")
            posts.append(self._post(call, text, markup=markup, file=file, counts=not posts))
        return list(map(self.message, posts))

    def on_edit_message_text(self, call: SiteCall) -> Json:
        """Replace a message's text and its buttons."""
        message = self._found(call, "edit")
        if not message.is_own:
            raise SiteRefusal("bad", "message can't be edited")
        text, keyboard = self._text(call.params, "text"), self._keyboard(call)
        if not text.strip():
            raise SiteRefusal("bad", "message text is empty")
        now = (message.text, message.markup, message.more.get("reply_markup"))
        if now == (text, call["text"], keyboard):
            raise SiteRefusal("bad", self.rows.more["not_modified"])
        self._pace(self.town.chats[message.chat])
        message.more["reply_markup"] = keyboard
        return self.message(self.town.edit(message, text, markup=call["text"]))

    def on_delete_message(self, call: SiteCall) -> bool:
        """Delete a message."""
        self._found(call, "delete").is_deleted = True
        return True

    def on_set_message_reaction(self, call: SiteCall) -> bool:
        """React to a message; a bot has one reaction to each."""
        message = self._found(call, "react")
        found = [one["emoji"] for one in call.get("reaction", [])]
        if len(found) > 1:
            raise SiteRefusal("bad", "REACTIONS_TOO_MANY")
        if not set(found) <= set(self.rows.more["reactions"].split(" ")):
            raise SiteRefusal("bad", "REACTION_INVALID")
        message.more["bot_reaction"] = "".join(found)
        return True

    def on_send_chat_action(self, call: SiteCall) -> bool:
        """Show that the bot does something."""
        chat = self._chat(call)
        if chat.kind == "channel":
            raise SiteRefusal("bad", "CHAT_ACTION_NOT_SUPPORTED")
        self.actions.append((chat.id, call["action"]))
        return True

    def on_send_message_draft(self, call: SiteCall) -> bool:
        """Show a text as a draft."""
        chat = self._chat(call)
        if chat.kind != "dm":
            raise SiteRefusal("bad", "TEXTDRAFT_PEER_INVALID")
        if call["draft_id"] == 0:
            raise SiteRefusal("bad", "draft_id must be non-zero")
        text = self._text(call.params, "text")
        self.drafts.setdefault(chat.id, []).append(TelegramDraft(call["draft_id"], text))
        return True

    def on_get_file(self, call: SiteCall) -> Json:
        """Return where a file can be downloaded."""
        file = self.town.files.get(call["file_id"])
        if file is None:
            raise SiteRefusal("bad", "wrong file_id or the file is temporarily unavailable")
        if file.size > _MAX_DOWNLOAD_BYTES:
            raise SiteRefusal("bad", "file is too big")
        told: Json = self.event("file", id=file.id, size=file.size, path=f"files/{file.id}")
        return told

    def on_get_chat(self, call: SiteCall) -> Json:
        """Return what is known of a chat."""
        return {**self.chat(self._chat(call)), "accent_color_id": 0, "max_reaction_count": 11}

    def on_get_chat_member_count(self, call: SiteCall) -> int:
        """Return how many are in a chat."""
        return 2 if self._chat(call).kind == "dm" else 3

    def on_answer_callback_query(self, call: SiteCall) -> bool:
        """Take the bot's word that it has a press."""
        query = call["callback_query_id"]
        if query in self.confirmed_presses:
            text = "query is too old and response timeout expired or query ID is invalid"
            raise SiteRefusal("bad", text)
        self.confirmed_presses.append(query)
        return True

    def on_unknown(self, call: SiteCall) -> Json:
        """Refuse a method that there is not."""
        raise SiteRefusal("unknown_call", call.request.match_info["method"][:80])

    def on_download(self, call: SiteCall) -> web.Response:
        """Return the bytes of a file."""
        found = self.send_file(call["file"])
        found.content_type = "application/octet-stream"
        return found

    def _chat(self, call: SiteCall) -> TownChat:
        chat = self.town.chat_to_write(str(call["chat_id"]))
        moved_to = chat.more.get("moved_to")
        if moved_to is not None:
            raise SiteRefusal("moved", parameters={"migrate_to_chat_id": int(moved_to)})
        return chat

    def _found(self, call: SiteCall, verb: str) -> TownMessage:
        found = self.town.messages.get(self._chat(call).id, {}).get(str(call["message_id"]))
        if found is None or found.is_deleted:
            raise SiteRefusal("bad", f"message to {verb} not found")
        return found

    def _text(self, given: Mapping[str, Any], field: str) -> str:
        """Return the visible text of a parameter."""
        text, mode = given.get(field, ""), given.get("parse_mode")
        if mode not in {None, "HTML"}:
            raise SiteRefusal("bad", "unsupported parse_mode")
        if mode and self.bad_markups:
            self.bad_markups -= 1
            text = "<x>"
        shown = (parse_html(text) if mode else text).strip()
        if units(shown) > _MOST_UNITS[field]:
            of = "message" if field == "text" else "message caption"
            raise SiteRefusal("bad", f"{of} is too long")
        return shown

    def _keyboard(self, call: SiteCall) -> Json | None:
        """Return the checked buttons of a call."""
        markup: Json | None = call.get("reply_markup")
        for row in (markup or {}).get("inline_keyboard", []):
            self._rules.check_object("InlineKeyboardButton", row)
            for one in row:
                if not 1 <= len(one["callback_data"].encode()) <= _MOST_BUTTON_BYTES:
                    raise SiteRefusal("bad", "BUTTON_DATA_INVALID")
                if not one["text"].strip():
                    raise SiteRefusal("bad", "can't parse inline keyboard button: text is empty")
        return markup

    def _post(
        self,
        call: SiteCall,
        text: str,
        *,
        markup: str,
        file: TownFile | None = None,
        counts: bool = True,
    ) -> TownMessage:
        chat, thread = self._chat(call), call.get("message_thread_id")
        if thread is not None and str(thread) not in chat.threads:
            raise SiteRefusal("bad", "message thread not found")
        wanted, keyboard = call.get("reply_parameters") or {}, self._keyboard(call)
        reply = str(wanted["message_id"]) if wanted else None
        is_there = reply in self.town.messages.get(chat.id, {})
        if wanted and not is_there and not wanted.get("allow_sending_without_reply"):
            raise SiteRefusal("bad", "message to be replied not found")
        if counts:
            self._pace(chat)
        return self.town.post(
            chat.id,
            "bot",
            text=text,
            markup=markup,
            thread=None if thread is None else str(thread),
            reply_to=reply if is_there else None,
            files=[] if file is None else [file],
            is_own=True,
            more={"reply_markup": keyboard, "kind": call.name},
        )

    def _pace(self, chat: TownChat) -> None:
        self.pace(chat.id, is_group=chat.kind != "dm")

    def _kept(self, upload: Upload | None, kind: str) -> TownFile:
        """Return an upload as a file, unless it cannot be shown as this kind."""
        if upload is None:
            raise SiteRefusal("bad", "wrong file identifier/HTTP URL specified")
        if not upload.data:
            raise SiteRefusal("bad", "file must be non-empty")
        if len(upload.data) > (_MAX_PHOTO_BYTES if kind == "photo" else _MAX_UPLOAD_BYTES):
            raise SiteRefusal("too_large", upload.name)
        if kind == "photo" and not upload.data.startswith(_PICTURES):
            raise SiteRefusal("bad", "IMAGE_PROCESS_FAILED")
        return self.town.keep_file(upload.name, upload.data, mime=upload.mime)

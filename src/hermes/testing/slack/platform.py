"""Slack on loopback as one object: its methods and files. Its rows are in `platform.toml`.

Fits `testing.stand_in.StandIn`. `/api` is the Web API, `/link` Socket Mode, `/upload` and
`/files-pri` the files; what people do is in `people.py`.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.site import SiteCall, load_platform
from hermes.testing.slack.markup import MOST_CHARS, as_read, check_blocks, check_mrkdwn
from hermes.testing.slack.people import SlackPeople
from hermes.testing.stand_in import Post, PostButton
from hermes.testing.town import TownChat, TownFile, TownMessage

_ROWS = load_platform("hermes.testing.slack")
BOT_TOKEN, APP_TOKEN = _ROWS.tokens["bot"], _ROWS.tokens["app"]
BOT_USER, TEAM = _ROWS.names["bot"], _ROWS.names["team"]
_EVENT_TYPE = re.compile(r"[a-z0-9_]{1,255}")
_EMOJI = re.compile(r"[a-z0-9_+'-]{1,100}")
_MOST_METADATA = 16_000
_DEFAULT_PAGE, _MOST_PAGE = 100, 999
_KINDS = {"public_channel": "C", "private_channel": "G", "mpim": "G", "im": "D"}


class SlackStandIn(SlackPeople):
    """One workspace with one app in it; `mode` is how the app receives events."""

    def __init__(
        self,
        mode: Literal["socket", "http"] = "socket",
        *,
        clock: Clock | None = None,
        resend_s: float = 3.0,
    ) -> None:
        super().__init__(mode, clock=clock, resend_s=resend_s)
        self.statuses: list[tuple[str, str, str]] = []
        self._tickets: set[str] = set()

    @property
    def base_url(self) -> str:
        """The address of the Web API."""
        return f"{self.url}/api"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        common = {"bot_token": self.tokens["bot"], "mode": self.mode, "base_url": self.base_url}
        if self.mode == "socket":
            return {**common, "app_token": APP_TOKEN}
        return {**common, "signing_secret": self.secret}

    def shown(self, message: TownMessage) -> Post:
        """Return a message as people see it."""
        thread, told = message.thread, {"text": as_read(message.text), "markup": message.text}
        name, reply = (
            None if it is None else f"{message.chat}:{it}" for it in (message.id, thread)
        )
        buttons = tuple(
            PostButton(one["text"]["text"], one["value"])
            for block in message.more.get("blocks") or []
            for one in block.get("elements", ())
            if one["type"] == "button"
        )
        shown = super().shown(message)
        return msgspec.structs.replace(shown, id=name, reply_to=reply, buttons=buttons, **told)

    def revoke(self) -> None:
        """Invalidate both tokens from now on; an open socket is notified and closed."""
        super().revoke()
        self.sockets.disable({"type": "disconnect", "reason": "link_disabled"})

    def on_api_test(self, call: SiteCall) -> Json:
        """Answer with what was given."""
        return {"args": call.params}

    def on_open_socket(self, _call: SiteCall) -> Json:
        """Return the address of a connection, for one use."""
        ticket = f"ticket-{len(self.log)}"
        self._tickets.add(ticket)
        address = self.url.replace("http", "ws", 1)
        return {"url": f"{address}/link/?ticket={ticket}&app_id={self.rows.names['app']}"}

    async def on_link(self, call: SiteCall) -> web.StreamResponse:
        """Serve a connection."""
        if call.get("ticket") not in self._tickets:
            raise SiteRefusal("bad_ticket", "a ticket that is used or was never given")
        self._tickets.discard(call["ticket"])
        return await self.sockets.serve(call.request)

    def on_post(self, call: SiteCall) -> Json:
        """Post a message."""
        chat = self.chat_to_write(call["channel"])
        _check_content(call)
        self.pace(chat.id)
        more = {"blocks": call.get("blocks"), "metadata": call.get("metadata")}
        text = call.get("text", "")
        message = self.add(chat, BOT_USER, text, thread=call.get("thread_ts"), more=more)
        shown = self.message(message, with_metadata=True)
        return {"channel": chat.id, "ts": message.id, "message": shown}

    def on_update(self, call: SiteCall) -> Json:
        """Change a message; arguments that are not given keep their old value."""
        message = self._own(call)
        _check_content(call)
        self.town.edit(message, call.get("text", message.text))
        message.more["blocks_before"] = message.more.get("blocks") or []
        kept = ("blocks", "metadata")
        message.more |= {name: call[name] for name in kept if name in call.params}
        return {"channel": message.chat, "ts": message.id, "text": message.text}

    def on_delete(self, call: SiteCall) -> Json:
        """Delete a message."""
        message = self._own(call)
        message.is_deleted = True
        return {"channel": message.chat, "ts": message.id}

    def on_react(self, call: SiteCall) -> Json:
        """Put the bot's emoji on a message."""
        found = self._reactions(call)
        if BOT_USER in found:
            raise SiteRefusal("already_reacted", call["name"])
        found.add(BOT_USER)
        return {}

    def on_unreact(self, call: SiteCall) -> Json:
        """Take the bot's emoji from a message."""
        found = self._reactions(call)
        if BOT_USER not in found:
            raise SiteRefusal("no_reaction")
        found.discard(BOT_USER)
        return {}

    def _reactions(self, call: SiteCall) -> set[str]:
        """Return who has put an emoji on a message."""
        if not _EMOJI.fullmatch(call["name"]):
            raise SiteRefusal("invalid_name", call["name"])
        chat = self._chat_by_id(call["channel"])
        message = self.town.find(chat.id, call["timestamp"])
        return message.reactions.setdefault(call["name"], set())

    def _own(self, call: SiteCall) -> TownMessage:
        chat = self._chat_by_id(call["channel"])
        return self.town.find_own(chat.id, call["ts"])

    def _chat_by_id(self, chat_id: str) -> TownChat:
        if not chat_id.startswith(("C", "D", "G")):
            raise SiteRefusal("chat_not_found", "not the id of a channel")
        return self.find_chat(chat_id)

    def on_history(self, call: SiteCall) -> Json:
        """Return a page of a channel, newest first."""
        chat = self._readable(call)
        found = [one for one in self.town.history(chat.id) if not one.is_deleted]
        top = [one for one in reversed(found) if one.thread in (None, one.id)]
        return self._page(call, top)

    def on_replies(self, call: SiteCall) -> Json:
        """Return a page of a thread, oldest first."""
        chat, thread = self._readable(call), call["ts"]
        if thread not in self.town.messages.get(chat.id, {}):
            raise SiteRefusal("thread_not_found", thread)
        found = [one for one in self.town.history(chat.id) if not one.is_deleted]
        return self._page(
            call, [one for one in found if thread in (one.id, one.thread)], root=thread
        )

    def _readable(self, call: SiteCall) -> TownChat:
        chat = self.find_chat(call["channel"])
        if chat.refuses == "not_in_channel":
            raise SiteRefusal("not_in_channel", chat.name)
        return chat

    def _page(self, call: SiteCall, found: list[TownMessage], *, root: str = "") -> Json:
        oldest = float(call.get("oldest", "0"))
        newer = [one for one in found if one.id == root or float(one.id) > oldest]
        shown = call.get("include_all_metadata", False)
        told = [self.message(one, with_metadata=shown) for one in newer]
        return _paged(call, "messages", told)

    def on_list(self, call: SiteCall) -> Json:
        """Return a page of the channels."""
        kinds = call.get("types", "public_channel").split(",")
        if not set(kinds) <= set(_KINDS):
            raise SiteRefusal("invalid_types", str(kinds))
        wanted = {_KINDS[kind] for kind in kinds}
        return _paged(
            call,
            "channels",
            [self._told(one) for one in self.town.chats.values() if one.id[0] in wanted],
        )

    def on_info(self, call: SiteCall) -> Json:
        """Return what is known of a channel."""
        chat = self.find_chat(call["channel"])
        members = len(self.town.people) + 1
        return {"channel": self._told(chat, members if call.get("include_num_members") else None)}

    def _told(self, chat: TownChat, members: int | None = None) -> Json:
        told: Json = self.event(
            "im" if chat.id.startswith("D") else "channel",
            id=chat.id,
            name=chat.name,
            user=chat.user or "USLACKBOT",
            members=members,
            is_channel=chat.id.startswith("C"),
            is_archived=chat.refuses == "is_archived",
            is_member=chat.refuses != "not_in_channel",
        )
        return told

    def on_open(self, call: SiteCall) -> Json:
        """Open the direct chat with a person."""
        return {"channel": {"id": self.open_direct(call.get("users", ""))}}

    def on_user(self, call: SiteCall) -> Json:
        """Return what is known of a person."""
        user = call["user"]
        if user != BOT_USER and user not in self.town.people:
            raise SiteRefusal("user_not_found", user)
        name = "hermes" if user == BOT_USER else self.town.people[user].name
        profile = {"display_name": name, "real_name": name}
        return {"user": {"id": user, "name": name.lower(), "profile": profile}}

    def on_announce(self, call: SiteCall) -> Json:
        """Return the address for the bytes of a file."""
        if call["length"] <= 0 or not call["filename"]:
            raise SiteRefusal("parameter", "an empty file or name")
        file = self.town.keep_file(call["filename"], None, size=call["length"])
        return {"upload_url": f"{self.url}/upload/v1/{file.id}", "file_id": file.id}

    async def on_upload(self, call: SiteCall) -> web.Response:
        """Take the bytes of a file."""
        file, data = self.town.files.get(call["file"]), await _uploaded(call.request)
        if file is None or file.size != len(data):
            raise SiteRefusal("bad_upload", "another length than was announced")
        file.data = data
        return web.Response(text=f"OK - {len(data)}")

    def on_share(self, call: SiteCall) -> Json:
        """Post uploaded files."""
        files = [self._ready(one) for one in call["files"]]
        if not files:
            raise SiteRefusal("parameter", "no files")
        if "channel_id" in call.params:
            chat = self.chat_to_write(self._chat_by_id(call["channel_id"]).id)
            text = call.get("initial_comment", "")
            check_mrkdwn(text)
            self.pace(chat.id)
            self.add(chat, BOT_USER, text, thread=call.get("thread_ts"), files=files)
        for file in files:
            file.is_shared = True
        shown = [{"id": one.id, "title": one.name, "name": one.name} for one in files]
        return {"files": shown}

    def _ready(self, named: Json) -> TownFile:
        file = self.town.find_file(named.get("id", ""))
        if file.is_shared:
            raise SiteRefusal("file_already_completed", file.id)
        return file

    def on_delete_file(self, call: SiteCall) -> Json:
        """Delete a file, and the messages with it."""
        if self.town.files.pop(call["file"], None) is None:
            raise SiteRefusal("file_not_found", call["file"])
        for chat in self.town.chats:
            for message in self.town.history(chat):
                if any(file.id == call["file"] for file in message.files):
                    message.is_deleted = True
        return {}

    def on_status(self, call: SiteCall) -> Json:
        """Show the status of an assistant's thread."""
        chat = self.find_chat(call["channel_id"])
        self.town.find(chat.id, call["thread_ts"])
        self.statuses.append((chat.id, call["thread_ts"], call["status"]))
        return {}

    def on_download(self, call: SiteCall) -> web.Response:
        """Return the bytes of a file."""
        shown = call.request.headers.get("Authorization", "")
        if shown != f"Bearer {self.tokens['bot']}" or self.is_revoked:
            raise SiteRefusal("signed_out")
        return self.send_file(call["file"].rpartition("-")[2])


def _check_content(call: SiteCall) -> None:
    text, blocks, metadata = call.get("text", ""), call.get("blocks"), call.get("metadata")
    if not text.strip() and not blocks:
        raise SiteRefusal("no_text", "neither text nor blocks")
    if len(text) > MOST_CHARS:
        raise SiteRefusal("msg_too_long", f"{len(text)} characters")
    check_mrkdwn(text)
    if blocks is not None:
        check_blocks(blocks)
    if metadata is None:
        return
    if set(metadata) - {"event_type", "event_payload", "entities"}:
        raise SiteRefusal("invalid_metadata_format", "unknown fields")
    if not _EVENT_TYPE.fullmatch(str(metadata.get("event_type"))):
        raise SiteRefusal("invalid_metadata_format", "event_type")
    if not isinstance(metadata.get("event_payload"), dict):
        raise SiteRefusal("invalid_metadata_format", "event_payload")
    if len(str(metadata)) > _MOST_METADATA:
        raise SiteRefusal("metadata_too_large", "event_payload")


def _paged(call: SiteCall, name: str, found: list[Any]) -> Json:
    """Return a page of a list, and the cursor of the next one."""
    limit, cursor = call.get("limit", _DEFAULT_PAGE), call.get("cursor", "")
    if not 1 <= limit <= _MOST_PAGE:
        raise SiteRefusal("invalid_limit", str(limit))
    if cursor and not cursor.startswith("page:"):
        raise SiteRefusal("invalid_cursor", cursor[:40])
    start = int(cursor.removeprefix("page:")) if cursor else 0
    end = start + limit
    following = f"page:{end}" if end < len(found) else ""
    more = {"has_more": bool(following), "response_metadata": {"next_cursor": following}}
    return {name: found[start:end], **more}


async def _uploaded(request: web.Request) -> bytes:
    """Return the bytes of an upload, raw or as the form that SDKs send."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    for part in (await request.post()).values():
        if isinstance(part, web.FileField):
            return part.file.read()
    return b""

"""Discord on loopback as one object: its calls and files. Its rows are in `platform.toml`.

Fits `testing.stand_in.StandIn`. `/api/v10` is the HTTP API, `/` the gateway, `/attachments` the files;
what people do is in `people.py`.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, Kinds, SiteRefusal
from hermes.testing.discord.people import DiscordPeople
from hermes.testing.site import SiteCall, load_platform
from hermes.testing.stand_in import Post, PostButton
from hermes.testing.town import TownChat, TownMessage

_ROWS = load_platform("hermes.testing.discord")
BOT_TOKEN, BOT_USER, GUILD = _ROWS.tokens["bot"], _ROWS.names["bot"], _ROWS.names["guild"]
_COMMAND = re.compile(r"[-_a-z0-9]{1,32}")
_MARKS = re.compile(
    r"```(?:[\w+#.-]*\n)?(?P<block>.*?)\n?```|`(?P<code>[^`]+)`|\\(?P<char>.)|\*\*|~~|_|\u200b"
    r"|^#{1,3} |^> ",
    re.DOTALL | re.MULTILINE,
)
_NONCE_S = 300.0
_PRIVATE = 1 << 6


def read_discord(text: str) -> str:
    """Return what people read of a text in Discord's Markdown."""
    return _MARKS.sub(lambda found: next(filter(None, found.groups()), ""), text)


class DiscordStandIn(DiscordPeople):
    """One bot; `mode` is how its interactions reach it."""

    kinds: ClassVar[Kinds] = {
        # Discord writes ids as texts and takes numbers, too; discord.py sends some.
        "id": lambda value: isinstance(value, str | int) and str(value).isdecimal(),
        "nonce": lambda value: isinstance(value, str | int) and len(str(value)) <= 25,
    }

    def __init__(
        self,
        mode: Literal["gateway", "http"] = "gateway",
        *,
        clock: Clock | None = None,
        heartbeat_s: float = 0.1,
    ) -> None:
        super().__init__(mode, clock=clock, heartbeat_s=heartbeat_s)
        self.commands: list[Json] = []
        self.typing: list[str] = []
        self.pings: list[str] = []
        self.limit_headers: Mapping[str, str] = {}

    @property
    def base_url(self) -> str:
        """The address of the HTTP API."""
        return f"{self.url}/api/v10"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        more = {"public_key": self.public_key} if self.mode == "http" else {}
        return {"bot_token": BOT_TOKEN, "base_url": self.base_url, **more}

    def shown(self, message: TownMessage) -> Post:
        """Return a message as people see it."""
        text = read_discord(message.text)
        buttons = tuple(
            PostButton(one["label"], one["custom_id"])
            for row in message.more.get("components") or []
            for one in row["components"]
        )
        shown = super().shown(message)
        return msgspec.structs.replace(shown, text=text, markup=message.text, buttons=buttons)

    async def cut_off(self, code: int) -> None:
        """Close the gateway's connections with a code."""
        await self.sockets.close(code=code)

    def on_gateway(self, _call: SiteCall) -> Json:
        """Return where a session begins."""
        limit: Json = self.event("limit")
        return {"url": self.url.replace("http", "ws", 1), "shards": 1, "session_start_limit": limit}

    def on_me(self, _call: SiteCall) -> Json:
        """Return the bot."""
        return self.user(BOT_USER)

    def on_application(self, _call: SiteCall) -> Json:
        """Return the application."""
        flags = 1 << 19 if self.may_read_content else 0
        found: Json = self.event("application", flags=flags, key=self.public_key)
        return found | {"owner": self.user(BOT_USER)}

    async def on_commands(self, call: SiteCall) -> list[Json]:
        """Replace the slash commands."""
        given: list[Json] = msgspec.json.decode(await call.request.read())
        for one in given:
            told = {name: value for name, value in one.items() if value is not None}
            self._rules.check_object("command", told)
            is_named = _COMMAND.fullmatch(str(one.get("name"))) is not None
            if not is_named or not 1 <= len(one.get("description", "")) <= 100:
                raise SiteRefusal("parameter", f"the command {one.get('name')}")
        self.commands = given
        known = {"application_id": self.rows.names["application"], "version": "1", "type": 1}
        return [{**known, "id": str(number), **one} for number, one in enumerate(given, 1)]

    def _place(self, call: SiteCall) -> tuple[TownChat, str | None]:
        """Return the chat of a call, and the thread in it."""
        channel = call["channel"]
        if not channel.isdecimal():
            raise SiteRefusal("parameter", "channel_id is not a snowflake")
        parent = self.parents.get(channel)
        if parent is None and channel not in self.town.chats:
            raise SiteRefusal("chat_not_found")
        return self.town.chat_to_write(parent or channel), channel if parent else None

    async def on_post(self, call: SiteCall) -> web.Response:
        """Post a message; under a nonce that was used before, return that one."""
        shown = self.message(await self._post(call))
        headers = {"Content-Type": "application/json", **self.limit_headers}
        return web.Response(body=msgspec.json.encode(shown), headers=headers)

    async def _post(self, call: SiteCall) -> TownMessage:
        chat, thread = self._place(call)
        self._check(call)
        nonce = call.get("nonce")
        known = self._under(chat.id, nonce) if call.get("enforce_nonce") else None
        if known is not None:
            return known
        self.pace(chat.id)
        answered = str(call.get("message_reference", {}).get("message_id", ""))
        is_there = answered in self.town.messages.get(chat.id, {})
        if answered and not is_there and call["message_reference"].get("fail_if_not_exists", True):
            raise SiteRefusal("parameter", "message_reference: unknown message")
        more = {"nonce": nonce, "components": call.get("components"), "thread": thread}
        message = self._add(call, chat.id, reply_to=answered if is_there else None, **more)
        # The bot gets its own message, as everybody in the channel does.
        shown = self.message(message) | ({} if chat.user is not None else {"guild_id": GUILD})
        if self.sockets.session:
            event = {"op": 0, "t": "MESSAGE_CREATE", "d": shown}
            await self.sockets.send_next(lambda number: {**event, "s": number})
        return message

    def _under(self, chat: str, nonce: object) -> TownMessage | None:
        now = self.clock.now()
        for message in self.town.history(chat, is_own=True):
            if message.more.get("nonce") == nonce and now - message.at < _NONCE_S:
                return message
        return None

    def _add(
        self, call: SiteCall, chat: str, *, thread: str | None, reply_to: str | None, **more: Any
    ) -> TownMessage:
        files = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in call.files.values()]  # fmt: skip
        text = call.get("content", "")
        given = {"text": text, "is_own": True, "files": files, "reply_to": reply_to}
        return self.town.post(chat, BOT_USER, thread=thread, more=more, **given)

    def _check(self, call: SiteCall) -> None:
        content, allowed = call.get("content", ""), call.get("allowed_mentions")
        if not content.strip() and not call.files and not call.get("components"):
            raise SiteRefusal("empty", "a message of nothing")
        named = [str(one.get("id")) for one in call.get("attachments", [])]
        if call.files and [f"files[{name}]" for name in named] != list(call.files):
            raise SiteRefusal("parameter", "attachments do not name the files")
        if allowed is None and re.search(r"@everyone|@here|<@", content):
            self.pings.append(content)
        rows = call.get("components") or []
        values = [it.get("custom_id") for row in rows for it in row.get("components", [])]
        if len(rows) > 5 or len(set(values)) != len(values):
            raise SiteRefusal("parameter", "components: too many rows, or one custom_id twice")
        for row in rows:
            self._rules.check_object("row", row)
            self._rules.check_object("button", row["components"])
            if row["type"] != 1 or not 1 <= len(row["components"]) <= 5:
                raise SiteRefusal("parameter", "a row has one to five buttons")

    def on_edit(self, call: SiteCall) -> Json:
        """Change a message of the bot."""
        message = self._own(call)
        self._check(call)
        self.town.edit(message, call.get("content", message.text))
        message.more |= {name: call[name] for name in ("components",) if name in call.params}
        return self.message(message)

    def on_delete(self, call: SiteCall) -> web.Response:
        """Delete a message of the bot."""
        self._own(call).is_deleted = True
        return web.Response(status=204)

    def _own(self, call: SiteCall) -> TownMessage:
        chat, thread = self._place(call)
        message = self.town.find_own(chat.id, call["message"])
        if message.thread != thread or message.more.get("flags", 0) & _PRIVATE:
            raise SiteRefusal("message_not_found")
        return message

    def on_channel(self, call: SiteCall) -> Json:
        """Return what is known of a channel."""
        self._place(call)
        return self.channel(call["channel"])

    def on_channels(self, _call: SiteCall) -> list[Json]:
        """Return the channels of the server."""
        return [self.channel(one.id) for one in self.town.chats.values() if one.user is None]

    def on_typing(self, call: SiteCall) -> web.Response:
        """Show that the bot is writing."""
        self._place(call)
        self.typing.append(call["channel"])
        return web.Response(status=204)

    def on_react(self, call: SiteCall) -> web.Response:
        """Put the bot's reaction on a message, or take it away."""
        chat, _ = self._place(call)
        people = self.town.find(chat.id, call["message"]).reactions.setdefault(call["emoji"], set())
        if call.request.method == "PUT":
            people.add(BOT_USER)
        elif BOT_USER not in people:
            raise SiteRefusal("no_reaction")
        else:
            people.discard(BOT_USER)
        return web.Response(status=204)

    def on_callback(self, call: SiteCall) -> web.Response | Json:
        """Take the answer to an interaction."""
        if call["token"] not in self.answers:
            raise SiteRefusal("unknown_interaction")
        self.answer_interaction(call["token"], call.params)
        if not call.get("with_response"):
            return web.Response(status=204)
        told = {"id": call["interaction"], "type": 2}
        return {"interaction": told, "resource": {"type": call["type"]}}

    def answer_interaction(self, token: str, answer: Json) -> None:
        """Take the answer to an interaction, once."""
        if self.answers[token] is not None:
            raise SiteRefusal("acknowledged")
        self.answers[token] = {"type": answer["type"], "data": answer.get("data", {})}

    def on_original(self, call: SiteCall) -> Json:
        """Fill in the answer that was promised, or change it."""
        return self._answered(call, is_first=True)

    def on_follow_up(self, call: SiteCall) -> Json:
        """Post one more answer."""
        return self._answered(call, is_first=False)

    def _answered(self, call: SiteCall, *, is_first: bool) -> Json:
        token, answer = call["token"], self.answers.get(call["token"])
        if answer is None:
            raise SiteRefusal("unknown_webhook")
        self._check(call)
        flags = answer["data"].get("flags", 0) if is_first else call.get("flags", 0)
        chat = next(iter(self.town.chats))
        known = self.town.messages.get(chat, {}).get(answer.get("message", ""))
        if is_first and known is not None:
            return self.message(self.town.edit(known, call["content"]))
        message = self._add(call, chat, thread=None, reply_to=None, flags=flags, token=token)
        if is_first:
            answer["message"] = message.id
        return self.message(message)

    def on_file(self, call: SiteCall) -> web.Response:
        """Return the bytes of a file; the address alone says who may have it."""
        if "Authorization" in call.request.headers:
            raise SiteRefusal("parameter", "the token of the bot was sent to the host of the files")
        return self.send_file(call["file"])

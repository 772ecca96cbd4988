"""A homeserver on loopback as one object: its calls. Its rows are in `platform.toml`.

Fits `testing.stand_in.StandIn`. What people do is in `people.py`, the stream of events in `state.py`.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import web

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, Kinds, SiteRefusal
from hermes.testing.matrix.keys import MatrixKeys
from hermes.testing.matrix.rules import read_object
from hermes.testing.matrix.state import BOT, BOT_NAME, SERVER, Room
from hermes.testing.matrix.sync import is_empty, page_answer, read_token, sync_answer
from hermes.testing.site import SiteCall

PASSWORD = "not-a-real-password"
_MAX_UPLOAD = 50_000_000
_LONGEST_POLL_S = 60.0


class MatrixStandIn(MatrixKeys):
    """One homeserver with one bot."""

    kinds: ClassVar[Kinds] = {
        "texts": lambda value: isinstance(value, list) and all(isinstance(x, str) for x in value),
        # Synapse refuses a filter with what is no room's id.
        "rooms": lambda value: (
            isinstance(value, list) and all(re.fullmatch(r"![^:]+:.+", x) for x in value)
        ),
        "count": lambda value: type(value) is int and value > 0,
    }

    def __init__(self, *, clock: Clock | None = None) -> None:
        super().__init__(clock=clock)
        self.read: list[tuple[str, str]] = []
        self.typing: list[tuple[str, bool]] = []
        self.knows_new_media = True
        self._first_syncs: dict[str, Json] = {}
        self._transactions: dict[tuple[str, ...], str] = {}
        self._is_stopped = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        return {"homeserver": self.url, "access_token": self.token, "join": "all"}

    @property
    def password_settings(self) -> Mapping[str, Any]:
        """The settings for a channel that signs in with a password."""
        return {"homeserver": self.url, "user_id": BOT, "password": PASSWORD}

    async def start(self, port: int = 0) -> None:
        """Listen; again on the same port as before."""
        self._is_stopped = False
        await super().start(port)

    async def stop(self) -> None:
        """Close every connection; polls are answered."""
        self._is_stopped = True
        self.state.wake()
        await self.cut()
        await super().stop()

    def revoke(self) -> None:
        """Invalidate the token, also for the poll that waits."""
        super().revoke()
        self.state.wake()

    def read_object(self, body: bytes) -> Json:
        """Return a JSON body, which must be canonical."""
        return read_object(body)

    def operation(self, call: SiteCall) -> str:
        """Return what faults call a call: an edit is a message, too."""
        relation = (call.body or {}).get("m.relates_to")
        is_edit = isinstance(relation, dict) and relation.get("rel_type") == "m.replace"
        return "edit" if is_edit else super().operation(call)

    def check_token(self, call: SiteCall) -> None:
        """Refuse a call without the token; one in an address ends up in logs."""
        if "access_token" in call.request.query:
            raise SiteRefusal("no_token", "a token in an address")
        super().check_token(call)

    def on_login(self, call: SiteCall) -> Json:
        """Sign in with a password."""
        body = call.body
        if body.get("type") != "m.login.password":
            raise SiteRefusal("M_UNKNOWN", "Unknown login type")
        user = body.get("identifier", {}).get("user")
        if user not in {BOT, "hermes"} or body.get("password") != PASSWORD:
            raise SiteRefusal("M_FORBIDDEN", "Invalid username or password")
        self.device = body.get("device_id") or self.state.next_id("DEVICE")
        self.tokens["bot"] = self.state.next_id("not-a-real-token-")
        self.is_revoked = False
        return {"user_id": BOT, "access_token": self.token, "device_id": self.device}

    def on_whoami(self, _call: SiteCall) -> Json:
        """Say whose token it is."""
        return {"user_id": BOT, "device_id": self.device, "is_guest": False}

    async def on_sync(self, call: SiteCall) -> Json:
        """Return what is new, or wait for it."""
        asked = read_object(call.get("filter", "{}").encode())
        self._rules.check_object("filter", asked)
        asked.setdefault("room", {}).setdefault("timeline", {})
        since = call.get("since")
        if since is None and call.get("filter", "") in self._first_syncs:
            # As Synapse does for two minutes.
            return self._first_syncs[call["filter"]]
        start = None if since is None else read_token(since, self.state)
        if start is not None:
            self.acknowledged = max(self.acknowledged, start)
            self.state.wake()
        wait_s = min(call.get("timeout", 0) / 1000, _LONGEST_POLL_S)
        end = asyncio.get_running_loop().time() + wait_s
        while True:
            self.check_token(call)
            answer = {**sync_answer(self.state, start, asked), **self.key_news(start or 0)}
            left_s = end - asyncio.get_running_loop().time()
            if start is None or not is_empty(answer) or left_s <= 0 or self._is_stopped:
                told = {**answer, **self.key_counts()}
                if since is None:
                    self._first_syncs[call.get("filter", "")] = told
                return told
            await self.state.changed(left_s)

    def on_messages(self, call: SiteCall) -> Json:
        """Return a page of a room, newest first."""
        room = self.state.own_room(call["room"])
        if call["dir"] != "b":
            raise SiteRefusal("parameter", "dir must be b here")
        asked = read_object(call.get("filter", "{}").encode())
        self._rules.check_object("timeline", asked)
        start, stop = call.get("from"), call.get("to")
        return page_answer(
            self.state,
            room,
            start=self.state.position if start is None else read_token(start, self.state),
            stop=read_token(stop, self.state),
            limit=call.get("limit", 10),
            asked=asked,
        )

    def on_event(self, call: SiteCall) -> Json:
        """Return one event."""
        event = self.state.own_room(call["room"]).find(call["event"])
        if event is None:
            raise SiteRefusal("gone", "Event not found.")
        return event

    def on_send(self, call: SiteCall) -> Json:
        """Put an event of the bot into a room, once for each transaction."""

        def send() -> str:
            self.pace(call["room"])
            sent = self.state.send(call["room"], call["kind"], call.body, txn=call["txn"])
            return str(sent["event_id"])

        return self._once(call, send)

    def on_redact(self, call: SiteCall) -> Json:
        """Empty an event, once for each transaction."""
        return self._once(
            call, lambda: str(self.state.redact(call["room"], call["event"])["event_id"])
        )

    # Any: a function without arguments.
    def _once(self, call: SiteCall, act: Any) -> Json:
        key = (self.device, call.name, call["room"], call["txn"])
        if key not in self._transactions:
            self._transactions[key] = act()
        return {"event_id": self._transactions[key]}

    def on_typing(self, call: SiteCall) -> Json:
        """Show or hide that the bot types."""
        room = self._own_room(call)
        self.typing.append((room.id, call["typing"]))
        return {}

    def on_receipt(self, call: SiteCall) -> Json:
        """Take a read receipt."""
        room = self.state.own_room(call["room"])
        if room.find(call["event"]) is None:
            raise SiteRefusal("M_INVALID_PARAM", "a receipt of what does not exist")
        self.read.append((room.id, call["event"]))
        return {}

    def on_join(self, call: SiteCall) -> Json:
        """Accept an invitation."""
        room = self.state.rooms.get(call["room"])
        if room is None or room.membership(BOT) not in {"invite", "join"}:
            raise SiteRefusal("M_FORBIDDEN", "You are not invited to this room.")
        self.state.enter(room.id, BOT, BOT_NAME)
        return {"room_id": room.id}

    def on_joined_rooms(self, _call: SiteCall) -> Json:
        """Return the rooms that the bot is in."""
        rooms = [room.id for room in self.state.rooms.values() if room.membership(BOT) == "join"]
        return {"joined_rooms": rooms}

    def on_display_name(self, call: SiteCall) -> Json:
        """Return the bot's name."""
        if call["user"] != BOT:
            raise SiteRefusal("M_NOT_FOUND", "Profile not found")
        return {"displayname": BOT_NAME}

    def on_keep_direct(self, call: SiteCall) -> Json:
        """Store the list of direct chats."""
        if call["user"] != BOT:
            raise SiteRefusal("M_FORBIDDEN", "Cannot add account data for other users.")
        self.state.direct = call.body
        self.state.position += 1
        self.state.direct_at = self.state.position
        return {}

    async def on_upload(self, call: SiteCall) -> Json:
        """Take a file."""
        data = await call.request.read()
        if len(data) > _MAX_UPLOAD:
            raise SiteRefusal("M_TOO_LARGE", "Upload request body is too large")
        media_id = self.state.next_id("media")
        self.state.media[media_id] = (data, call.request.content_type)
        return {"content_uri": f"mxc://{SERVER}/{media_id}"}

    def on_download(self, call: SiteCall) -> web.Response:
        """Return a file."""
        if not self.knows_new_media:
            raise SiteRefusal("old_media", "Unrecognized request")
        return self.on_old_download(call)

    def on_old_download(self, call: SiteCall) -> web.Response:
        """Return a file, as older homeservers do."""
        found = self.state.media.get(call["id"])
        if found is None or call["server"] != SERVER:
            raise SiteRefusal("M_NOT_FOUND", "Not found")
        return web.Response(body=found[0], content_type=found[1])

    def _own_room(self, call: SiteCall) -> Room:
        if call["user"] != BOT:
            raise SiteRefusal("M_FORBIDDEN", "not the bot's own state")
        return self.state.own_room(call["room"])

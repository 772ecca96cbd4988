"""QQ on loopback: what people write, its gateway or signed calls, and the HTTP API of one bot.

Fits `testing.stand_in.StandIn`; its rows are in `platform.toml`. Like QQ it takes five replies to a message
for a while, refuses the same number twice, and every address that is not registered.
"""

import base64
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.event_delivery import PushRow, SignedPush, proof_signer
from hermes.testing.opcode_socket import OpcodeSocket
from hermes.testing.site import Site, SiteCall, load_platform
from hermes.testing.stand_in import PersonMessage

_ADDRESS = re.compile(r"https?://|\b[a-z0-9-]+\.(?:com|net|org|cn|io|dev|ai|app)\b", re.IGNORECASE)
_SECONDS = {"dm": 3600.0, "group": 300.0}
_REPLIES = 5


class QqStandIn(Site):
    """One bot; `mode` is how its events reach it."""

    def __init__(
        self,
        mode: Literal["gateway", "webhook"] = "gateway",
        *,
        clock: Clock | None = None,
        heartbeat_s: float = 0.1,
    ) -> None:
        super().__init__(load_platform("hermes.testing.qq"), clock=clock)
        self.mode = mode
        ready = partial(self.event, "ready")
        self.sockets = self.own(OpcodeSocket(self._refuse, ready, heartbeat_s=heartbeat_s))
        proof = proof_signer("hermes.channels.qq", self.rows.names["secret"])
        self.push = self.own(SignedPush(PushRow(tries=3), proof, clock=self.clock))
        self.may_markdown = False
        self.may_write_unasked = True
        self._pairs: set[tuple[str, int]] = set()
        self._replies: Counter[str] = Counter()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        names = self.rows.names
        told = {"app_id": names["app"], "app_secret": names["secret"], "mode": self.mode}
        return {**told, "base_url": self.url, "token_url": self.url}

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person: alone with the bot under the openid of the chat, in a group under one's own."""
        chat = self.town.open_chat(said.chat, chat_type=said.chat_type)
        is_group = said.chat_type != "dm"
        user = self.town.open_person(said.user, said.user_name) if is_group else chat
        name = self.town.ids.of("message", said.id) if said.id else self.town.ids.make("message")
        files = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in said.files]
        message = self.town.post(chat, user, id=name, text=said.text, files=files)
        shown: Json = self.event(
            "message",
            id=name,
            text=f" {said.text}" if is_group and said.mentions else said.text,
            at=_time(message.at),
            user=user,
            name=said.user_name,
            is_bot=said.is_bot,
            mentions=[],
            files=[self.event("file", **msgspec.structs.asdict(it)) for it in files],
            **({"group": chat, "member": user} if is_group else {"direct": user}),
        )
        kind = ("GROUP_AT_" if said.mentions else "GROUP_") if is_group else "C2C_"
        return name, [{"id": f"{kind}:{name}", "t": f"{kind}MESSAGE_CREATE", "d": shown}]

    async def tell(self, event: Json) -> None:
        """Send one event; return once the bot has it."""
        if self.mode == "webhook":
            await self.push.deliver(msgspec.json.encode({"op": 0, "s": 1, **event}))
        else:
            await self.sockets.tell_next(event)

    def _refuse(self, told: Json) -> int:
        is_known = told["token"] == f"QQBot {self.tokens['bot']}" and not self.is_revoked
        return 0 if is_known else 4004

    def on_issue(self, call: SiteCall) -> Json:
        """Issue a token."""
        names = self.rows.names
        shown = (call["appId"], call["clientSecret"])
        if self.is_revoked or shown != (names["app"], names["secret"]):
            raise SiteRefusal("wrong_secret")
        return {"access_token": self.tokens["bot"], "expires_in": "7200"}

    def on_upload(self, call: SiteCall) -> Json:
        """Take a file."""
        self.town.chat_to_write(call["chat"])
        data = base64.b64decode(call.get("file_data", ""), validate=True)
        file = self.town.keep_file(call.get("file_name", "file"), data or None)
        return {"file_uuid": file.id, "file_info": file.id, "ttl": 3600}

    def on_post(self, call: SiteCall) -> Json:
        """Post a message: a reply to one that was written a while ago, or unasked."""
        chat = self.town.chat_to_write(call["chat"])
        if (call.name == "post_group_message") != (chat.kind != "dm"):
            raise SiteRefusal("chat_not_found", "a person's openid is none of a group")
        text, files = self._content(call)
        if call.get("msg_id"):
            self._check_reply(call, chat.id, _SECONDS["dm" if chat.kind == "dm" else "group"])
        elif not self.may_write_unasked:
            raise SiteRefusal("unasked")
        message = self.town.post(
            chat.id, self.rows.names["bot"], text=text, is_own=True, files=files
        )
        return {"id": message.id, "timestamp": _time(message.at)}

    def _content(self, call: SiteCall) -> tuple[str, list[Any]]:
        kind, text = call.get("msg_type", 0), call.get("content", "")
        if kind == 2:
            if not self.may_markdown:
                raise SiteRefusal("no_markdown", "markdown")
            text = call.get("markdown", {}).get("content", "")
        info = call.get("media", {}).get("file_info")
        if (kind == 7) != (info is not None) or kind not in (0, 2, 7) or not (text or info):
            raise SiteRefusal("empty", "msg_type does not fit")
        if _ADDRESS.search(text):
            raise SiteRefusal("address", text[:40])
        if info is not None and info not in self.town.files:
            raise SiteRefusal("no_file", info[:40])
        return text, [] if info is None else [self.town.files[info]]

    def _check_reply(self, call: SiteCall, chat: str, seconds: float) -> None:
        answered = self.town.messages.get(chat, {}).get(call["msg_id"])
        pair = (call["msg_id"], call.get("msg_seq", 1))
        if answered is None or answered.is_own:
            raise SiteRefusal("unknown_message", "msg_id")
        if pair in self._pairs:
            raise SiteRefusal("repeated")
        if self.clock.now() - answered.at > seconds:
            raise SiteRefusal("expired", "msg_id")
        if self._replies[answered.id] >= _REPLIES:
            raise SiteRefusal("too_many", "msg_id")
        self._pairs.add(pair)
        self._replies[answered.id] += 1

    def on_download(self, call: SiteCall) -> web.Response:
        """Return the bytes of a file."""
        return self.send_file(call["file"] * ("Authorization" not in call.request.headers))


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()

"""The stand-in machine on loopback: it posts events, repeats them until accepted, and checks
answers. Its rows are in `platform.toml`.

A chat is a route, and a person's text is the event's `text`. Answers are refused unless they are
signed and recent, by its own reading of the standard.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.event_delivery import PushRow, SignedPush
from hermes.testing.site import Site, SiteCall, load_platform
from hermes.testing.stand_in import PersonMessage, Post

SECRET: Final = "whsec_" + base64.b64encode(b"not a real secret of any machine").decode()
ROUTES: Final = ("chat-1", "chat-2")
_KEY: Final = base64.b64decode(SECRET.removeprefix("whsec_"))
_OLDEST_S: Final = 300
_FIELDS: Final = frozenset({"type", "id", "route", "reply_to", "text", "attachments"})
_FILE_FIELDS: Final = (
    {"name", "type", "size", "content"},
    {"name", "type", "problem"},
)


class MachineStandIn(Site):
    """One machine with a route for each of its chats; it repeats only what may be accepted
    later.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        super().__init__(load_platform("hermes.testing.webhook"), clock=clock)
        row = msgspec.convert(self.rows.more["push"], PushRow)
        self._push = self.own(SignedPush(row, _signed, clock=self.clock))
        self._posts: list[Post] = []
        self._made = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        return {
            "routes": {
                name: {
                    "secret": SECRET,
                    "prompt": "{text}",
                    "reply_url": f"{self.url}/replies/{name}",
                }
                for name in ROUTES
            }
        }

    def happen(self, said: PersonMessage) -> tuple[str, list[tuple[str, bytes]]]:
        """Return the id of an event, and the post that tells of it."""
        self._made += 1
        name = said.id or f"evt-{self._made}"
        body = {"type": "said", "id": name, "text": said.text, "by": said.user}
        return name, [(said.chat, msgspec.json.encode(body))]

    async def tell(self, event: tuple[str, bytes]) -> None:
        """Post an event until it is accepted."""
        route, body = event
        await self._push.deliver(body, path=f"/{route}")

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the answers of a route, oldest first."""
        return tuple(post for post in self._posts if post.chat == chat)

    def check_token(self, call: SiteCall) -> None:
        """Refuse every answer while the secret is not good."""
        if self.is_revoked:
            raise SiteRefusal("revoked")

    async def on_reply(self, call: SiteCall) -> web.Response:
        """Act on an answer; a machine that checks no id acts again on a repeated one."""
        body = await call.request.read()
        told = self._checked(call, body)
        files = tuple(one["name"] for one in told["attachments"])
        post = Post(id=told["id"], chat=call["route"], text=told["text"], markup=told["text"])
        post = msgspec.structs.replace(post, reply_to=told["reply_to"], files=files)
        self._posts.append(post)
        return web.Response(status=204)

    def _checked(self, call: SiteCall, body: bytes) -> Json:
        """Return an answer that keeps every rule."""
        headers = call.request.headers
        name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        if not name or not stamp.isdigit():
            raise _bad("webhook-id or webhook-timestamp is missing or malformed")
        if not hmac.compare_digest(headers.get("webhook-signature", ""), _sign(name, stamp, body)):
            raise _bad("webhook-signature does not match")
        if abs(self.clock.now() - int(stamp)) > _OLDEST_S:
            raise _bad("webhook-timestamp is too old")
        told = self.read_object(body)
        if set(told) != _FIELDS or told["id"] != name:
            raise _bad(f"the body has the fields {sorted(told)} or another id than its header")
        if told["route"] != call["route"]:
            raise _bad("the body names another route than the address")
        for one in told["attachments"]:
            _check_file(one)
        return told


def _check_file(told: dict[str, Any]) -> None:
    """Refuse an attachment unless it has its bytes, or says why not."""
    if set(told) not in _FILE_FIELDS:
        raise _bad(f"an attachment has the fields {sorted(told)}")
    if "content" in told and len(base64.b64decode(told["content"], validate=True)) != told["size"]:
        raise _bad("an attachment has another size than its content")


def _bad(rule: str) -> SiteRefusal:
    return SiteRefusal("bad_reply", rule)


def _signed(call: HttpRequest, now: float) -> HttpRequest:
    name, stamp = msgspec.json.decode(call.body)["id"], str(int(now))
    proof = {"webhook-id": name, "webhook-timestamp": stamp}
    proof["webhook-signature"] = _sign(name, stamp, call.body)
    return msgspec.structs.replace(call, headers={**call.headers, **proof})


def _sign(message_id: str, stamp: str, body: bytes) -> str:
    signed = f"{message_id}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(_KEY, signed, hashlib.sha256)).decode()

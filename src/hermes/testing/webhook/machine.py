"""The stand-in machine on loopback: it posts events, repeats them until accepted, and checks
answers.

It fits `hermes.testing.stand_in.StandIn`: a chat is a route, and a person's text is the event's
`text`. Answers are refused unless they are signed and recent, by its own reading of the standard.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec
from aiohttp import web

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.loopback import HttpLoopback
from hermes.testing.stand_in import Fault, PersonMessage, Post, no_rejections

SECRET: Final = "whsec_" + base64.b64encode(b"not a real secret of any machine").decode()
ROUTES: Final = ("chat-1", "chat-2")
_KEY: Final = base64.b64decode(SECRET.removeprefix("whsec_"))
_AGAIN_S: Final = 0.05
_REFUSED_S: Final = 0.3
_OLDEST_S: Final = 300
_FIELDS: Final = frozenset({"type", "id", "route", "reply_to", "text", "attachments"})
_FILE_FIELDS: Final = (
    {"name", "type", "size", "content"},
    {"name", "type", "problem"},
)
# These statuses are permanent.
_FOR_GOOD: Final = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 415, 422})
_STATUS: Final = {"rate_limited": 429, "server_error": 503, "rejected": 410, "unauthorized": 401}


class MachineStandIn:
    """One machine with a route for each of its chats; it repeats only what may be accepted
    later.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._posts: list[Post] = []
        self._rejections = no_rejections()
        self._faults: list[Fault] = []
        self._late: list[tuple[str, str, bytes]] = []
        self._made = 0
        self._target = ""
        self._is_revoked = False
        self._released = asyncio.Event()
        self._http = HttpLoopback()
        self.port = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        return {
            "routes": {
                name: {
                    "secret": SECRET,
                    "prompt": "{text}",
                    "reply_url": f"http://127.0.0.1:{self.port}/replies/{name}",
                }
                for name in ROUTES
            }
        }

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because an answer broke a rule."""
        return tuple(self._rejections)

    async def start(self) -> None:
        """Listen for answers."""
        app = web.Application(client_max_size=8 << 20)
        app.add_routes([web.post("/replies/{route}", self._take)])
        await self._http.start(app)
        self.port = self._http.port

    async def stop(self) -> None:
        """Close every connection."""
        self._released.set()
        await self._http.stop()

    def point_at(self, webhook_url: str) -> None:
        """Post events to this address, followed by the route."""
        self._target = webhook_url.rstrip("/")

    async def say(self, said: PersonMessage) -> str:
        """Post an event until it is accepted; return its id."""
        self._made += 1
        event_id = said.id or f"evt-{self._made}"
        body = msgspec.json.encode({"type": "said", "text": said.text, "by": said.user})
        calls = [(f"{self._target}/{said.chat}", event_id, body)] * said.times
        if said.late:
            self._late += calls
        else:
            calls, self._late = [*calls, *self._late], []
            for url, name, told in calls:
                await self._post(url, name, told)
        return event_id

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the answers of a route, oldest first."""
        return tuple(post for post in self._posts if post.chat == chat)

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        if fault.kind == "refuse_connection":
            self._http.refuse(fault.times * _REFUSED_S)
        else:
            self._faults.extend([fault] * fault.times)

    async def cut(self) -> None:
        """Drop every open connection."""
        await self._http.cut()

    def revoke(self) -> None:
        """Refuse answers with this secret from now on."""
        self._is_revoked = True

    def restore(self) -> None:
        """Accept answers again."""
        self._is_revoked = False

    async def _post(self, url: str, event_id: str, body: bytes) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                stamp = str(int(self._clock.now()))
                headers = {
                    "webhook-id": event_id,
                    "webhook-timestamp": stamp,
                    "webhook-signature": f"v1,{_sign(event_id, stamp, body)}",
                }
                try:
                    async with session.post(url, data=body, headers=headers) as answer:
                        if answer.status >= 300:
                            self._note(answer.status, await answer.text())
                        if answer.status < 300 or answer.status in _FOR_GOOD:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(_AGAIN_S)

    def _note(self, status: int, text: str) -> None:
        if status != 503:
            self._rejections.append(f"an event was answered {status}: {text[:200]}")

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        fault = self._faults.pop(0) if self._faults else None
        if self._is_revoked:
            return web.Response(status=401)
        if fault is not None and fault.kind in _STATUS:
            wait = {"Retry-After": f"{fault.retry_after:g}"}
            return web.Response(status=_STATUS[fault.kind], headers=wait)
        problem = self._problem(request, body)
        if problem is not None:
            self._rejections.append(problem)
            return web.Response(status=400, text=problem)
        self._keep(request, body)
        if fault is None:
            return web.Response(status=204)
        if fault.kind == "hang":
            await self._released.wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)

    def _keep(self, request: web.Request, body: bytes) -> None:
        """Act on an answer; a machine that checks no id acts again on a repeated one."""
        told = msgspec.json.decode(body)
        files = tuple(one["name"] for one in told["attachments"])
        self._posts.append(
            Post(
                id=told["id"],
                chat=request.match_info["route"],
                text=told["text"],
                markup=told["text"],
                reply_to=told["reply_to"],
                files=files,
            )
        )

    def _problem(self, request: web.Request, body: bytes) -> str | None:
        """Return the rule that an answer breaks, if any."""
        headers = request.headers
        message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        shown = headers.get("webhook-signature", "")
        if not message_id or not stamp.isdigit():
            return "webhook-id or webhook-timestamp is missing or malformed"
        if not hmac.compare_digest(shown, f"v1,{_sign(message_id, stamp, body)}"):
            return "webhook-signature does not match"
        if abs(self._clock.now() - int(stamp)) > _OLDEST_S:
            return "webhook-timestamp is too old"
        told = msgspec.json.decode(body)
        if set(told) != _FIELDS or told["id"] != message_id:
            return f"the body has the fields {sorted(told)} or another id than its header"
        if told["route"] != request.match_info["route"]:
            return "the body names another route than the address"
        return next((bad for one in told["attachments"] if (bad := _bad_file(one))), None)


def _bad_file(told: dict[str, Any]) -> str | None:
    """Return what is wrong with an attachment: it has its bytes, or says why not."""
    if set(told) not in _FILE_FIELDS:
        return f"an attachment has the fields {sorted(told)}"
    if "content" in told and len(base64.b64decode(told["content"], validate=True)) != told["size"]:
        return "an attachment has another size than its content"
    return None


def _sign(message_id: str, stamp: str, body: bytes) -> str:
    signed = f"{message_id}.{stamp}.".encode() + body
    return base64.b64encode(hmac.new(_KEY, signed, hashlib.sha256).digest()).decode()

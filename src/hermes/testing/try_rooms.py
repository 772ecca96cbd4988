"""The page of `hermes channels try`: sends what people write and press to the stand-in, and
shows its messages.

On loopback only. A page of another site cannot use it: the host must be ours, and orders are JSON.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp import web

from hermes.testing.stand_in import File, PersonMessage, Post, PostButton

GROUP = "group-1"
Order = TypeVar("Order")
_STATIC = resources.files("hermes.testing") / "try_static"
_KINDS = {"try.css": "text/css", "try.js": "text/javascript"}
_MAX_BODY = 30_000_000
_REJECTIONS = 20
_HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}


class TypedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A text typed into the page."""

    text: str = ""
    chat: str = "chat-1"
    name: str = "Ada"
    mentions: bool = True
    picture: str = ""
    mime: str = "image/png"
    file: str = "picture"


class PressedButton(msgspec.Struct, frozen=True, kw_only=True):
    """A button that somebody presses on the page, under the message `post`."""

    post: str
    value: str
    chat: str = "chat-1"
    name: str = "Ada"


class PlannedFault(msgspec.Struct, frozen=True):
    """A fault to plan."""

    kind: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message as a person sees it."""

    who: str
    text: str
    mine: bool = False
    files: tuple[str, ...] = ()
    edits: int = 0
    deleted: bool = False
    post: str = ""
    buttons: tuple[PostButton, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The messages in a chat of the stand-in."""

    posts: tuple[Post, ...]
    rejections: tuple[str, ...]


class Rooms:
    """The chats of one stand-in, which runs at `control`; not every platform has groups."""

    def __init__(
        self, http: aiohttp.ClientSession, *, control: str, platform: str, has_groups: bool
    ) -> None:
        self._http = http
        self._has_groups = has_groups
        self._control = control
        self._platform = platform
        # The messages of each chat, in order; of a post only its id, since it may be edited.
        self._lines: dict[str, list[Line | str]] = {}

    async def ask(self, verb: str, body: object) -> bytes:
        """Send a request to the stand-in."""
        url = f"{self._control}/{verb}"
        async with self._http.post(url, data=msgspec.json.encode(body)) as answer:
            told = await answer.read()
            if answer.status != 200:
                raise web.HTTPBadRequest(text=told.decode(errors="replace")[:500])
            return told

    async def say(self, written: TypedMessage) -> None:
        """Write as a person."""
        try:
            data = base64.b64decode(written.picture, validate=True)
        except binascii.Error as error:
            raise web.HTTPBadRequest(text=f"the picture is not base64: {error}") from None
        files = (File(data=data, mime=written.mime, name=written.file),) if data else ()
        who = self._person(written.chat, written.name)
        mentions = who.chat_type == "group" and written.mentions
        said = msgspec.structs.replace(who, text=written.text, mentions=mentions, files=files)
        names = tuple(one.name for one in files)
        line = Line(who=who.user_name, text=written.text, mine=True, files=names)
        self._lines.setdefault(written.chat, []).append(line)
        await self.ask("write", said)

    async def press(self, pressed: PressedButton) -> None:
        """Press a button as a person."""
        who = self._person(pressed.chat, pressed.name)
        said = msgspec.structs.replace(who, text=pressed.value, reply_to=pressed.post)
        await self.ask("press", said)

    def _person(self, chat: str, name: str) -> PersonMessage:
        """Return what somebody does in a chat, without what it is."""
        is_group = chat == GROUP
        if is_group and not self._has_groups:
            raise web.HTTPBadRequest(text=f"{self._platform} has no groups")
        name = name.strip() or "Ada"
        return PersonMessage(
            chat=chat,
            chat_type="group" if is_group else "dm",
            user=f"user-{name.lower()}" if is_group else "user-1",
            user_name=name,
        )

    async def state(self, chat: str) -> dict[str, Any]:
        """Return the chat as a person sees it, and recent refusals of the platform."""
        told = await self.ask("state", {"chat": chat})
        state = msgspec.json.decode(told, type=State)
        lines = self._lines.setdefault(chat, [])
        posts = {post.id: post for post in state.posts}
        lines += [post_id for post_id in posts if post_id not in lines]
        shown = (_line_of(posts[one]) if isinstance(one, str) else one for one in lines)
        return {
            "platform": self._platform,
            "has_groups": self._has_groups,
            "lines": tuple(shown),
            "rejections": state.rejections[-_REJECTIONS:],
        }

    async def fault(self, broken: PlannedFault) -> None:
        """Plan a fault for the next reply."""
        if broken.kind == "cut":
            await self.ask("cut", {})
        else:
            await self.ask("plan", {"kind": broken.kind, "retry_after": 3})


def _line_of(post: Post) -> Line:
    return Line(
        who="the bot",
        text=post.text,
        files=post.files,
        edits=post.edits,
        deleted=post.deleted,
        post=post.id,
        buttons=() if post.deleted else post.buttons,
    )


def page_app(rooms: Rooms) -> web.Application:
    """Return the page and its API."""

    async def page(_request: web.Request) -> web.Response:
        return _static("try.html", "text/html")

    async def file(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        return _static(name, _KINDS[name]) if name in _KINDS else web.Response(status=404)

    async def state(request: web.Request) -> web.Response:
        return _json(await rooms.state(request.query.get("chat", "chat-1")[:100]))

    app = web.Application(client_max_size=_MAX_BODY, middlewares=[_only_here])
    app.add_routes(
        [
            web.get("/", page),
            web.get("/state", state),
            web.post("/say", _ordered(TypedMessage, rooms.say)),
            web.post("/press", _ordered(PressedButton, rooms.press)),
            web.post("/fault", _ordered(PlannedFault, rooms.fault)),
            web.get("/{name}", file),
        ]
    )
    return app


@web.middleware
async def _only_here(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer only requests to our own address."""
    if request.host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
        return web.Response(status=403, text="this page works only on the machine that it runs on")
    return await handler(request)


def _ordered(
    kind: type[Order], act: Callable[[Order], Awaitable[None]]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="expected JSON")
        try:
            order = msgspec.json.decode(await request.read(), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise web.HTTPBadRequest(text=str(error)) from None
        await act(order)
        return _json({})

    return handle


def _static(name: str, kind: str) -> web.Response:
    text = (_STATIC / name).read_text(encoding="utf-8")
    return web.Response(text=text, content_type=kind, headers=_HEADERS)


def _json(value: object) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, content_type="application/json", headers=_HEADERS)

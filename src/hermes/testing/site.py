"""The server of a stand-in platform on loopback: its calls, tokens, faults, refusals and rates.

Each platform is a `Site` with a `platform.toml`: which calls there are and what they take, how a
refusal and each fault look there. What is no row is a method `on_NAME` of the platform's own class.
"""

import asyncio
import inspect
import re
import tomllib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from importlib import resources
from typing import Any, ClassVar, Literal, TypeVar

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.call_rules import CallRules, Json, Kinds, SiteRefusal, Upload, fill
from hermes.testing.event_delivery import EventSocket, SignedPush
from hermes.testing.loopback import HttpLoopback, lose
from hermes.testing.stand_in import Fault, FaultKind, PersonMessage, Post, no_rejections, take_fault
from hermes.testing.town import Town, TownMessage

# The faults that come after the effect of a call.
AFTER: frozenset[FaultKind] = frozenset({"reset_after", "hang", "garbage"})
Part = TypeVar("Part", bound=SignedPush | EventSocket)
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class RouteRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call. `at` is its method and path, `takes` its parameters (see `call_rules`).

    `op` is what faults call it, `do` the method that answers it (by default after its name). A row
    with an `answer` needs no method. `token` names the token that it needs, "" for none. `body` says
    whether a JSON body is taken as parameters, as it is (`call.body`), or not read at all.
    """

    at: str = ""
    takes: str = ""
    op: str = "other"
    do: str = ""
    answer: Any = None
    token: str = "bot"
    scopes: tuple[str, ...] = ()
    body: Literal["merge", "object", "raw"] = "merge"
    accepts: tuple[Literal["json", "form"], ...] = ("json", "form")


class RefusalAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a refusal, or a fault, is answered; a `raw` body is no JSON.

    A refusal by a row that is no `is_rule` is not the caller's mistake.
    """

    status: int = 0
    code: str | int = ""
    text: str = ""
    raw: str | None = None
    more: Json = {}
    headers: Mapping[str, str] = {}
    is_rule: bool = True


class Rate(msgspec.Struct, frozen=True):
    """At most `most` messages within some seconds, in all, in each chat, or in each group."""

    scope: Literal["all", "chat", "group"]
    most: int
    within_s: float


class SiteRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [site]: where a call is if its row does not say, and what is the same in all of them.

    `token` is where a token is: `header:NAME` or `path:NAME`. `result` is the name under which an
    answer stands, beside the fields of `success`; `refusal` is the form of every refusal. `refused_s`
    is how long nothing listens for each refused connection.
    """

    at: str = "POST /{call}"
    token: str = "header:Authorization"
    scheme: str = "Bearer "
    success: Json = {}
    result: str = ""
    refusal: Any
    status: int = 400
    refused_s: float = 0.3
    max_body: int = 80 << 20
    json_part: str = ""
    has_nulls: bool = False


class SiteRows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole `platform.toml`; `fault` has a row for each kind, or for `OPERATION.KIND`."""

    site: SiteRow
    ids: Mapping[str, str] = {}
    names: Mapping[str, Any] = {}
    tokens: Mapping[str, str] = {}
    groups: Mapping[str, str] = {}
    objects: Mapping[str, str] = {}
    routes: Mapping[str, RouteRow]
    refusal: Mapping[str, RefusalAnswer] = {}
    fault: Mapping[str, RefusalAnswer]
    rate: tuple[Rate, ...] = ()
    event: Mapping[str, Any] = {}
    more: Mapping[str, Any] = {}


def load_platform(package: str) -> SiteRows:
    """Return the rows of a stand-in's package."""
    text = (resources.files(package) / "platform.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), SiteRows)


class SiteCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call: its checked parameters with those of its path, its whole body, and its files."""

    name: str
    request: web.Request
    row: RouteRow
    params: Json
    body: Any = None
    files: Mapping[str, Upload] = {}

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter, or the default."""
        return self.params.get(name, default)


class Site:
    """One platform with one bot; fits `testing.stand_in.StandIn` with `settings` and `happen`."""

    # Types of parameters beside those of `call_rules`.
    kinds: ClassVar[Kinds] = {}

    def __init__(
        self, rows: SiteRows, *, clock: Clock | None = None, is_limited: bool = False
    ) -> None:
        self.rows = rows
        self.clock = clock or SystemClock()
        self.town = Town(rows.ids, clock=self.clock)
        self.tokens = dict(rows.tokens)
        self.scopes = frozenset(scope for row in rows.routes.values() for scope in row.scopes)
        self.rates = rows.rate if is_limited else ()
        # Every call, with `ok`, its fault, or the name of its refusal.
        self.log: list[tuple[str, str]] = []
        self.is_revoked = False
        self._rules = CallRules(
            {name: row.takes for name, row in rows.routes.items()},
            groups=rows.groups,
            objects=rows.objects,
            kinds=self.kinds,
        )
        self._rejections = no_rejections()
        self._faults: list[Fault] = []
        self._late: list[Any] = []
        self._sent: dict[str, deque[float]] = {}
        self._released = asyncio.Event()
        self._http = HttpLoopback()
        self._parts: list[SignedPush | EventSocket] = []
        self._aside: set[asyncio.Task[Any]] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._http.port

    @property
    def is_listening(self) -> bool:
        """Whether connections are accepted."""
        return self._http.is_listening

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def _names(self) -> Json:
        return {**self.rows.names, "url": self.url, "ws": self.url.replace("http", "ws", 1)}

    @property
    def calls(self) -> list[str]:
        """The names of all calls."""
        return [name for name, _ in self.log]

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule, with the rule."""
        told = (one for part in self._parts for one in part.rejections)
        return (*self._rejections, *told)

    def own(self, part: Part) -> Part:
        """Return a part whose rejections count as the platform's, and that ends with it."""
        self._parts.append(part)
        return part

    async def start(self, port: int = 0) -> None:
        """Listen; again on the same port as before."""
        app = web.Application(client_max_size=self.rows.site.max_body)
        for name, row in self.rows.routes.items():
            method, _, path = (row.at or self.rows.site.at.replace("{call}", name)).partition(" ")
            app.router.add_route(method, path, self._handler(name, row))
        app.router.add_route("*", "/{tail:.*}", self._unknown)
        await self._http.start(app, port=port or self.port)

    async def stop(self) -> None:
        """Close every connection."""
        self._released.set()
        for task in self._aside:
            task.cancel()
        await asyncio.gather(*self._aside, return_exceptions=True)
        for part in self._parts:
            await part.close()
        await self._http.stop()

    def run_aside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside everything else, until the platform stops."""
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    def point_at(self, webhook_url: str) -> None:
        """Send events to this address, if the platform calls webhooks."""
        for part in self._parts:
            if isinstance(part, SignedPush):
                part.url = webhook_url.rstrip("/")

    # Any: an event is whatever `tell` of the platform takes.
    def happen(self, said: PersonMessage) -> tuple[str, list[Any]]:
        """Return the id of what a person does, and its events."""
        raise NotImplementedError

    async def tell(self, event: Any) -> None:
        """Send one event to the bot; return once it has accepted it."""
        raise NotImplementedError

    async def tell_all(self, events: list[Any]) -> None:
        """Send events to the bot, one after the other."""
        for event in events:
            await self.tell(event)

    async def say(self, said: PersonMessage) -> str:
        """Act as a person; return the event's id there, once the bot has accepted it."""
        name, events = self.happen(said)
        told = events * max(1, said.times)
        if said.late:
            self._late += told
        else:
            told, self._late = [*told, *self._late], []
            await self.tell_all(told)
        return name

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        return self.town.posts(chat, self.shown)

    def shown(self, message: TownMessage) -> Post:
        """Return a message as people see it."""
        return Post(
            id=message.id,
            chat=message.chat,
            text=message.text,
            markup=message.markup,
            thread=message.thread,
            reply_to=message.reply_to,
            edits=len(message.before),
            files=tuple(file.name for file in message.files),
            deleted=message.is_deleted,
        )

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        if fault.kind == "refuse_connection":
            self._http.refuse(fault.times * self.rows.site.refused_s)
        else:
            self._faults.append(fault)

    async def cut(self) -> None:
        """Drop every open connection of the bot, like a network failure."""
        await self._http.cut()

    def revoke(self) -> None:
        """Invalidate the bot's credential from now on."""
        self.is_revoked = True

    def restore(self) -> None:
        """Make the bot's credential valid again."""
        self.is_revoked = False

    def release(self) -> None:
        """Release the calls that hang."""
        self._released.set()
        self._released = asyncio.Event()

    def pace(self, chat: str, *, is_group: bool = False) -> None:
        """Refuse a message that is faster than the rates allow."""
        now = self.clock.monotonic()
        kept: list[deque[float]] = []
        for rate in self.rates:
            if rate.scope == "group" and not is_group:
                continue
            key = f"{rate.scope} {'' if rate.scope == 'all' else chat} {rate.within_s}"
            sent = self._sent.setdefault(key, deque(maxlen=rate.most))
            if len(sent) == rate.most and now - sent[0] < rate.within_s:
                raise SiteRefusal("too_fast", "too soon", wait=sent[0] + rate.within_s - now)
            kept.append(sent)
        for sent in kept:
            sent.append(now)

    async def on_socket(self, call: SiteCall) -> web.StreamResponse:
        """Serve a connection of the platform's socket."""
        (socket,) = (part for part in self._parts if isinstance(part, EventSocket))
        return await socket.serve(call.request)

    def send_file(self, name: str) -> web.Response:
        """Return the bytes of a file; the row `no_such_file` refuses one that is not there."""
        file = self.town.files.get(name)
        if file is None or file.data is None:
            raise SiteRefusal("no_such_file")
        return web.Response(body=file.data, content_type=file.mime)

    def on_download(self, call: SiteCall) -> web.Response:
        """Return the bytes of a file that is named in the address."""
        return self.send_file(call["file"])

    def event(self, name: str, /, **values: object) -> Any:
        """Return an event of this row, filled with the values and the fixed names."""
        return fill(self.rows.event[name], {**self._names, **values})

    def operation(self, call: SiteCall) -> str:
        """Return what faults call a call."""
        return call.row.op

    def read_object(self, body: bytes) -> Json:
        """Return a JSON body."""
        try:
            found = msgspec.json.decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise SiteRefusal("bad_json", "the body is not JSON") from None
        if not isinstance(found, dict):
            raise SiteRefusal("not_object", "the body is not an object")
        return found

    def check_token(self, call: SiteCall) -> None:
        """Refuse a call without the token that its row names."""
        place, _, name = self.rows.site.token.partition(":")
        request, scheme, wanted = call.request, self.rows.site.scheme, call.row.token
        shown = request.match_info.get(name) if place == "path" else request.headers.get(name)
        if not wanted:
            return
        if not shown or not shown.startswith(scheme):
            raise SiteRefusal("no_token", "no token")
        token = shown.removeprefix(scheme)
        if self.is_revoked and token in self.tokens.values():
            raise SiteRefusal("revoked")
        if token not in self.tokens.values():
            raise SiteRefusal("bad_token", "another token")
        if token != self.tokens[wanted]:
            raise SiteRefusal("wrong_token", call.name)
        if wanted == "bot" and call.row.scopes and not self.scopes & set(call.row.scopes):
            provided = ",".join(sorted(self.scopes))
            raise SiteRefusal("missing_scope", needed=call.row.scopes[0], provided=provided)

    def answer(self, found: Any) -> web.StreamResponse:
        """Return a successful answer."""
        if isinstance(found, web.StreamResponse):
            return found
        row = self.rows.site
        told = {row.result: found} if row.result else found
        return _json({**row.success, **told} if row.success else told, 200)

    def _handler(self, name: str, row: RouteRow) -> Callable[..., Awaitable[web.StreamResponse]]:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", row.do or name).lower()
        act = None if row.answer is not None else getattr(self, f"on_{words}")

        async def handle(request: web.Request) -> web.StreamResponse:
            params = dict(request.match_info)
            call = SiteCall(name=name, request=request, row=row, params=params)
            fault: Fault | None = None
            try:
                self.check_token(call)
                call, is_form = await self._read(call)
                fault = take_fault(
                    self._faults, self.operation(call), chat=partial(self.fault_chat, call)
                )
                if fault is not None and fault.kind not in AFTER:
                    return await self._failed(call, fault)
                found = await self._perform(call, act, is_form=is_form)
                self.check_token(call)
            except SiteRefusal as refused:
                return self._refused(call, refused)
            self.note(call, "ok" if fault is None else fault.kind)
            if fault is not None and fault.kind == "garbage":
                return web.Response(text="<html>proxy</html>", content_type="text/html")
            if fault is not None:
                await lose(request, fault, self._released)
            return self.answer(found)

        return handle

    def call_name(self, call: SiteCall) -> str:
        """Return what the log calls a call."""
        return call.name

    def note(self, call: SiteCall, outcome: str) -> None:
        """Put what became of a call into the log."""
        self.log.append((self.call_name(call), outcome))

    def fault_chat(self, call: SiteCall) -> str | None:
        """Return the chat of a call, for faults of one chat."""
        found = call.get("chat")
        return found if isinstance(found, str) else None

    async def _perform(self, call: SiteCall, act: Any, *, is_form: bool) -> Any:
        if call.row.body == "merge":
            checked = self._rules.check(call.name, call.params, is_form=is_form)
        else:
            checked = self._rules.check(call.name, dict(call.request.query), is_form=True)
        call = msgspec.structs.replace(call, params={**call.request.match_info, **checked})
        if act is None:
            return fill(call.row.answer, {**self._names, **call.params})
        found = act(call)
        return await found if inspect.isawaitable(found) else found

    async def _read(self, call: SiteCall) -> tuple[SiteCall, bool]:
        """Return a call with what it was given, and whether that came as texts."""
        request, row = call.request, call.row
        given: Json = dict(request.query)
        if row.body == "raw" or not request.can_read_body:
            return msgspec.structs.replace(call, params=given), True
        if row.body == "object":
            body = self.read_object(await self._json_body(request))
            return msgspec.structs.replace(call, params=given, body=body), True
        files: dict[str, Upload] = {}
        if request.content_type in _FORMS and "form" in row.accepts:
            for name, value in (await request.post()).items():
                if isinstance(value, web.FileField):
                    given[name] = files[name] = Upload(
                        value.filename, value.content_type, value.file.read()
                    )
                else:
                    given[name] = value
            part = given.pop(self.rows.site.json_part, None)
            given |= {} if part is None else self.read_object(part.encode())
            return msgspec.structs.replace(call, params=given, files=files), part is None
        read = await self._json_body(request)
        if "json" not in row.accepts and read not in (b"", b"{}"):
            raise SiteRefusal("not_json", f"{call.name} does not accept JSON")
        body = self.read_object(read)
        if self.rows.site.has_nulls:
            body = {name: value for name, value in body.items() if value is not None}
        return msgspec.structs.replace(call, params={**given, **body}), False

    async def _json_body(self, request: web.Request) -> bytes:
        read = await request.read()
        if read and request.content_type != "application/json":
            raise SiteRefusal("content_type", f"a body of the type {request.content_type}")
        return read

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        call = SiteCall(name=name, request=request, row=RouteRow(), params={})
        try:
            self.check_token(call)
        except SiteRefusal as refused:
            return self._refused(call, refused)
        return self._refused(call, SiteRefusal("unknown_call", name[:80]))

    async def _failed(self, call: SiteCall, fault: Fault) -> web.Response:
        """Answer a call with a fault that comes before its effect."""
        self.note(call, fault.kind)
        if fault.kind in ("reset_before", "hang_before"):
            await lose(call.request, fault, self._released)
        own = self.rows.fault.get(f"{self.operation(call)}.{fault.kind}")
        refused = SiteRefusal(fault.kind, wait=fault.retry_after)
        return self._shaped(refused, own or self.rows.fault[fault.kind])

    def _refused(self, call: SiteCall, refused: SiteRefusal) -> web.Response:
        """Answer a call with a refusal."""
        row = self.rows.refusal.get(refused.name) or RefusalAnswer(code=refused.name)
        name, code = self.call_name(call), row.code or row.status
        self.note(call, str(code))
        if refused.rule and row.is_rule:
            self._rejections.append(f"{name}: {code} ({refused.rule})")
        return self._shaped(refused, row)

    def _shaped(self, refused: SiteRefusal, row: RefusalAnswer) -> web.Response:
        status = row.status or self.rows.site.status
        wait_s = max(1, round(refused.wait)) if refused.wait is not None else None
        values: Json = {"rule": refused.rule, "wait": wait_s, "status": status, "code": row.code}
        values |= {"wait_s": refused.wait, "wait_ms": int((refused.wait or 0) * 1000)}
        values |= refused.more
        values["text"] = fill(row.text, values)
        headers = {name: str(value) for name, value in fill(dict(row.headers), values).items()}
        if row.raw is not None:
            return web.Response(status=status, text=row.raw, headers=headers)
        body = {**fill(self.rows.site.refusal, values), **fill(row.more, values), **refused.more}
        return _json(body, status, headers)


def _json(value: object, status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(value)
    answer = web.Response(body=body, status=status, headers=headers)
    answer.content_type = "application/json"
    return answer

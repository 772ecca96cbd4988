"""A gateway on a loopback port: the real server and channels over the in-memory door.

`Gateway` is all that the HTTP and browser tests know. Another fixture can hand out the same
value over the whole gateway; then only `script` has to be played by its model.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from starlette.routing import Route
from starlette.types import ASGIApp

from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.control.audited import AuditedActions
from hermes.control.order import Actor
from hermes.control.orders import ORDERS
from hermes.errors import NotFound, Unauthenticated
from hermes.http.same_origin import Origins
from hermes.media.cache import CacheRules, MediaCache
from hermes.message.ids import make_id
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel import Accept, Capabilities, HttpRequest, HttpResponse
from hermes.ports.clock import SystemClock
from hermes.server.app import build_app
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import ControlGate, control_routes
from hermes.server.dashboard.routes import dashboard_routes
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.server.webhooks import WebhookLimits
from hermes.sessions.commands import CommandBook
from hermes.testing.access import MemoryAccessStore
from hermes.testing.audit import MemoryAudit
from hermes.testing.gateway_api import MemoryGatewayApi, Script

LOCAL_TOKEN = "local-secret"


@dataclass
class Options:
    """What a test may set before the gateway starts."""

    rest: RestSettings = field(default_factory=RestSettings)
    web: WebSettings = field(default_factory=WebSettings)
    public_url: str | None = None
    demo: bool = True
    model: str = "scripted"
    earlier_messages: int = 5
    models: tuple[str, ...] = ("scripted:one", "scripted:two")
    files: CacheRules = field(default_factory=CacheRules)


@dataclass
class Gateway:
    """A running gateway and what its tests hold in their hands."""

    url: str
    token: str
    access: StoredAccess
    gateway_api: MemoryGatewayApi
    script: Script
    reasons: list[str]
    files: MediaCache
    audit: MemoryAudit = field(default_factory=MemoryAudit)
    local_token: str = LOCAL_TOKEN

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    @property
    def local(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.local_token}"}

    async def link(self) -> str:
        return f"{self.url}/signin?code={await self.access.make_signin_code()}"

    async def cookie(self) -> dict[str, str]:
        session = await self.access.sign_in(await self.access.make_signin_code())
        return {"cookie": f"hermes_session={session}", "origin": self.url}


class EchoWebhook:
    """A webhook channel that authenticates by a header and says what it was given."""

    name = "echo"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(delivery="push", unknown="allow")

    async def connect(self, accept: Accept) -> None:
        pass

    async def disconnect(self) -> None:
        pass

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        if request.headers.get("x-signature") != "good":
            raise Unauthenticated("The signature does not fit the body.")
        if request.body == b"break":
            raise RuntimeError("a secret from inside")
        text = f"{request.method} {request.path} {request.query} ".encode() + request.body
        return HttpResponse(status=201, body=text, content_type="text/plain", headers={"x-a": "b"})


@asynccontextmanager
async def running_gateway(options: Options) -> AsyncIterator[Gateway]:
    """Start a gateway on a free loopback port; ends it and every turn afterwards."""
    access = StoredAccess(MemoryAccessStore(), clock=SystemClock(), local_token=LOCAL_TOKEN)
    script = Script()
    gateway_api = MemoryGatewayApi(script, access=access, clock=SystemClock(), make_id=make_id)
    listener = bind("127.0.0.1", 0)
    home = TemporaryDirectory()
    gateway = Gateway(
        url=address_of(listener),
        token=await access.make_token("test"),
        access=access,
        gateway_api=gateway_api,
        script=script,
        reasons=[],
        files=MediaCache(
            Path(home.name) / "media", HttpClient(HttpSettings()), rules=options.files
        ),
    )
    server = HttpServer(_app(gateway, options), listener, settings=ServeSettings(stop_s=1))
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await server.wait_started()
        try:
            yield gateway
        finally:
            await gateway_api.close()
            server.stop()
            home.cleanup()


def _app(gateway: Gateway, options: Options) -> ASGIApp:
    async def info() -> dict[str, object]:
        files = {"most": gateway.files.most_files, "bytes": gateway.files.most_bytes}
        own = {"earlier_messages": options.earlier_messages, "files": files}
        return {"model": options.model, "demo": options.demo, **own}

    async def menu() -> dict[str, object]:
        listed = [{"name": one.name, "use": one.use, "about": one.about} for one in CommandBook()]
        return {"commands": listed, "models": options.models}

    async def story(message_id: str) -> object:
        status = await gateway.gateway_api.message(message_id)
        assert status is not None
        reason = "" if status.result is None else status.result.reason
        lines = [{"at": 0.0, "after_s": 0.0, "what": "accepted", "data": {"platform": "web"}}]
        return {"id": message_id, "answer": f"It ended; because {reason}.", "lines": lines}

    origins = Origins(bound_host="127.0.0.1", public_url=options.public_url)
    rest = RestChannel(
        options.rest,
        capabilities=load_capabilities("hermes.channels.rest"),
        origins=origins,
        clock=SystemClock(),
        make_id=make_id,
        attachments=gateway.files,
    )
    web = WebChannel(
        options.web,
        capabilities=load_capabilities("hermes.channels.web"),
        access=gateway.access,
        info=info,
        story=story,
        origins=origins,
        clock=SystemClock(),
        make_id=make_id,
        files=gateway.files,
        menu=menu,
    )
    gate = _gate(gateway, origins)
    return build_app(
        gateway.gateway_api,
        channels=[rest, web],
        webhooks={"echo": EchoWebhook()},
        control=_control(gateway, gate),
        ready=lambda: gateway.reasons,
        origins=origins,
        make_id=make_id,
        limits=WebhookLimits(body_bytes=1000),
        more_routes=dashboard_routes(gateway.gateway_api, gate),
    )


async def _nobody(_platform: str, _user_id: str) -> None:
    return None


def _gate(gateway: Gateway, origins: Origins) -> ControlGate:
    audited = AuditedActions(
        gateway.audit,
        person_of=_nobody,
        digest=lambda content: sha256(content).digest(),
        clock=SystemClock(),
        make_id=make_id,
    )
    return ControlGate(gateway.gateway_api, audited, origins=origins)


def _control(gateway: Gateway, gate: ControlGate) -> tuple[Route, ...]:
    """Return the routes of every order; each repeats its request, but for a few."""

    # Any: requests and reports of many types; here they need not be those of the table.
    async def link(_operations: Any, _request: Any, _actor: Actor) -> object:
        return {"url": await gateway.link()}

    own = {"access.link": link, "gateway.status": _status, "consent.show": _consent}
    own |= {"messages.why": _why, "messages.read": _why}
    # Any: no function of these orders looks at the operations.
    nothing: Any = None
    return control_routes(
        gate,
        nothing,
        orders=[msgspec.structs.replace(one, run=own.get(one.name, _repeat)) for one in ORDERS],
    )


async def _repeat(_operations: Any, request: Any, _actor: Actor) -> object:
    return request


async def _status(_operations: Any, _request: Any, _actor: Actor) -> object:
    return {"state": "connected"}


async def _consent(_operations: Any, request: Any, _actor: Actor) -> object:
    return {"user": request.user, "may_train": False}


async def _why(_operations: Any, request: Any, _actor: Actor) -> object:
    if request.id != "m/1":
        raise NotFound(f"No message is known as {request.id!r}.")
    return {"id": request.id}

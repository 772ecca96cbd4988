"""A gateway on a loopback port: the real server and channels over the in-memory door.

`Gateway` is all that the HTTP and browser tests know. Another fixture can hand out the same
value over the whole gateway; then only `script` has to be played by its model.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from starlette.types import ASGIApp

from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.config import Settings, load
from hermes.control.audited import Actor, AuditedActions
from hermes.control.consent import ConsentAsk, ConsentOrder
from hermes.control.credits import GrantOrder, ReferOrder, RefundOrder, WalletAsk, WalletsAsk
from hermes.control.cron import JobAsk, JobOrder, JobsAsk, NewJobOrder
from hermes.control.interactions import InteractionAsk
from hermes.control.keys import KeyEnd, NewKey
from hermes.control.mcp import McpOperations
from hermes.control.memory import DreamOrder, FactOrder, ForgetOrder, MemoryAsk
from hermes.control.pairing import PairApproval, PairOrder
from hermes.control.search import SearchOrder
from hermes.control.spending import CostAsk, SwitchOrder
from hermes.control.tokens import LinkWish
from hermes.control.users import LinkOrder, TierOrder, UserAsk, UserOrder, UsersAsk
from hermes.errors import Unauthenticated
from hermes.http.same_origin import Origins
from hermes.message.ids import make_id
from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel import Accept, Capabilities, HttpRequest, HttpResponse
from hermes.ports.clock import SystemClock
from hermes.routing.plan import CallNeeds
from hermes.server.app import build_app
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import Control
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.server.webhooks import WebhookLimits
from hermes.testing.access import MemoryAccessStore
from hermes.testing.audit import MemoryAudit
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from hermes.tools.mcp.servers import McpServers

LOCAL_TOKEN = "local-secret"


@dataclass
class Options:
    """What a test may set before the gateway starts."""

    rest: RestSettings = field(default_factory=RestSettings)
    web: WebSettings = field(default_factory=WebSettings)
    public_url: str | None = None
    demo: bool = True
    model: str = "scripted"


@dataclass
class Gateway:
    """A running gateway and what its tests hold in their hands."""

    url: str
    token: str
    access: StoredAccess
    gateway_api: MemoryGatewayApi
    script: Script
    reasons: list[str]
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
    gateway = Gateway(
        url=address_of(listener),
        token=await access.make_token("test"),
        access=access,
        gateway_api=gateway_api,
        script=script,
        reasons=[],
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


def _app(gateway: Gateway, options: Options) -> ASGIApp:
    async def info() -> dict[str, object]:
        return {"model": options.model, "demo": options.demo}

    origins = Origins(bound_host="127.0.0.1", public_url=options.public_url)
    rest = RestChannel(
        options.rest,
        capabilities=load_capabilities("hermes.channels.rest"),
        origins=origins,
        clock=SystemClock(),
        make_id=make_id,
    )
    web = WebChannel(
        options.web,
        capabilities=load_capabilities("hermes.channels.web"),
        access=gateway.access,
        info=info,
        origins=origins,
        clock=SystemClock(),
        make_id=make_id,
    )
    return build_app(
        gateway.gateway_api,
        channels=[rest, web],
        webhooks={"echo": EchoWebhook()},
        control=_control(gateway),
        ready=lambda: gateway.reasons,
        origins=origins,
        make_id=make_id,
        limits=WebhookLimits(body_bytes=1000),
    )


def _control(gateway: Gateway) -> Control:
    async def status() -> object:
        return {"state": "connected"}

    async def why(name: str, _include_text: bool) -> object | None:
        return {"id": name} if name == "m/1" else None

    async def models() -> object:
        return {"models": []}

    async def route(ask: CallNeeds) -> object:
        return {"candidates": [], "prompt": ask.prompt}

    async def link(wish: LinkWish, actor: Actor) -> object:
        return {"url": await gateway.link()}

    async def token(_actor: Actor) -> object:
        return {"token": await gateway.access.make_token("test")}

    return Control(
        status=status,
        why=why,
        models=models,
        route=route,
        link=link,
        token=token,
        create_key=_create_key,
        keys=_keys,
        revoke_key=_revoke_key,
        kill_switch=_kill_switch,
        set_kill_switch=_set_kill_switch,
        costs=_costs,
        interactions=_interactions,
        consent=_consent,
        set_consent=_set_consent,
        credits=_Credits(),
        memory=_Memory(),
        users=_Users(),
        pairing=_Pairing(),
        cron=_Cron(),
        search=_Search(),
        mcp=McpOperations(McpServers(Settings().mcp, clock=SystemClock()), partial(load, {}, None)),
        reload=_reload,
        audited=AuditedActions(
            gateway.audit,
            person_of=lambda _platform, _user_id: None,
            digest=lambda content: sha256(content).digest(),
            clock=SystemClock(),
            make_id=make_id,
        ),
    )


class _Users:
    """Repeats what it is asked."""

    async def list(self, ask: UsersAsk) -> object:
        return ask

    async def show(self, ask: UserAsk) -> object:
        return ask

    async def add(self, order: UserOrder) -> object:
        return order

    async def activate(self, order: UserOrder) -> object:
        return order

    async def block(self, order: UserOrder) -> object:
        return order

    async def link(self, order: LinkOrder) -> object:
        return order

    async def unlink(self, order: UserOrder) -> object:
        return order

    async def set_tier(self, order: TierOrder) -> object:
        return order

    async def erase(self, order: UserOrder) -> object:
        return order


class _Cron:
    """Repeats what it is asked."""

    async def list(self, ask: JobsAsk) -> object:
        return ask

    async def show(self, ask: JobAsk) -> object:
        return ask

    async def add(self, order: NewJobOrder) -> object:
        return order

    async def pause(self, order: JobOrder) -> object:
        return order

    async def resume(self, order: JobOrder) -> object:
        return order

    async def run(self, order: JobOrder) -> object:
        return order

    async def remove(self, order: JobOrder) -> object:
        return order


class _Pairing:
    """Repeats what it is asked."""

    async def list(self) -> object:
        return {"waiting": []}

    async def approve(self, order: PairApproval) -> object:
        return order

    async def deny(self, order: PairOrder) -> object:
        return order

    async def revoke(self, order: PairOrder) -> object:
        return order


class _Search:
    """Repeats what it is asked."""

    async def find(self, order: SearchOrder) -> object:
        return order

    async def state(self) -> object:
        return {"messages": 0}

    async def rebuild(self) -> object:
        return {"messages": 0}


class _Memory:
    """Repeats what it is asked."""

    async def show(self, ask: MemoryAsk) -> object:
        return ask

    async def set(self, order: FactOrder) -> object:
        return order

    async def forget(self, order: ForgetOrder) -> object:
        return order

    async def dream(self, order: DreamOrder) -> object:
        return order

    async def record(self, ask: MemoryAsk) -> object:
        return ask


class _Credits:
    """Repeats what it is asked."""

    async def show(self, ask: WalletAsk) -> object:
        return ask

    async def list(self, ask: WalletsAsk) -> object:
        return ask

    async def grant(self, order: GrantOrder) -> object:
        return order

    async def refund(self, order: RefundOrder) -> object:
        return order

    async def refer(self, order: ReferOrder) -> object:
        return order

    async def audit(self) -> object:
        return {"wrong": 0}


async def _create_key(new: NewKey) -> object:
    return {"user": new.user}


async def _keys() -> object:
    return {"keys": []}


async def _revoke_key(end: KeyEnd) -> object:
    return {"id": end.id}


async def _kill_switch() -> object:
    return {"is_on": False}


async def _set_kill_switch(order: SwitchOrder) -> object:
    return {"is_on": order.is_on}


async def _reload() -> object:
    return {"applied": []}


async def _interactions(ask: InteractionAsk) -> object:
    return {"interactions": []}


async def _costs(ask: CostAsk) -> object:
    return {"by": ask.by, "days": ask.days}


async def _consent(ask: ConsentAsk) -> object:
    return {"user": ask.user, "may_train": False}


async def _set_consent(order: ConsentOrder) -> object:
    return {"user": order.user, "may_train": order.may_train}

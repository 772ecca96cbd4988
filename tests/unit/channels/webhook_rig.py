"""A channel that hears by webhook with its stand-in, in one process: what the tests of Meta's platforms
and of SMS hold in their hands."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from hermes.errors import HermesError
from hermes.message.event import MessageEvent
from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import (
    Acceptance,
    ArrivedDelivery,
    Delivery,
    HttpRequest,
    HttpResponse,
    ReturnedDelivery,
    Target,
)
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.channel_state import PlatformState
from hermes.testing.channel_state import memory_state
from hermes.testing.manual_time import ManualClock
from hermes.testing.setup_channel import channel_setup


@dataclass
class Inbox:
    """Keeps events, once each, or fails as it was told, by the event's id."""

    events: list[MessageEvent] = field(default_factory=list)
    failures: dict[str, list[HermesError]] = field(default_factory=dict)

    async def accept(self, event: MessageEvent) -> Acceptance:
        assert msgspec.json.decode(msgspec.json.encode(event), type=MessageEvent) == event
        if errors := self.failures.get(event.external_id):
            raise errors.pop(0)
        is_known = any(one.external_id == event.external_id for one in self.events)
        if not is_known:
            self.events.append(event)
        return Acceptance(message_id=event.external_id, duplicate=is_known)

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events]


@dataclass
class Rig:
    # Any: each test knows its own channel and stand-in.
    channel: Any
    site: Any
    setup: ChannelSetup
    clock: ManualClock
    inbox: Inbox = field(default_factory=Inbox)
    arrived: list[ArrivedDelivery] = field(default_factory=list)
    returned: list[ReturnedDelivery] = field(default_factory=list)

    def delivery(self, chat: str, *parts: Part | str, key: str = "o_1.0") -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        return Delivery(id="o_1", target=self.target(chat), parts=given, key=key)

    def target(self, chat: str) -> Target:
        return Target(platform=self.setup.name, account="default", chat_id=chat)

    async def call(self, body: bytes, *, path: str = "", **headers: str) -> HttpResponse:
        """Call the webhook with a signed body; `headers` replace those of the platform."""
        push = self.site.push
        signed = push.signed(body, headers.pop("kind", "application/json"), path=path)
        shown = {**signed.headers, **{key.replace("_", "-"): one for key, one in headers.items()}}
        return await self.webhook(msgspec.structs.replace(signed, headers=shown))

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Call the webhook as it is; the path is what follows its address."""
        path, _, query = request.path.partition("?")
        pairs = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
        whole = msgspec.structs.replace(
            request,
            path=f"/webhooks/{self.setup.name}{path}",
            query={**request.query, **pairs},
            query_string=query,
        )
        answer: HttpResponse = await self.channel.webhook(whole)
        return answer


@asynccontextmanager
async def webhook_rig(
    site: Any,
    make: Callable[[ChannelSetup], Any],
    *,
    package: str,
    file: str = "manifest.toml",
    state: PlatformState | None = None,
    connect: bool = True,
    public_url: str = "",
    **settings: Any,
) -> AsyncIterator[Rig]:
    """Run the stand-in, and a channel whose webhook it calls."""
    await site.start()
    client = HttpClient(HttpSettings(timeout_s=2.0))
    clock = ManualClock()
    site.clock = site.town.clock = clock
    name = file.removesuffix(".toml") if file != "manifest.toml" else package.rpartition(".")[2]
    listening = web.AppRunner(web.Application())
    rig: Rig | None = None

    async def handle(request: web.Request) -> web.StreamResponse:
        assert rig is not None
        headers = {key.lower(): value for key, value in request.headers.items()}
        call = HttpRequest(
            method=request.method,
            path=request.path,
            query=dict(request.query),
            query_string=request.query_string,
            headers=headers,
            body=await request.read(),
        )
        answer = await rig.channel.webhook(call)
        return web.Response(
            status=answer.status,
            body=answer.body,
            content_type=answer.content_type.partition(";")[0],
        )

    listening.app.router.add_route("*", f"/webhooks/{name}{{rest:.*}}", handle)
    await listening.setup()
    await web.TCPSite(listening, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{listening.addresses[0][1]}/webhooks/{name}"
    made = channel_setup(
        package,
        {**site.settings, **settings},
        client=client,
        clock=clock,
        state=state or memory_state(name),
        file=file,
    )
    told_arrived: list[ArrivedDelivery] = []
    told_returned: list[ReturnedDelivery] = []

    async def arrived(there: ArrivedDelivery) -> None:
        told_arrived.append(there)

    async def returned(back: ReturnedDelivery) -> None:
        told_returned.append(back)

    made = msgspec.structs.replace(
        made, webhook_url=public_url or url, arrived=arrived, returned=returned
    )
    site.point_at(url)
    rig = Rig(make(made), site, made, clock, arrived=told_arrived, returned=told_returned)
    try:
        if connect:
            await rig.channel.connect(rig.inbox.accept)
        yield rig
    finally:
        await rig.channel.disconnect()
        await site.stop()
        await listening.cleanup()
        await client.close()

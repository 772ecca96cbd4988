"""A Slack channel with its stand-in, in one process: what the Slack tests hold in their hands."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from aiohttp import web

from hermes.channels.slack.channel import SlackChannel, make
from hermes.errors import HermesError
from hermes.http.errors import error_response
from hermes.media.cache import MediaCache
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Acceptance, ArrivedDelivery, Delivery, HttpRequest, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import MemoryChannelState
from hermes.testing.slack.platform import SlackStandIn

MANIFEST = load_manifest("hermes.channels.slack")


@dataclass
class Inbox:
    """Keeps events, once each, or fails as it was told."""

    events: list[MessageEvent] = field(default_factory=list)
    calls: list[MessageEvent] = field(default_factory=list)
    failures: list[HermesError] = field(default_factory=list)
    are_strangers: bool = False

    async def accept(self, event: MessageEvent) -> Acceptance:
        # As the inbox does: what cannot be written down and read again is no event.
        assert msgspec.json.decode(msgspec.json.encode(event), type=MessageEvent) == event
        self.calls.append(event)
        if self.failures:
            raise self.failures.pop(0)
        known = [one for one in self.events if one.external_id == event.external_id]
        if not known:
            self.events.append(event)
        return Acceptance(
            message_id=event.external_id, duplicate=bool(known), is_stranger=self.are_strangers
        )

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events]


class BreakableState(MemoryChannelState):
    """A state that takes nothing while it is told an error."""

    def __init__(self, broken: list[HermesError]) -> None:
        super().__init__()
        self._broken = broken

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        for error in self._broken:
            raise error
        await super().put(platform, key, value=value, fence=fence)


@dataclass
class Rig:
    slack: SlackStandIn
    channel: SlackChannel
    inbox: Inbox
    client: HttpClient
    folder: Path
    state: PlatformState
    broken: list[HermesError]
    arrived: list[ArrivedDelivery]

    def speak(self, **settings: Any) -> SlackChannel:
        """Return another channel to the same workspace."""
        return make_channel(
            self.slack, self.client, folder=self.folder, state=self.state, settings=settings
        )

    def delivery(self, chat: str, *parts: Part | str, key: str = "k1", **target: Any) -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        return Delivery(id="o_1", target=self.target(chat, **target), parts=given, key=key)

    def target(self, chat: str, **more: Any) -> Target:
        chat_id = self.slack.find_chat(chat).id
        return Target(platform="slack", account="default", chat_id=chat_id, **more)


def make_channel(
    slack: SlackStandIn,
    client: HttpClient,
    *,
    folder: Path,
    state: PlatformState,
    settings: dict[str, Any] | None = None,
    arrived: list[ArrivedDelivery] | None = None,
) -> SlackChannel:
    async def tell(told: ArrivedDelivery) -> None:
        # As the outbox: it is on disk when this returns.
        await state.put("arrived", told.key.encode())
        if arrived is not None:
            arrived.append(told)

    return make(
        ChannelSetup(
            name="slack",
            account="default",
            settings=read_settings(MANIFEST, {**slack.settings, **(settings or {})}),
            capabilities=MANIFEST.capabilities,
            client=client,
            clock=SystemClock(),
            make_id=make_id,
            media=MediaCache(folder / "media", client),
            state=state,
            rows=MANIFEST.rows,
            arrived=tell,
        )
    )


@asynccontextmanager
async def slack_rig(
    folder: Path,
    mode: Literal["socket", "http"] = "socket",
    *,
    connect: bool = True,
    **settings: Any,
) -> AsyncIterator[Rig]:
    """Run the stand-in and a channel that is connected to it."""
    slack = SlackStandIn(mode, resend_s=0.5)
    await slack.start()
    client = HttpClient(HttpSettings(timeout_s=0.5))
    broken: list[HermesError] = []
    state = PlatformState(BreakableState(broken), "slack")
    arrived: list[ArrivedDelivery] = []
    channel = make_channel(
        slack, client, folder=folder, state=state, settings=settings, arrived=arrived
    )
    rig = Rig(slack, channel, Inbox(), client, folder, state, broken, arrived)
    doors = await _gateway_api(channel, slack) if mode == "http" else None
    try:
        if connect:
            await channel.connect(rig.inbox.accept)
        yield rig
    finally:
        if doors is not None:
            await doors.cleanup()
        await channel.disconnect()
        await client.close()
        await slack.stop()


async def _gateway_api(channel: SlackChannel, slack: SlackStandIn) -> web.AppRunner:
    """Serve the channel's webhook as the gateway does."""

    async def handle(request: web.Request) -> web.StreamResponse:
        headers = dict(request.headers)
        try:
            answer = await channel.webhook(as_request(await request.read(), headers))
        except HermesError as error:
            answer = error_response(error)
        return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))

    app = web.Application()
    app.add_routes([web.post("/webhooks/slack", handle)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.point_at(f"http://127.0.0.1:{runner.addresses[0][1]}/webhooks/slack")
    return runner


def as_request(body: bytes, headers: Mapping[str, str]) -> HttpRequest:
    """Return a webhook call as the server hands it over."""
    lower = {name.lower(): value for name, value in headers.items()}
    return HttpRequest(method="POST", path="/webhooks/slack", query={}, headers=lower, body=body)

"""The QQ channel: the gateway or signed webhook calls in, the HTTP API out.

Fits `PushChannel`, `WebhookChannel`, `LiveChannel`, `ProbingChannel`, `MeasuringChannel` and
`MediaChannel`. A reply carries the message that it answers and a number made of its key, and QQ refuses
the same pair a second time: that is how a repeated send is one message.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import attachments_of, load_attachment
from hermes.channel_kit.bodies import decode, text_at
from hermes.channel_kit.events import raw_of
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.opcode_gateway import GatewayFrame, OpcodeGateway
from hermes.channel_kit.refusals import as_shape, receipt_at
from hermes.channel_kit.socket_wire import SocketFrame
from hermes.channel_kit.texts import ChannelTexts, by_marks
from hermes.channel_kit.webhook_door import WebhookDoor, keep_all
from hermes.channels.qq.client import QqApi
from hermes.channels.qq.inbound import EVENTS, message_event
from hermes.channels.qq.outbound import (
    Json,
    chat_path,
    file_body,
    message_body,
    without_addresses,
)
from hermes.channels.qq.wire import PLATFORM, WireMedia, WireMessage
from hermes.errors import DeliveryError, DeliveryRejected, DeliveryUnknown, FailureClass
from hermes.http.json_body import json_response
from hermes.message.event import MessageEvent
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import Media, text_of
from hermes.ports.channel import Accept, Delivery, HttpRequest, HttpResponse, Receipt
from hermes.ports.channel_setup import ChannelSetup

# Direct chats and groups.
_INTENTS: Final = 1 << 25
_NO_CALLS: Final = "qq: messages come in by the gateway here; set platforms.qq.mode to webhook"
_TRIED: Final = "tried/"
_MOST_TRIED: Final = 1000
_RECEIVED: Final[Json] = {"op": 12}


class QqChannel:
    """One app on QQ's open platform."""

    def __init__(self, setup: ChannelSetup) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._given = setup.settings
        self._is_webhook = self._given["mode"] == "webhook"
        self._texts = ChannelTexts(setup, _show_of(setup))
        door = WebhookDoor.of(setup, self._called, unused="" if self._is_webhook else _NO_CALLS)
        self._life = AccountLife(setup, door, credential="app_secret", check=self._check)
        self._api = QqApi(setup, on_refused=self._life.refused)
        self._intake: Intake | None = None
        self.disconnect, self.lost, self.probe = (
            self._life.disconnect,
            self._life.lost,
            self._life.probe,
        )
        self.glance, self.webhook, self.measure = door.glance, door.answer, self._texts.measure

    async def _check(self) -> None:
        await self._api.call("GET", "/users/@me")

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the session has begun or goes on."""
        await self._life.start()
        if self._is_webhook:
            self._life.open_door(accept)
            return
        self._intake = Intake(accept, platform=self.name, repeats=False)
        wire = OpcodeGateway(
            self._api.ticket,
            platform=PLATFORM,
            account=str(self._given["app_id"]),
            intents=_INTENTS,
            identity={"shard": [0, 1], "properties": {}},
            events=EVENTS,
        )
        await self._life.open_socket(wire, self._take)

    async def _take(self, frame: SocketFrame) -> bool:
        """Handle an event of the gateway."""
        event = self._read(frame.payload)
        if event is not None and self._intake is not None:
            await self._intake.take(event)
        return True

    async def _called(self, request: HttpRequest, accept: Accept) -> HttpResponse:
        event = self._read(request.body)
        await keep_all(() if event is None else (event,), accept)
        return json_response(_RECEIVED)

    def _read(self, data: bytes) -> MessageEvent | None:
        frame = decode(data, GatewayFrame, platform=PLATFORM)
        if frame.op != 0 or frame.t not in EVENTS:
            return None
        held = bytes(frame.d)
        return message_event(
            decode(held, WireMessage, platform=PLATFORM),
            kind=frame.t,
            account=self._setup.account,
            now=self._setup.clock.now(),
            raw=raw_of(held),
        )

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        path = chat_path(delivery.target)
        files = attachments_of(delivery.parts)
        file_info = await self._upload(files[0], path) if files else ""
        body = message_body(
            delivery,
            await self._texts.written(text_of(delivery.parts)),
            file_info=file_info,
            is_markdown=self._given["markdown"],
        )
        if delivery.handle is None:
            return await self._send_unasked(delivery, path, body)
        found = await self._api.call("POST", f"{path}/messages", json=body)
        # What was there before is refused without its id.
        return Receipt(text_at(found, "id") or f"{body['msg_id']}.{body['msg_seq']}")

    async def _send_unasked(self, delivery: Delivery, path: str, body: Json) -> Receipt:
        """Send what answers no message: once, because QQ does not recognise its repeat."""
        mark, state = f"{_TRIED}{delivery.key}", self._setup.state
        if await state.get(mark) is not None:
            raise DeliveryRejected(
                "qq: nobody knows whether this message has arrived, and QQ recognises only the repeat of "
                "a reply; look into the chat, and replay it if it is not there",
                FailureClass.REJECTED,
            )
        await state.put(mark, b"1")
        await state.trim(_TRIED, keep=_MOST_TRIED)
        try:
            found = await self._api.call("POST", f"{path}/messages", json=body)
        except DeliveryUnknown:
            raise
        except DeliveryError:
            await state.drop(mark)
            raise
        receipt = receipt_at(found, "id", platform=PLATFORM)
        await state.drop(mark)
        return receipt

    async def _upload(self, media: Media, path: str) -> str:
        loaded = await load_attachment(self._setup, media)
        body = file_body(media, loaded.data, kind=loaded.kind)
        found = await self._api.call("POST", f"{path}/files", json=body)
        return as_shape(found, WireMedia, platform=PLATFORM, method="files").file_info

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file of a message."""
        return (await self._api.download(media.ref or "", limit=limit)).body


def _show_of(setup: ChannelSetup) -> Callable[[str], str]:
    """Return what turns Markdown into what QQ gets: Markdown or plain text, perhaps without addresses."""
    row, hides = setup.rows.markup, setup.settings["links"] == "hidden"
    if hides:
        row = msgspec.structs.replace(row, link="{words} ({url})")
    show = by_marks(row) if setup.settings["markdown"] else _plain
    return (lambda text: without_addresses(show(text))) if hides else show


def _plain(text: str) -> str:
    return plain(parse(text))


def make(setup: ChannelSetup) -> QqChannel:
    """Return the channel of one app."""
    return QqChannel(setup)

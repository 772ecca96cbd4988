"""The QQ channel: the gateway or signed webhook calls in, the HTTP API out.

Fits `PushChannel`, `WebhookChannel`, `LiveChannel`, `ProbingChannel`, `MeasuringChannel` and
`MediaChannel`. A reply carries the message that it answers and a number made of its key, and QQ refuses
the same pair a second time: that is how a repeated send is one message.
"""

from typing import Final

import msgspec
import structlog

from hermes.channel_kit.attachments import attachments_of, kind_for, read_attachment
from hermes.channel_kit.bodies import decode, text_at
from hermes.channel_kit.events import raw_of
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.opcode_gateway import GatewayFrame, OpcodeGateway
from hermes.channel_kit.refusals import as_shape, final_error, receipt_at
from hermes.channel_kit.socket_session import SocketSession
from hermes.channel_kit.socket_wire import SocketFrame
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
from hermes.errors import (
    BadRequest,
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotFound,
)
from hermes.http.json_body import json_response
from hermes.message.event import MessageEvent
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import Media, text_of
from hermes.ports.channel import (
    Accept,
    Capabilities,
    Delivery,
    HttpRequest,
    HttpResponse,
    Receipt,
)
from hermes.ports.channel_rows import SocketRow, WebhookRow
from hermes.ports.channel_setup import ChannelSetup

_SECRET: Final = "platforms.qq.app_secret"
# Direct chats and groups.
_INTENTS: Final = 1 << 25
_TRIED: Final = "tried/"
_MOST_TRIED: Final = 1000
_RECEIVED: Final[Json] = {"op": 12}
_log = structlog.get_logger(__name__)


class QqChannel:
    """One app on QQ's open platform."""

    def __init__(self, setup: ChannelSetup) -> None:
        self.name = setup.name
        self._setup = setup
        self._given = setup.settings
        self._hides = self._given["links"] == "hidden"
        row = setup.rows.markup
        if self._hides:
            row = msgspec.structs.replace(row, link="{words} ({url})")
        self._marks = Marks(row)
        self._life = Lifeline(PLATFORM)
        self._api = QqApi(setup, on_refused=self._refused)
        self._door = WebhookDoor(
            setup.rows.webhook or WebhookRow(),
            platform=PLATFORM,
            secrets={"app_secret": self._given["app_secret"]},
            clock=setup.clock,
            take=self._called,
        )
        self._session: SocketSession | None = None
        self._intake: Intake | None = None

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._setup.capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the session has begun or goes on."""
        await self.disconnect()
        self._life.begin()
        await self._ask()
        if self._given["mode"] == "webhook":
            self._door.open(accept)
            return
        self._intake = Intake(accept, platform=PLATFORM, repeats=False)
        wire = OpcodeGateway(
            self._api.ticket,
            platform=PLATFORM,
            account=str(self._given["app_id"]),
            intents=_INTENTS,
            identity={"shard": [0, 1], "properties": {}},
            events=EVENTS,
        )
        self._session = SocketSession(
            self._setup.client,
            wire,
            self._setup.rows.socket or SocketRow(),
            platform=PLATFORM,
            state=self._setup.state,
            take=self._take,
        )
        await self._session.open()
        self._life.run(self._session.lost(), "gateway")

    async def _take(self, frame: SocketFrame) -> bool:
        """Handle an event of the gateway; one that cannot be read never will be."""
        try:
            event = self._read(frame.payload)
        except BadRequest as error:
            _log.warning("qq.event_unreadable", problem=str(error)[:200])
            return True
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

    async def disconnect(self) -> None:
        """Stop receiving; the session stays, so that the next connection resumes it."""
        await self._door.close()
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        await self._life.close()

    async def lost(self) -> None:
        """Wait until the gateway is lost or the secret is invalid; raise which."""
        await self._life.lost()

    async def probe(self) -> None:
        """Return if QQ still accepts the secret and the gateway, if there is one, is open."""
        await self._ask()
        is_closed = self._session is None or not self._session.is_open
        if self._given["mode"] == "gateway" and is_closed:
            raise ConnectFailed("qq: the gateway is closed; no message can come in")

    async def _ask(self) -> None:
        try:
            await self._api.call("GET", "/users/@me")
        except DeliveryRejected as error:
            raise final_error(error, setting=_SECRET) from None

    def _refused(self, error: DeliveryError) -> None:
        if error.credential:
            self._life.end(final_error(error, setting=_SECRET))

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one event that QQ sends by HTTP, or its check of the address."""
        if self._given["mode"] != "webhook":
            raise NotFound("qq: messages come in by the gateway here; set platforms.qq.mode")
        return await self._door.answer(request)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        path = chat_path(delivery.target)
        files = attachments_of(delivery.parts)
        file_info = await self._upload(files[0], path) if files else ""
        body = message_body(
            delivery,
            await self._written(text_of(delivery.parts)),
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
        limit = self.capabilities.media_bytes
        data = await read_attachment(self._setup.media, media, limit=limit, platform=PLATFORM)
        kind = kind_for(self._setup.rows.media, media.mime, size=len(data))
        call = f"{path}/files"
        found = await self._api.call("POST", call, json=file_body(media, data, kind=kind))
        return as_shape(found, WireMedia, platform=PLATFORM, method="files").file_info

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file of a message."""
        return (await self._api.download(media.ref or "", limit=limit)).body

    def measure(self, text: str) -> int:
        """Return the length of a Markdown text as QQ gets it."""
        return len(self._shown(text))

    async def _written(self, text: str) -> str:
        return await converted(lambda: self._shown(text), chars=len(text))

    def _shown(self, text: str) -> str:
        document = parse(text)
        shown = self._marks.write(document) if self._given["markdown"] else plain(document)
        return without_addresses(shown) if self._hides else shown


def make(setup: ChannelSetup) -> QqChannel:
    """Return the channel of one app."""
    return QqChannel(setup)

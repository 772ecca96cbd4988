"""A webhook door with an inbox that does what a test says, and calls that its platform has signed."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hermes.channel_kit.proof import sign
from hermes.channel_kit.webhook_door import Take, WebhookDoor, keep_all
from hermes.errors import BadRequest, HermesError
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Accept, Acceptance, HttpRequest, HttpResponse
from hermes.ports.channel_rows import ProofRow, WebhookRow
from hermes.testing.manual_time import ManualClock

SECRET = "a secret of some length"
PROOF = ProofRow(
    kind="hmac",
    at="header:x-signature",
    secret="app_secret",
    signs=("header:x-time", ".", "body"),
    time="header:x-time",
    window_s=300,
)


def event_of(text: str, *, chat: str = "c1") -> MessageEvent:
    return MessageEvent(
        account="default",
        route="events",
        external_id=text,
        source=Source(platform="example", chat_id=chat, user_id="u1"),
        parts=(TextPart(text),),
        at=0.0,
    )


@dataclass
class DoorInbox:
    """Keeps events by name; `fails` are the errors for a name, one for each try."""

    fails: dict[str, list[HermesError]] = field(default_factory=dict)
    stored: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None

    async def accept(self, event: MessageEvent) -> Acceptance:
        if self.held is not None:
            await self.held.wait()
        errors = self.fails.get(event.external_id)
        if errors:
            raise errors.pop(0)
        known = event.external_id in self.stored
        if not known:
            self.stored.append(event.external_id)
        return Acceptance(message_id=event.external_id, duplicate=known)


async def take_lines(request: HttpRequest, accept: Accept) -> HttpResponse | None:
    """Take a body of lines: each is a message, with the name of its chat before a colon."""
    try:
        lines = request.body.decode().splitlines()
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8") from None
    pairs = [line.rpartition(":") for line in lines]
    await keep_all([event_of(text, chat=chat or "c1") for chat, _, text in pairs], accept)
    return None


class DoorRig:
    """A door, its clock and its inbox."""

    def __init__(
        self, *, is_open: bool = True, take: Take = take_lines, secret: str = SECRET, **row: Any
    ) -> None:
        self.clock = ManualClock()
        self.inbox = DoorInbox()
        self.row = WebhookRow(**{"proof": PROOF, **row})
        self._proof = self.row.proof or PROOF
        self.door = WebhookDoor(
            self.row,
            platform="example",
            secrets={"verify_token": "the word", self._proof.secret: secret},
            clock=self.clock,
            take=take,
            url="https://bot.example/webhooks/example",
        )
        if is_open:
            self.door.open(self.inbox.accept)

    def call(self, sent: bytes | str = b"hello", **changed: Any) -> HttpRequest:
        """Return a call that the platform has signed now, with what is changed of it afterwards."""
        raw = sent.encode() if isinstance(sent, str) else sent
        call = HttpRequest(method="POST", path="/webhooks/example", query={}, headers={}, body=raw)
        signed = sign(self._proof, call, secret=SECRET, now=self.clock.now())
        return msgspec.structs.replace(signed, **changed)

    async def post(self, sent: bytes | str = b"hello", **changed: Any) -> int:
        """Return the status that a signed call is answered with."""
        return (await self.door.answer(self.call(sent, **changed))).status

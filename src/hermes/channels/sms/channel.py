"""SMS and MMS by Twilio: signed forms in, the REST API out, and status calls that say what arrived.

Fits `PushChannel`, `GlancingChannel`, `LiveChannel`, `ProbingChannel` and `MediaChannel`. Twilio fetches
the files of an MMS from this webhook, by addresses that are signed and end after an hour.
"""

import base64
import hmac
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import attachments_of, load_attachment
from hermes.channel_kit.bodies import decode_form
from hermes.channel_kit.late_proof import tell_arrived, tell_returned
from hermes.channel_kit.refusals import receipt_at
from hermes.channel_kit.webhook_door import WebhookDoor, keep_all
from hermes.channels.sms.client import make_api
from hermes.channels.sms.inbound import (
    SmsStatus,
    canonical_number,
    consent_of,
    status_of,
    to_event,
)
from hermes.channels.sms.outbound import message_form
from hermes.errors import (
    ConfigurationError,
    DeliveryRejected,
    FailureClass,
    NotFound,
)
from hermes.http.errors import error_response
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import Media, text_of
from hermes.ports.channel import Accept, Delivery, HttpRequest, HttpResponse, Receipt
from hermes.ports.channel_setup import ChannelSetup

_STOPPED: Final = "stopped/"
_FILES: Final = "/media/"
_FILE_S: Final = 3600
_ARRIVED: Final = frozenset({"accepted", "queued", "sending", "sent", "delivered", "read"})
_FAILED: Final = frozenset({"failed", "undelivered", "canceled"})
_ANSWER: Final = HttpResponse(body=b"<Response></Response>", content_type="text/xml; charset=utf-8")


class SmsChannel:
    """One account of Twilio, with a number or a messaging service."""

    def __init__(self, setup: ChannelSetup) -> None:
        if not setup.webhook_url:
            raise ConfigurationError(
                "server.public_url: SMS needs the public address of this gateway: Twilio signs it with "
                "every call. Set it to the address that the console of Twilio calls"
            )
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._sender = str(setup.settings["sender"])
        self._url = setup.webhook_url
        self._secret = str(setup.settings["auth_token"])
        self._own = frozenset({canonical_number(self._sender)})
        self._account = f"Accounts/{setup.settings['account_sid']}"
        self._door = WebhookDoor.of(setup, self._take)
        life = AccountLife(setup, self._door, credential="auth_token", check=self._check)
        self._api = make_api(setup, on_refused=life.refused)
        self.connect, self.disconnect = life.connect, life.disconnect
        self.lost, self.probe, self.glance = life.lost, life.probe, self._door.glance

    async def _check(self) -> None:
        await self._api.call("GET", f"{self._account}.json")

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one call: a message, what became of one, or a file that is fetched."""
        name = request.path.partition(_FILES)[2]
        if request.method == "GET" and name:
            return await self._file(
                name, request.query.get("until", ""), request.query.get("proof", "")
            )
        return await self._door.answer(request)

    async def _take(self, request: HttpRequest, accept: Accept) -> HttpResponse:
        fields = decode_form(request.body, platform="twilio")
        status = status_of(fields)
        if status is not None:
            await self._tell(status, key=request.query.get("key", ""))
            return _ANSWER
        now, account = self._setup.clock.now(), self._setup.account
        event = to_event(fields, account=account, own_numbers=self._own, now=now)
        if event is None:
            return _ANSWER
        consent = consent_of(fields)
        mark = self._stopped(event.source.chat_id)
        if consent == "stop":
            await self._setup.state.put(mark, b"1")
        elif consent == "start":
            await self._setup.state.drop(mark)
        # The carrier has answered these words already.
        await keep_all(() if consent else (event,), accept)
        return _ANSWER

    def _stopped(self, number: str) -> str:
        """Return the key of a STOP: it outlives an erased person, and does not name the number."""
        return _STOPPED + self._setup.state.mark(number)

    async def _tell(self, status: SmsStatus, *, key: str) -> None:
        if key and status.state in _ARRIVED:
            await tell_arrived(self._setup, key, message_id=status.sid)
        elif key and status.state in _FAILED:
            await tell_returned(self._setup, key, code=status.error or status.state)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        to = canonical_number(delivery.target.chat_id)
        if await self._setup.state.get(self._stopped(to)) is not None:
            raise DeliveryRejected(
                "sms: this person has written STOP; nothing was sent. They are written to again once "
                "they write START",
                FailureClass.INVALID_RECIPIENT,
            )
        files = attachments_of(delivery.parts)
        form = message_form(
            to,
            sender=self._sender,
            body=plain(parse(text_of(delivery.parts))),
            media_url=await self._media_url(files[0]) if files else "",
            callback=f"{self._url}/status?key={quote(delivery.key, safe='')}",
        )
        found = await self._api.call("POST", f"{self._account}/Messages.json", form=form)
        return receipt_at(found, "sid", platform=self.name)

    async def _media_url(self, media: Media) -> str:
        """Return the address from which Twilio can fetch an attachment, for an hour."""
        if not media.path:
            raise DeliveryRejected(
                "sms: an attachment that is not stored here has no address for Twilio",
                FailureClass.REJECTED,
            )
        await load_attachment(self._setup, media)
        until = int(self._setup.clock.now()) + _FILE_S
        name = base64.urlsafe_b64encode(f"{media.mime}\n{media.path}".encode()).decode()
        return f"{self._url}{_FILES}{name}?until={until}&proof={self._proof(name, str(until))}"

    async def _file(self, name: str, until: str, proof: str) -> HttpResponse:
        """Return a file to who shows the proof that was made for it."""
        is_ours = hmac.compare_digest(
            proof.encode(errors="replace"), self._proof(name, until).encode()
        )
        if not is_ours or int(until) < self._setup.clock.now():
            return error_response(NotFound("there is no such file, or its address has ended"))
        mime, _, path = base64.urlsafe_b64decode(name).decode().partition("\n")
        limit = self.capabilities.media_bytes
        data = await self._setup.media.read(Media(mime, path=path), limit=limit)
        headers = {"x-content-type-options": "nosniff"}
        return HttpResponse(body=data, content_type=mime, headers=headers)

    def _proof(self, name: str, until: str) -> str:
        signed = f"{until} {name}".encode(errors="replace")
        return hmac.new(f"media {self._secret}".encode(), signed, sha256).hexdigest()

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file that somebody sent, from Twilio's own hosts only."""
        return (await self._api.download(media.ref or "", limit=limit)).body


def make(setup: ChannelSetup) -> SmsChannel:
    """Return the channel of one account."""
    return SmsChannel(setup)

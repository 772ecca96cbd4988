"""Twilio on loopback: its messages, and what people with phones do.

Fits `testing.stand_in.StandIn`. Its rows are in `platform.toml`. Like Twilio it fetches the files of an
MMS from the address that a message names, and tells what becomes of a message a few times only.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import aiohttp
import msgspec
from aiohttp import web

from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.event_delivery import PushRow, SignedPush
from hermes.testing.site import Site, SiteCall, load_platform
from hermes.testing.stand_in import PersonMessage
from hermes.testing.town import TownMessage

_FORM = "application/x-www-form-urlencoded"
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")
_WORDS = {"STOP": "STOP", "START": "START", "HELP": "HELP", "UNSTOP": "START"}


class SmsStandIn(Site):
    """One account with one number; `public_url` is the address that is signed, if a proxy changes it."""

    def __init__(self, *, clock: Clock | None = None, public_url: str = "") -> None:
        super().__init__(load_platform("hermes.testing.sms"), clock=clock)
        self.public_url = public_url
        self.push, self.status_push = (
            self.own(
                SignedPush(
                    msgspec.convert(self.rows.more[name], PushRow), self._signed, clock=self.clock
                )
            )
            for name in ("push", "status")
        )
        self.stopped: set[str] = set()
        # The state that a message ends in, by chat: with a code, it did not arrive.
        self.endings: dict[str, tuple[str, str]] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        names = self.rows.names
        return {
            "account_sid": names["account"],
            "auth_token": names["token"],
            "sender": names["number"],
            "base_url": self.url,
        }

    def _signed(self, call: HttpRequest, _now: float) -> HttpRequest:
        url = (self.public_url or self.push.url or "") + call.path
        fields = sorted(set(parse_qsl(call.body.decode(), keep_blank_values=True)))
        signed = url + "".join(name + value for name, value in fields)
        mac = hmac.new(self.rows.names["token"].encode(), signed.encode(), hashlib.sha1).digest()
        proof = {
            "x-twilio-signature": base64.b64encode(mac).decode(),
            # The same over the repeats of a call.
            "i-twilio-idempotency-token": hashlib.sha256(call.body).hexdigest()[:36],
        }
        return msgspec.structs.replace(call, headers={**call.headers, **proof})

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person; a word such as STOP is answered by the carrier."""
        chat = self.town.open_chat(said.chat, user=said.user)
        sid = self.town.ids.of("message", said.id) if said.id else self.town.ids.make("message")
        self.town.post(chat, chat, id=sid, text=said.text)
        consent = _WORDS.get(said.text.strip().upper())
        if consent in ("STOP", "START"):
            (self.stopped.add if consent == "STOP" else self.stopped.discard)(chat)
        files = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in said.files]
        fields = self.event(
            "message", sid=sid, user=chat, text=said.text, files=str(len(files)), consent=consent
        )
        for place, file in enumerate(files):
            path = (
                f"2010-04-01/Accounts/{self.rows.names['account']}/Messages/{sid}/Media/{file.id}"
            )
            fields |= {
                f"MediaUrl{place}": f"{self.url}/{path}",
                f"MediaContentType{place}": file.mime,
            }
        return sid, [fields]

    async def tell(self, event: Json) -> None:
        """Call the webhook until it accepts."""
        await self.push.deliver(urlencode(event).encode(), _FORM)

    def on_messages(self, call: SiteCall) -> web.Response:
        """Take a message, and tell later what has become of it."""
        to, body, media = call["To"], call.get("Body", ""), call.get("MediaUrl", "")
        if call["account"] != self.rows.names["account"] or not _NUMBER.fullmatch(to):
            raise SiteRefusal("bad_number", to[:40])
        if call.get("From") != self.rows.names["number"] or "MessagingServiceSid" in call.params:
            raise SiteRefusal("bad_sender", "one sender, which is the account's")
        if not body and not media:
            raise SiteRefusal("no_body", "neither a body nor a file")
        chat = self.town.chat_to_write(to[1:])
        if chat.id in self.stopped:
            raise SiteRefusal("stopped", to)
        self.pace(chat.id)
        message = self.town.post(chat.id, "us", text=body, is_own=True)
        self.run_aside(self._become(message, media, call.get("StatusCallback", "")))
        files = "1" if media else "0"
        told = self.event("sent", sid=message.id, user=chat.id, text=body, files=files)
        return web.json_response(told, status=201)

    async def _become(self, message: TownMessage, media: str, callback: str) -> None:
        """Fetch the file of a message, and tell what becomes of it."""
        if media:
            async with aiohttp.ClientSession() as http, http.get(media) as answer:
                if answer.status != 200:
                    self.push.rejections.append(f"a file was answered {answer.status}")
                data, mime = await answer.read(), answer.content_type
            name = f"mms.{mime.partition('/')[2]}"
            message.files.append(self.town.keep_file(name, data, mime=mime))
        base = self.push.url or ""
        if not base or not callback.startswith(self.public_url or base):
            return
        path = callback.removeprefix(self.public_url or base)
        ending, error = self.endings.get(message.chat, ("delivered", ""))
        for state in ("sent", ending):
            fields = self.event(
                "status",
                sid=message.id,
                user=message.chat,
                state=state,
                error=error if state == ending and error else None,
            )
            await self.status_push.deliver(urlencode(fields).encode(), _FORM, path=path)

    def on_media(self, call: SiteCall) -> web.Response:
        """Redirect to where a file is, without the credential."""
        file = self.town.find_file(call["file"])
        return web.Response(status=307, headers={"Location": f"{self.url}/files/{file.id}"})

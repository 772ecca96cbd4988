"""The stand-in of Twilio: its official client and its validator speak with it; the schema fits."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema_rs
import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.http.response import Response
from twilio.request_validator import RequestValidator
from twilio.rest import Client

from hermes.channels.sms.outbound import message_form
from hermes.testing.sms.platform import SmsStandIn
from hermes.testing.stand_in import PersonMessage

ADA = "15558675310"
SCHEMA = json.loads((Path(__file__).parent / "published" / "twilio.json").read_text())


class OnLoopback(TwilioHttpClient):  # type: ignore[misc]
    """Calls the stand-in in place of Twilio's host."""

    def __init__(self, url: str) -> None:
        super().__init__(pool_connections=False)
        self._url = url

    def request(self, method: str, url: str, **more: Any) -> Response:
        return super().request(method, url.replace("https://api.twilio.com", self._url), **more)


@pytest.fixture
async def site() -> AsyncIterator[SmsStandIn]:
    site = SmsStandIn()
    await site.start()
    yield site
    await site.stop()


@pytest.mark.req("W9")
@pytest.mark.quality("official client")
async def test_the_official_client_sends_and_is_refused(site: SmsStandIn) -> None:
    site.town.open_chat(ADA)
    settings = site.settings
    http = OnLoopback(site.url)
    client = Client(settings["account_sid"], settings["auth_token"], http_client=http)
    send = client.messages.create
    sent = await asyncio.to_thread(lambda: send(to=f"+{ADA}", from_=settings["sender"], body="hi"))
    codes = []
    for wrong in ({"to": "nobody"}, {"from_": "+15550001"}, {"body": ""}, {"body": "x" * 1601}):
        whole = {"to": f"+{ADA}", "from_": settings["sender"], "body": "hi", **wrong}
        with pytest.raises(TwilioRestException) as refused:
            await asyncio.to_thread(send, **whole)
        codes.append(refused.value.code)

    assert (sent.status, sent.body, sent.sid) == ("queued", "hi", site.posts(ADA)[0].id)
    assert codes == [21211, 21606, 21602, 21617]
    assert len(site.rejections) == 4


@pytest.mark.req("W9")
@pytest.mark.quality("official client")
def test_the_official_validator_takes_what_the_stand_in_signs() -> None:
    site = SmsStandIn()
    site.point_at("https://hermes.example/webhooks/sms")
    _, (fields,) = site.happen(PersonMessage(text="grüß & 👋 + =", chat=ADA))
    call = site.push.signed(urlencode(fields).encode(), path="/status?key=o_1.0")
    validator = RequestValidator(site.settings["auth_token"])
    url = "https://hermes.example/webhooks/sms/status?key=o_1.0"
    proof = call.headers["x-twilio-signature"]

    assert validator.validate(url, fields, proof)
    assert not validator.validate(url + "1", fields, proof)


@pytest.mark.req("W9")
@pytest.mark.quality("schema")
async def test_what_is_sent_and_answered_fits_the_published_schema(site: SmsStandIn) -> None:
    create = jsonschema_rs.validator_for(SCHEMA["create"], offline=True)
    forms = [
        message_form(ADA, sender="+15017122661", body="hi", callback="https://x.example/s?key=1"),
        message_form(ADA, sender="MG" + "0" * 32, body="hi"),
    ]
    message = jsonschema_rs.validator_for(SCHEMA["message"], offline=True)
    told = site.event("sent", sid="SM" + "0" * 32, user=ADA, text="hi", files="0")

    assert [create.is_valid(form) for form in forms] == [True, True]
    assert not create.is_valid({**forms[0], "Colour": "red"})
    assert message.is_valid(told)

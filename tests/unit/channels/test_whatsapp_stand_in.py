"""The stand-in of WhatsApp: another client speaks with it, and what it takes fits the published schema."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from pywa.client import WhatsApp
from pywa.errors import WhatsAppError
from pywa.types.callback import Button
from pywa.types.message import Message
from pywa.types.message_status import MessageStatus

from hermes.channels.meta.channel import make_whatsapp
from hermes.channels.meta.outbound import WhatsAppWire
from hermes.channels.meta.settings import read_account
from hermes.message.parts import Choice, ChoicesPart, Media
from hermes.testing.meta.platform import MetaStandIn, as_read
from hermes.testing.setup_channel import channel_setup
from hermes.testing.stand_in import File, PersonMessage
from tests.unit.channels.webhook_rig import webhook_rig

ADA = "4917000000000"
SCHEMA = json.loads((Path(__file__).parent / "published" / "whatsapp.json").read_text())
# Parts of messages that are newer than the published schema.
NEWER = ("biz_opaque_callback_data",)


@pytest.fixture
async def site() -> AsyncIterator[MetaStandIn]:
    site = MetaStandIn()
    await site.start()
    yield site
    await site.stop()


class OnLoopback(httpx.HTTPTransport):
    """Calls the stand-in in place of Meta's host."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._home = httpx.URL(url)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        home = {"scheme": "http", "host": self._home.host, "port": self._home.port}
        request.url = request.url.copy_with(**home)
        request.headers["host"] = f"{self._home.host}:{self._home.port}"
        return super().handle_request(request)


def client_of(site: MetaStandIn) -> WhatsApp:
    settings = site.settings
    return WhatsApp(
        settings["phone_number_id"],
        settings["access_token"],
        session=httpx.Client(transport=OnLoopback(site.url)),
        api_version=23.0,
    )


@pytest.mark.req("W9")
@pytest.mark.quality("other client")
async def test_the_other_client_sends_reads_and_is_refused(site: MetaStandIn) -> None:
    name = await asyncio.to_thread(lambda: site.town.open_chat(ADA))
    client = client_of(site)
    sent = await asyncio.to_thread(
        lambda: [
            client.send_message(name, "*hi*", tracker="k1"),
            client.send_message(name, "ok?", buttons=[Button("Yes", callback_data="y")]),
            client.send_document(name, b"the notes", filename="a.txt", mime_type="text/plain"),
            client.send_reaction(name, "👍", message_id=site.posts(ADA)[0].id),
        ]
    )
    file = site.town.keep_file("a.png", b"png", mime="image/png")
    url = await asyncio.to_thread(client.get_media_url, file.id)
    with pytest.raises(WhatsAppError) as refused:
        await asyncio.to_thread(client.send_message, "+1", "hi")
    client.api._session.close()

    assert [(one.text, one.files) for one in site.posts(ADA)] == [
        ("hi", ()),
        ("ok?", ()),
        ("", ("a.txt",)),
    ]
    assert [one.id.startswith("wamid.") for one in sent] == [True] * 4
    assert (url.mime_type, refused.value.code) == ("image/png", 100)


def told_to(client: WhatsApp, event: dict[str, Any], kind: Any) -> Any:
    return kind.from_update(client=client, update=event)


@pytest.mark.req("W9", "W14")
@pytest.mark.quality("other client")
async def test_the_other_client_reads_what_the_stand_in_tells(site: MetaStandIn) -> None:
    client = WhatsApp("1", "token")
    site.scoped[ADA] = "DE.1"
    site.town.open_chat(ADA)
    files = (File(data=b"png", mime="image/png", name="a.png"),)
    _, (text,) = site.happen(PersonMessage(text="hello", chat=ADA))
    _, (photo,) = site.happen(PersonMessage(text="look", chat=ADA, files=files))
    status = site.event("status", id="wamid.1", status="sent", at="1700000000", user=ADA, key="k1")
    whole = site.event(
        "whatsapp", statuses=[status], contacts=[{"profile": {"name": "A"}, "wa_id": ADA}]
    )

    said, shown = told_to(client, text, Message), told_to(client, photo, Message)
    proof = told_to(client, whole, MessageStatus)

    assert (said.text, said.from_user.wa_id, said.from_user.bsuid) == ("hello", ADA, "DE.1")
    assert (shown.caption, shown.image.mime_type) == ("look", "image/png")
    assert (proof.status, proof.tracker) == ("sent", "k1")


def fits(kind: str, body: dict[str, Any]) -> bool:
    published = {name: value for name, value in body.items() if name not in NEWER}
    return jsonschema_rs.validator_for(SCHEMA["messages"][kind], offline=True).is_valid(published)


@pytest.mark.req("W9")
@pytest.mark.quality("schema")
def test_what_is_sent_fits_the_published_schema(site: MetaStandIn) -> None:
    given = {**site.settings, "template": "agent_update", "base_url": "http://127.0.0.1:1"}
    account = read_account(channel_setup("hermes.channels.meta", given, file="whatsapp.toml"))
    wire, key = WhatsAppWire(account), "o_1.0"
    choices = tuple(Choice(f"Number {number}", f"c_{number}") for number in range(4))
    file = partial(wire.file, ADA, file_id="7", is_voice=False, key=key)
    bodies = [
        wire.text(ADA, "hi", (), key=key),
        wire.text(ADA, "which?", choices[:2], key=key),
        wire.text(ADA, "which?", choices, key=key),
        wire.late(ADA, "hi", key=key),
        wire.reaction(ADA, "wamid.1", "seen"),
        file(kind="image", media=Media("image/png")),
        file(kind="audio", media=Media("audio/ogg")),
        file(kind="video", media=Media("video/mp4")),
        file(kind="file", media=Media("text/plain", name="a.txt")),
    ]
    read = wire.working(ADA, "wamid.1")

    assert [(body["type"], fits(body["type"], body)) for body in bodies if body] == [
        (kind, True)
        for kind in (
            "text",
            "interactive",
            "interactive",
            "template",
            "reaction",
            "image",
            "audio",
            "video",
            "document",
        )
    ]
    assert not fits("text", {**bodies[0], "to": 5})  # type: ignore[dict-item]
    assert jsonschema_rs.validator_for(SCHEMA["read"], offline=True).is_valid(read)


@pytest.mark.req("W9")
@pytest.mark.quality("schema")
async def test_what_the_stand_in_tells_and_answers_fits_the_published_schema() -> None:
    make = partial(make_whatsapp)
    async with webhook_rig(
        MetaStandIn(), make, package="hermes.channels.meta", file="whatsapp.toml"
    ) as rig:
        told: list[dict[str, Any]] = []
        tell = rig.site.push.deliver

        async def hear(body: bytes, *more: Any, **others: Any) -> int:
            told.append(json.loads(body))
            return int(await tell(body, *more, **others))

        rig.site.push.deliver = hear
        files = (File(data=b"png", mime="image/png", name="a.png"),)
        await rig.site.say(PersonMessage(text="hello", chat=ADA, files=files))
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        for part in ("hi", ChoicesPart("ok?", (Choice("Yes", "y"),))):
            await rig.channel.send(rig.delivery(ADA, part))
        async with asyncio.timeout(10):
            while len(told) < 6:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)

    values = [one["entry"][0]["changes"][0]["value"] for one in told]
    messages = [one for value in values for one in value.get("messages", ())]
    kinds = {"text": "TextMessage_2", "image": "ImageMessage_1"}
    statuses = jsonschema_rs.validator_for(SCHEMA["statuses"], offline=True)
    assert [
        jsonschema_rs.validator_for(SCHEMA["incoming"][kinds[one["type"]]], offline=True).is_valid(
            one
        )
        for one in messages
    ] == [True, True]
    assert [statuses.is_valid(value) for value in values if "statuses" in value] == [True] * 4


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"type": "text", "text": {"body": "x" * 4097}}, "too_long"),
        ({"type": "text", "text": {"body": "hi", "blink": True}}, "parameter"),
        ({"type": "image", "text": {"body": "hi"}}, "parameter"),
        ({"type": "image", "image": {"id": "5"}}, "file_not_found"),
        ({"type": "dance", "text": {"body": "hi"}}, "parameter"),
        ({"type": "text", "text": {"body": "hi"}, "to": "no number"}, "parameter"),
    ],
)
async def test_it_refuses_what_whatsapp_refuses(site: MetaStandIn, body, rule: str) -> None:
    site.town.open_chat(ADA)
    head = {"Authorization": f"Bearer {site.settings['access_token']}"}
    whole = {"messaging_product": "whatsapp", "to": ADA, **body}
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{site.url}/v23.0/1/messages", json=whole, headers=head)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 100)
    assert rule in str(site.rows.refusal)
    assert len(site.rejections) == 1


def test_marks_are_read_as_whatsapp_shows_them() -> None:
    text = "*bold* _it_ ~no~ `code` a_b_c 2*3*4\n```\nx *y*\n```"
    assert as_read(text) == "bold it no code a_b_c 2*3*4\nx *y*"

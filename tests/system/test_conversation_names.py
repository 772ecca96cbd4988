"""Over REST a conversation's name belongs to its sender, unless it is said to be shared."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hermes.app import Gateway
from hermes.config import load

pytestmark = pytest.mark.req("W22")
SECRET = "ZEBRA-771"


class Room:
    """A running gateway, and the model that hears what it is asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.http: aiohttp.ClientSession

    async def model(self, request: web.Request) -> web.Response:
        self.heard.append(await request.text())
        said = {"choices": [{"index": 0, "delta": {"content": "Fine."}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n"
        return web.Response(text=body, content_type="text/event-stream")

    async def say(self, sender: str, text: str, **more: object) -> dict[str, Any]:
        """Say something; returns the answer's JSON."""
        body = {"sender": sender, "text": text, **more}
        async with self.http.post("/api/messages", json=body) as answer:
            return dict(await answer.json())

    async def shown(self, sender: str, text: str, **more: object) -> str:
        """Say something; returns what the model was asked for it."""
        assert (await self.say(sender, text, **more))["outcome"] == "answered"
        return self.heard[-1]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    made = Room()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", made.model)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    variables = {
        "HERMES_SERVER__PORT": "0",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "sk-test-not-a-real-key",
        "HERMES_MEMORY__ENABLED": "false",
    }
    loaded = load(variables, tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        headers = {"authorization": f"Bearer {address['token']}"}
        async with aiohttp.ClientSession(url, headers=headers) as http:
            made.http = http
            yield made
    await runner.cleanup()


async def test_the_name_of_a_conversation_opens_it_for_its_sender_alone(room: Room) -> None:
    await room.say("bob", f"The word is {SECRET}.")
    await room.say("ann", f"The word is {SECRET}.", conversation="kitchen")

    assert SECRET not in await room.shown("mallory", "Which word?", conversation="bob")
    assert SECRET not in await room.shown("mallory", "Which word?", conversation="kitchen")
    for name in ("bob", "kitchen"):
        await room.say("mallory", "/undo", conversation=name)
        await room.say("mallory", "/new", conversation=name)
    assert SECRET in await room.shown("bob", "Which word?")
    assert SECRET in await room.shown("bob", "Which word?", conversation="bob")
    assert SECRET in await room.shown("ann", "Which word?", conversation="kitchen")


async def test_a_shared_conversation_is_everybodys_who_says_so(room: Room) -> None:
    await room.say("bob", "A word for me.", conversation="kitchen")
    await room.say("bob", f"The word is {SECRET}.", conversation="kitchen", shared=True)

    shown = await room.shown("ann", "Which word?", conversation="kitchen", shared=True)
    assert SECRET in shown
    assert "[bob] " in shown
    assert "A word for me." not in shown
    assert SECRET not in await room.shown("bob", "Which word?", conversation="kitchen")
    assert SECRET not in await room.shown("ann", "Which word?", conversation="kitchen")
    # A conversation that is shared has a name of its own, and is nobody's direct chat.
    unnamed = await room.say("ann", "Which word?", shared=True)
    assert "name the 'conversation'" in unnamed["error"]["message"]
    assert SECRET not in await room.shown("bob", "hi", conversation="bob", shared=True)


async def test_a_message_keeps_its_identity_and_its_conversations_name(room: Room) -> None:
    first = await room.say("ann", "Hello.", conversation="kitchen", id="1")
    again = await room.say("ann", "Hello.", conversation="kitchen", id="1")

    assert (first["conversation"], first["duplicate"]) == ("kitchen", False)
    assert (again["id"], again["duplicate"]) == (first["id"], True)

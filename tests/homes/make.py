"""Makes a small home with the code as it is, packs it, and writes down what it holds.

`python -m tests.homes.make NAME` writes `NAME.tar.xz` and `NAME.json` beside this file. It is run once for
a state of the code that users have, before the change that migrates it; the files are never made again.
"""

import asyncio
import json
import sys
import tarfile
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from hermes.ports.clock import SystemClock
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.webhooks import InboundMessage
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.pigeon_chat import pigeon_settings, write
from tests.system.test_operator_commands import hermes

FOLDER = Path(__file__).parent
LEFT_OUT = frozenset({"run", "logs", "cache"})
WAIT_S = 30.0


class Story:
    """A gateway, and people who use it."""

    def __init__(self, live: Live, http: aiohttp.ClientSession) -> None:
        self.live = live
        self.http = http

    async def say(self, sender: str, text: str, **more: str) -> dict[str, Any]:
        """Write over REST and wait for the answer."""
        answer = await self.live.post(self.http, sender=sender, text=text, **more)
        assert answer["outcome"] == "answered", answer
        return answer

    async def type(self, conversation: str, text: str) -> None:
        """Write on the web page and read the answer's stream to its end."""
        body = {"id": f"{conversation} {text}", "conversation": conversation, "text": text}
        url = f"{self.live.url}/web/messages"
        async with self.http.post(url, json=body, headers=self.live.bearer) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()

    async def get(self, path: str) -> Any:
        """Return what a GET answers."""
        async with self.http.get(f"{self.live.url}{path}", headers=self.live.bearer) as answer:
            assert answer.status == 200, (path, await answer.text())
            return await answer.json()

    async def order(self, path: str, **body: Any) -> Any:
        """Give an operator's order."""
        url = f"{self.live.url}/control/{path}"
        async with self.http.post(url, json=body, headers=self.live.bearer) as answer:
            assert answer.status == 200, (path, await answer.text())
            return await answer.json()


async def live_through(story: Story) -> None:
    """Do what people and operators do, each once."""
    live, http = story.live, story.http
    # Two people over REST; they meet in a conversation that both name.
    await story.say("ann", "My cat is called Minka.")
    await story.say("ann", "What did I say?")
    await story.say("ann", "The kitchen is blue.", conversation="kitchen")
    await story.say("bob", "I like rye bread.")
    await story.say("ann", "Hello to the room.", conversation="room")
    await story.say("bob", "Hello back.", conversation="room")
    await story.say("cli", "Typed in a terminal.", conversation="cli")
    await story.say("eve", "Nobody shall remember this.")
    # The page: one conversation with two epochs, one with one.
    await story.type("c1", "Words before the reset.")
    await story.type("c1", "/new")
    await story.type("c1", "Words after the reset.")
    await story.type("c2", "A second conversation.")
    # A platform that is written to: one reply arrives, one cannot.
    await write(live, http, InboundMessage(chat="p1", user="p1", text="Coo.", event_id="e1"))
    await write(live, http, InboundMessage(chat="gone", user="g", text="Lost.", event_id="e2"))
    await live.settled()
    # What an operator does.
    await story.order("credits/grant", user="rest:ann", amount=7, reason="a gift", id="gift-1")
    await story.order("memory", user="rest:ann", key="diet", value="eats no meat")
    await story.order("consent", user="rest:bob", may_train=True)
    await story.order("users/tier", user="rest:bob", tier="pro")
    await story.order("users/link", user="rest:ann", channel="pigeon:p1")
    await story.order("users/block", user="pigeon:g")
    await story.order("keys", user="ann", label="a key")
    await story.order("tokens", role="viewer", name="a viewer")
    await story.order("cron", user="rest:ann", when="every day at 9", text="Good morning.")
    await story.order("users/erase", user="rest:eve")


async def books(story: Story) -> dict[str, Any]:
    """Return what the home holds, as its operator sees it."""
    users = (await story.get("/control/users"))["users"]
    conversations = (await story.get("/web/conversations"))["conversations"]
    return {
        "made_at": SystemClock().now(),
        "users": users,
        "credits": (await story.get("/control/credits"))["wallets"],
        "audit": await story.get("/control/credits/audit"),
        "letters": (await story.get("/control/deadletters"))["letters"],
        "memory": await story.get("/control/memory?user=rest:ann"),
        "sessions": (await story.get("/control/sessions"))["sessions"],
        "keys": (await story.get("/control/keys"))["keys"],
        "tokens": (await story.get("/control/tokens"))["tokens"],
        "cron": (await story.get("/control/cron"))["jobs"],
        "web": {
            one["id"]: await story.get(f"/web/conversations/{one['id']}") for one in conversations
        },
        "found": await story.get("/control/search?text=Minka"),
    }


async def make(name: str) -> None:
    """Make the home, pack it and write its books."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home = folder / "home"
        pigeon = SamplePlatform(SampleSettings(token="t", signing_secret="s", chats=("p1",)))
        await pigeon.start()
        stack.push_async_callback(pigeon.stop)
        url = await stack.enter_async_context(model_server())
        variables = {
            **with_model(url),
            **pigeon_settings(pigeon),
            "HERMES_CREDITS__POLICY": "wallet",
        }
        async with live_gateway(home, variables) as live, aiohttp.ClientSession() as http:
            story = Story(live, http)
            await live_through(story)
            held = await books(story)
            assert await live.stop() == 75, live.said()
        held["verified"] = json.loads(await hermes(home, "graph", "verify", "--json"))
        write_down(home, name, held)


def write_down(home: Path, name: str, held: dict[str, Any]) -> None:
    """Write the archive and the books beside this file."""
    with tarfile.open(FOLDER / f"{name}.tar.xz", "w:xz") as archive:
        for path in sorted(home.iterdir()):
            if path.name not in LEFT_OUT:
                archive.add(path, arcname=path.name, filter=_nobodys)
    text = json.dumps(held, indent=1, sort_keys=True, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(f"{text}\n")


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    asyncio.run(make(sys.argv[1]))

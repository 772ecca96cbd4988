"""A gateway in this process with one platform, its stand-in, and a scripted model behind it."""

import asyncio
import json
import socket
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import aiohttp
import msgspec
import yaml

from hermes import failpoints
from hermes.app.gateway import Gateway
from hermes.config import load
from hermes.control.why import WhyDelivery, WhyReport
from hermes.message.outcome import DeliveryState
from hermes.ports.channel import Capabilities
from hermes.testing.model_script import ScriptedTurn, answer_by_text
from hermes.testing.model_script import SeenConversation as Asked
from hermes.testing.model_server import ModelServer
from hermes.testing.openai_frames import Answer
from hermes.testing.openai_shape import ChatRequest
from hermes.testing.stand_in import PersonMessage, Post, StandIn

_PATIENCE_S = 20.0
_LOOK_S = 0.01
_OUTBOX = {
    "send_timeout_s": 1.0,
    "quick_delays_s": [0, 0.02, 0.02, 0.02],
    "later_delays_s": [0.3, 1.0, 1.0],
    "breaker_failures": 1000,
}
# Each message has an answer of its own, however quickly they come.
_BUSY: dict[str, Any] = {"merge_follow_ups": False, "photo_burst_s": 0.3}
# On some platforms nobody can write as much as the bot can answer.
AT_LENGTH = "at length, please"
_AT_ONCE = {"per_second": 0, "chat_gap_s": 0, "group_gap_s": 0}
Seen = TypeVar("Seen")


class Case(NamedTuple):
    """One way in which a platform is connected; a machine reads Markdown as it is written.

    `brings_files` says that attachments come with the message, so that none has to be fetched. `proves`
    says whether the platform tells later that a message arrived, also after the gateway was away.
    """

    name: str
    platform: str
    make: Callable[[], StandIn]
    capabilities: Callable[[], Capabilities]
    settings: Mapping[str, Any] = {}
    is_webhook: bool = False
    is_machine: bool = False
    brings_files: bool = False
    plugins: tuple[str, ...] = ()
    proves: Literal["", "while_up", "always"] = ""


class SeeingModel(ModelServer):
    """A model that remembers what it was shown; `AT_LENGTH` is answered with what it was told to say."""

    def __init__(self) -> None:
        super().__init__(self._script_of)
        self.at_length = ""
        self.requests: list[ChatRequest] = []

    def _script_of(self, seen: Asked, number: int) -> ScriptedTurn:
        if seen.last_text == AT_LENGTH:
            return ScriptedTurn(text=self.at_length)
        return answer_by_text(seen, number)

    def invoke(self, request: ChatRequest) -> Answer:
        """Answer a call."""
        self.requests.append(request)
        return super().invoke(request)


class House:
    """Everything around one channel; the gateway can be stopped and started again."""

    def __init__(self, case: Case, home: Path) -> None:
        self.case = case
        self.home = home
        self.files = home.parent / "files"
        self.can = case.capabilities()
        self.platform = case.make()
        self.model = SeeingModel()
        self.port = _free_port()
        self._gateway: Gateway | None = None

    async def __aenter__(self) -> Self:
        await self.platform.start()
        await self.model.start()
        self.home.mkdir(exist_ok=True)
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self.model.close()
        await self.platform.stop()

    async def start(self) -> None:
        """Start the gateway and wait until the platform is connected."""
        url = f"http://127.0.0.1:{self.port}"
        if self.case.is_webhook:
            self.platform.point_at(f"{url}/webhooks/{self.case.platform}")
        (self.home / "config.yaml").write_text(yaml.safe_dump(self._settings(url)))
        (self.home / "config.yaml").chmod(0o600)
        environ = {
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "sk-test-not-a-real-key",
        }
        self._gateway = Gateway(load(environ, self.home))
        await self._gateway.__aenter__()
        await self.stands("connected")

    async def stop(self) -> None:
        """Stop the gateway."""
        if self._gateway is not None:
            await self._gateway.__aexit__(None, None, None)
            self._gateway = None

    async def state(self) -> tuple[str, str]:
        """Return how the platform's channel stands, and why."""
        assert self._gateway is not None
        channels = {one.name: one for one in (await self._gateway.reports.status()).channels}
        one = channels[self.case.platform]
        return one.state, one.note or ""

    async def stands(self, wanted: str) -> str:
        """Wait until the channel stands so; returns why."""
        async with asyncio.timeout(_PATIENCE_S):
            while (state := await self.state())[0] != wanted:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
        return state[1]

    async def say(self, text: str, **more: Any) -> str:
        """Let a person write."""
        return await self.platform.say(PersonMessage(text=text, **more))

    def texts(self, chat: str = "chat-1") -> list[str]:
        """Return what people read of the bot in a chat."""
        return [post.text for post in self.posts(chat)]

    def posts(self, chat: str = "chat-1") -> list[Post]:
        """Return what stands of the bot in a chat."""
        return [post for post in self.platform.posts(chat) if not post.deleted]

    async def answer(self, text: str, *, chat: str = "chat-1", **more: Any) -> Post:
        """Let a person write and wait for what is new and ends the answer."""
        known = len(self.posts(chat))
        await self.say(text, chat=chat, **more)
        return await self.until(lambda: next(iter(self.posts(chat)[known:]), None))

    async def until(self, look: Callable[[], Seen | None]) -> Seen:
        """Return the first thing seen that is something."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not (seen := look()):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            told = {chat: self.platform.posts(chat) for chat in ("chat-1", "chat-2")}
            raise AssertionError(
                f"nothing came; posts {told}, refused {self.platform.rejections}, "
                f"state {self._gateway and await self.state()}"
            ) from None
        return seen

    async def replies(self) -> list[WhyDelivery]:
        """Return what `hermes why` tells of every reply, oldest first."""
        assert self._gateway is not None
        turns = (await self.control("interactions?limit=20"))["interactions"]
        told = [await self.control(f"why/{turn['message_id']}") for turn in reversed(turns)]
        stories = [msgspec.convert(story, WhyReport) for story in told]
        return [reply for story in stories for reply in story.deliveries]

    async def answered(self, number: int) -> list[WhyDelivery]:
        """Return the replies, once there are so many and none is on the wire."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                replies = await self.replies()
                if len(replies) >= number and not any(map(_is_sending, replies)):
                    return replies
                await asyncio.sleep(_LOOK_S)

    async def settled(self, number: int) -> list[WhyDelivery]:
        """Return the replies, once of so many nothing more becomes by itself."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                # The letters first: a reply is then read with what made it one.
                letters = {one["id"] for one in await self.dead_letters()}
                replies = await self.replies()
                ended = [one for one in replies if _is_sent(one) or one.id in letters]
                if len(ended) >= number:
                    return replies
                await asyncio.sleep(_LOOK_S)

    async def cut_off_sending(self, text: str) -> None:
        """End the gateway when the platform has the answer and the disk does not know it yet."""
        failpoints.arm("channel.send.after", _cut_off)
        try:
            await self.say(text)
            await self.until(self.posts)
            await self.stop()
        finally:
            failpoints.disarm()

    async def control(self, path: str) -> Any:
        """Return what the gateway tells an operator."""
        return await self._call("GET", path)

    async def order(self, path: str, **body: str) -> Any:
        """Give the gateway an operator's order."""
        return await self._call("POST", path, json=body)

    async def _call(self, method: str, path: str, **more: Any) -> Any:
        address = json.loads((self.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}/control/{path}"
        headers = {"authorization": f"Bearer {address['token']}"}
        async with (
            aiohttp.ClientSession() as http,
            http.request(method, url, headers=headers, **more) as answer,
        ):
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def dead_letters(self) -> list[dict[str, Any]]:
        """Return what could not be delivered."""
        found = await self.control(f"deadletters?platform={self.case.platform}")
        return list(found["letters"])

    async def until_letters(self) -> list[dict[str, Any]]:
        """Wait until something could not be delivered."""
        async with asyncio.timeout(_PATIENCE_S):
            while not (letters := await self.dead_letters()):  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
        return letters

    def _settings(self, url: str) -> dict[str, Any]:
        extra = {**self.platform.settings, **self.case.settings}
        name = self.case.platform
        return {
            "plugins": list(self.case.plugins),
            "server": {"port": self.port, "public_url": url},
            "platforms": {name: {"enabled": True, "extra": extra, "rates": _AT_ONCE}},
            "access": {"platforms": {name: {"allow_all": True}}},
            "net": {"exempt": ["127.0.0.0/8"]},
            "busy": _BUSY | {"platforms": {name: "queue"}},
            "outbox": _OUTBOX,
            "media": {"folders": [str(self.files)]},
            "streaming": {"interval_s": 0.05, "transport": "edit"},
            "memory": {"recall": False},
            "search": {"enabled": False},
            "process": {"lock_dir": str(self.home / "locks")},
        }


def picture(shade: int) -> bytes:
    """Return a real picture of 8 x 8 grey points."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * 8) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _is_sending(reply: WhyDelivery) -> bool:
    return reply.state is DeliveryState.SENDING


def _is_sent(reply: WhyDelivery) -> bool:
    return reply.state is DeliveryState.SENT


def _cut_off(_name: str) -> None:
    """Let whoever passes go no further, as the end of the process would."""
    raise asyncio.CancelledError


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""A QQ channel with its stand-in, in one process: what the QQ tests hold in their hands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes.channels.qq.channel import QqChannel, make
from hermes.message.event import ReplyHandle
from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import Delivery, Target
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.qq.platform import QqStandIn
from hermes.testing.setup_channel import channel_setup
from hermes.testing.stand_in import PersonMessage
from tests.unit.channels.slack_rig import Inbox

KEY = "o_0123456789abcdefghijklmn.0"


@dataclass
class Rig:
    qq: QqStandIn
    client: HttpClient
    state: PlatformState
    inbox: Inbox = field(default_factory=Inbox)

    def make(self, **settings: Any) -> QqChannel:
        """Return a channel of the bot, with the state that the one before left."""
        setup = channel_setup(
            "hermes.channels.qq",
            {**self.qq.settings, **settings},
            client=self.client,
            clock=SystemClock(),
            state=self.state,
        )
        return make(setup)

    @asynccontextmanager
    async def connected(self, **settings: Any) -> AsyncIterator[QqChannel]:
        channel = self.make(**settings)
        try:
            await channel.connect(self.inbox.accept)
            yield channel
        finally:
            await channel.disconnect()

    async def asked(self, **said: Any) -> ReplyHandle:
        """Let a person write; return what a reply to that must carry."""
        await self.qq.say(PersonMessage(text="hello", **said))
        handle = self.inbox.events[-1].handle
        assert handle is not None
        return handle

    def target(self, chat: str = "chat-1", *, group: bool = False) -> Target:
        kind: Literal["group", "dm"] = "group" if group else "dm"
        chat_id = self.qq.town.open_chat(chat, chat_type=kind)
        return Target(platform="qq", account="default", chat_id=chat_id, group=group)

    def delivery(self, *parts: Part | str, key: str = KEY, **more: Any) -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        target = more.pop("target", None) or self.target()
        return Delivery(id="o_1", target=target, parts=given, key=key, **more)


@asynccontextmanager
async def qq_rig(mode: Literal["gateway", "webhook"] = "gateway") -> AsyncIterator[Rig]:
    """Run the stand-in."""
    qq = QqStandIn(mode, heartbeat_s=0.02)
    await qq.start()
    client = HttpClient(HttpSettings(timeout_s=1.0))
    try:
        yield Rig(qq, client, memory_state("qq"))
    finally:
        await client.close()
        await qq.stop()

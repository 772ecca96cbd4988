"""A QQ channel with its stand-in, in one process: what the QQ tests hold in their hands."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Literal

from hermes.channels.qq.channel import QqChannel, make
from hermes.message.event import ReplyHandle
from hermes.ports.channel import Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.qq.platform import QqStandIn
from hermes.testing.stand_in import PersonMessage
from tests.unit.channels.channel_rig import KEY, ChannelRig, running

__all__ = ["KEY", "Rig", "qq_rig"]


class Rig(ChannelRig[QqStandIn, QqChannel]):
    package = "hermes.channels.qq"

    @property
    def qq(self) -> QqStandIn:
        return self.site

    def made(self, setup: ChannelSetup) -> QqChannel:
        return make(setup)

    async def asked(self, **said: Any) -> ReplyHandle:
        """Let a person write; return what a reply to that must carry."""
        await self.site.say(PersonMessage(text="hello", **said))
        handle = self.inbox.events[-1].handle
        assert handle is not None
        return handle

    def target(self, chat: str = "chat-1", *, group: bool = False) -> Target:
        kind: Literal["group", "dm"] = "group" if group else "dm"
        chat_id = self.site.town.open_chat(chat, chat_type=kind)
        return Target(platform="qq", account="default", chat_id=chat_id, group=group)


def qq_rig(mode: Literal["gateway", "webhook"] = "gateway") -> AbstractAsyncContextManager[Rig]:
    """Run the stand-in."""
    site = QqStandIn(mode, heartbeat_s=0.02)
    return running(site, partial(Rig, site))

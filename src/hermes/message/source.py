"""Where a message came from: platform, chat, thread and person, as the platform names them."""

from typing import Literal

import msgspec

from hermes.message.channel_name import platform_of

ChatType = Literal["dm", "group", "channel", "thread"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The place and the author of an event; ids are the platform's own, never interpreted.

    `platform` is the name of the channel: that of the platform, or `platform/account` for one of its
    further accounts. Who writes is the same `sender` on every account of the platform.
    """

    platform: str
    chat_id: str
    chat_type: ChatType = "dm"
    chat_name: str | None = None
    chat_topic: str | None = None
    user_id: str
    user_name: str | None = None
    thread_id: str | None = None
    user_id_alt: str | None = None
    chat_id_alt: str | None = None
    is_bot: bool = False
    guild_id: str | None = None
    parent_chat_id: str | None = None

    @property
    def sender(self) -> tuple[str, str]:
        """The platform and the user id by which the author is known on all its accounts."""
        return platform_of(self.platform), self.user_id

    @property
    def sender_name(self) -> str:
        """The author as `platform:user_id`."""
        return f"{platform_of(self.platform)}:{self.user_id}"

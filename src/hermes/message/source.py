"""Where a message came from: platform, chat, thread and person, as the platform names them."""

from typing import Literal

import msgspec

ChatType = Literal["dm", "group", "channel", "thread"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The place and the author of an event; ids are the platform's own, never interpreted."""

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

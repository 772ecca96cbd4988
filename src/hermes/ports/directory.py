"""The directory of chats: which chats of a platform are known, and what they are called there."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes.message.source import ChatType


class ChatEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A chat by its platform's id; `guild` is the server, workspace or team that it belongs to.

    `user_id` is whose direct chat it is, where the platform tells it apart from the chat's id.
    """

    platform: str
    chat_id: str
    kind: ChatType
    name: str
    guild: str | None = None
    user_id: str | None = None


class DirectoryStore(Protocol):
    """The chats that are known by a name, over restarts."""

    async def chats(self, platform: str | None = None) -> tuple[ChatEntry, ...]:
        """Return the chats of a platform, or of all, by platform and name."""
        ...

    async def keep(
        self, platform: str, entries: Sequence[ChatEntry], *, is_listing: bool, at: float
    ) -> int:
        """Keep chats; return how many are new or have changed.

        A listing is all that the platform has: what an earlier one named and this does not is
        forgotten. Direct chats of nobody who is known are not kept.
        """
        ...

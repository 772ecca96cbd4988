"""What the channel reads of Discord's events and answers; ids are texts of digits. Pure.

Fields that are not named here are ignored.
"""

from typing import Annotated, Any, Final

import msgspec

from hermes.message.source import ChatType

PLATFORM: Final = "discord"
_EPOCH_MS: Final = 1_420_070_400_000
_DIRECT: Final = frozenset({1, 3})
_THREADS: Final = frozenset({10, 11, 12})

# An id is put into addresses, so it is nothing but digits.
Snowflake = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{1,20}\Z")]


class WireNamed(msgspec.Struct, frozen=True, kw_only=True):
    """A server, an application or a message, of which little matters."""

    id: Snowflake
    name: str = ""
    flags: int = 0


class WireUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user, or a bot."""

    id: Snowflake
    username: str = ""
    global_name: str | None = None
    bot: bool = False

    @property
    def name(self) -> str:
        """How people see this user."""
        return self.global_name or self.username


class WireMember(msgspec.Struct, frozen=True, kw_only=True):
    """A user in a server."""

    user: WireUser | None = None
    nick: str | None = None


class WireFile(msgspec.Struct, frozen=True, kw_only=True):
    """An attachment of a message."""

    url: str
    filename: str = "file"
    size: int = 0
    content_type: str | None = None


class WireContent(msgspec.Struct, frozen=True, kw_only=True):
    """The words and files of a message, also of one that was forwarded."""

    content: str = ""
    attachments: tuple[WireFile, ...] = ()
    sticker_items: tuple[WireNamed, ...] = ()


class WireSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was forwarded, as it was."""

    message: WireContent


class WireMessage(WireContent, frozen=True, kw_only=True):
    """A message."""

    id: Snowflake
    channel_id: Snowflake
    author: WireUser
    type: int = 0
    flags: int = 0
    guild_id: Snowflake | None = None
    member: WireMember | None = None
    mentions: tuple[WireUser, ...] = ()
    webhook_id: str | None = None
    nonce: str | int | None = None
    referenced_message: "WireMessage | None" = None
    message_snapshots: tuple[WireSnapshot, ...] = ()


class WireEmoji(msgspec.Struct, frozen=True, kw_only=True):
    """An emoji; one of a server has an id."""

    id: str | None = None
    name: str | None = None


class WireReaction(msgspec.Struct, frozen=True, kw_only=True):
    """A reaction that was put on a message, or taken away."""

    user_id: Snowflake
    channel_id: Snowflake
    message_id: Snowflake
    emoji: WireEmoji
    guild_id: Snowflake | None = None
    member: WireMember | None = None
    message_author_id: Snowflake | None = None


class WireOption(msgspec.Struct, frozen=True, kw_only=True):
    """What was given to a slash command."""

    name: str
    value: Any = None  # Any: its type is the option's.


class WireCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What was called (`name`, `options`) or pressed (`custom_id`)."""

    name: str = ""
    custom_id: str = ""
    options: tuple[WireOption, ...] = ()


class WireInteraction(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command that was used, or a button that was pressed."""

    id: Snowflake
    application_id: Snowflake
    type: int
    token: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    data: WireCommand = WireCommand()
    member: WireMember | None = None
    user: WireUser | None = None
    message: WireNamed | None = None


class WireChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel, a thread (which is a channel with a parent) or a direct chat."""

    id: Snowflake
    type: int = 0
    name: str | None = None
    topic: str | None = None
    parent_id: Snowflake | None = None
    guild_id: Snowflake | None = None
    member_count: int | None = None
    recipients: tuple[WireUser, ...] = ()

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of another channel."""
        return self.type in _THREADS and self.parent_id is not None

    @property
    def kind(self) -> ChatType:
        """What Hermes calls it."""
        if self.type in _DIRECT:
            return "dm"
        return "thread" if self.is_thread else "group"


class WireLimit(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions may begin today; `reset_after` is in milliseconds."""

    remaining: int = 1
    reset_after: float = 0.0


class WireGateway(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session begins."""

    url: str
    session_start_limit: WireLimit = WireLimit()


def direct(channel_id: str) -> WireChannel:
    """Return the direct chat of an id; there is nothing to ask about it."""
    return WireChannel(id=channel_id, type=1)


def written_at(snowflake: str) -> float:
    """Return when an id was made."""
    return ((int(snowflake) >> 22) + _EPOCH_MS) / 1000

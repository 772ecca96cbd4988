"""The settings of sessions: when a conversation ends by itself and the next message starts a new one.

Part of config; what a rule means is decided in `sessions`.
"""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from hermes.config.section import Means, Named, Section

ResetMode = Literal["daily", "idle", "both", "none"]
TimeOfDay = Annotated[
    str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$"), Means("a time of day such as 04:00")
]
Minutes = Annotated[int, Field(ge=1, le=525_600)]


class ResetSettings(Section):
    """When a conversation ends by itself."""

    mode: ResetMode = Field(
        default="both",
        description="daily, idle, both, or none; with none only /new starts a new conversation.",
    )
    at: TimeOfDay = Field(default="04:00", description="The time of the daily reset, in time_zone.")
    idle_min: Minutes = Field(
        default=1_440, description="A conversation ends after this many minutes of silence."
    )


class SessionCacheSettings(Section):
    """What is kept ready of conversations, so that their next message is answered without reading."""

    max: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=128,
        description="How many recently used conversations are cached; those with a running turn "
        "are kept in addition.",
    )
    idle_s: Annotated[float, Field(gt=0)] = Field(
        default=3_600.0,
        description="A cached conversation is dropped after this many seconds of silence.",
    )


class SessionSettings(Section):
    """Conversations: when they end, and how long those that ended are kept."""

    reset: ResetSettings = Field(default_factory=ResetSettings)
    reset_chat_types: Named[ResetSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Reset rules for one chat type: dm, group, channel or thread.",
    )
    reset_platforms: Named[ResetSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Reset rules for one platform, by its name; they override those of chat "
        "types. In the web chat (web) and hermes chat (rest) only such a rule ends "
        "conversations.",
    )
    tell_reset: bool = Field(
        default=True, description="Whether people are told why a new conversation started."
    )
    context: bool = Field(
        default=True,
        description="Whether the model is told where a conversation takes place, with whom, and "
        "which platforms are connected; not for programs that call the API.",
    )
    cache: SessionCacheSettings = Field(default_factory=SessionCacheSettings)
    prune_days: Annotated[int, Field(ge=0, le=36_500)] = Field(
        default=0,
        description="Conversations that ended this many days ago are deleted; 0 keeps everything.",
    )

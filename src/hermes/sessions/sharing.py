"""Whether the people of a chat have one session together or one each. Pure.

A direct chat outside of threads is never asked about. Where callers name chats themselves, they say
with each message whether they share, and no setting changes that.
"""

from collections.abc import Collection, Mapping

from hermes.config import ChannelSettings, SessionSettings, Sharing
from hermes.message.channel_name import of_channel
from hermes.message.source import Source

_DEFAULTS = SessionSettings()


class SharingRules:
    """The rules of one gateway; `own_chats` are the platforms whose callers name chats themselves."""

    def __init__(
        self,
        settings: SessionSettings,
        channels: Mapping[str, ChannelSettings],
        *,
        own_chats: Collection[str] = (),
    ) -> None:
        self._settings = settings
        self._channels = channels
        self._own_chats = own_chats

    def is_shared(self, source: Source) -> bool:
        """Return whether everybody in a group or thread is in one session."""
        if source.platform in self._own_chats:
            return _common(source, _DEFAULTS) == "shared"
        return (self._of_chat(source) or _of_kind(source, self._settings)) == "shared"

    def _of_chat(self, source: Source) -> Sharing | None:
        """Return the rule of a chat, or else of the chat in which it is; None if there is neither."""
        channel = self._channels.get(source.platform)
        chats = {} if channel is None else channel.chats
        for name in (source.chat_id, source.parent_chat_id or ""):
            chat = chats.get(name)
            rule = None if chat is None else chat.threads if is_thread(source) else chat.groups
            if rule is not None:
                return rule
        return None


def is_thread(source: Source) -> bool:
    """Return whether a message is in a thread, or in a chat that is one itself."""
    return source.thread_id is not None or source.chat_type == "thread"


def _of_kind(source: Source, settings: SessionSettings) -> Sharing:
    """Return the rule of a platform, else that of a chat type, else the common one."""
    if is_thread(source):
        platforms, chat_types = settings.thread_platforms, settings.thread_chat_types
    else:
        platforms, chat_types = settings.group_platforms, settings.group_chat_types
    return (
        of_channel(platforms, source.platform)
        or chat_types.get(source.chat_type)
        or _common(source, settings)
    )


def _common(source: Source, settings: SessionSettings) -> Sharing:
    return settings.threads if is_thread(source) else settings.groups

"""The state and rules of the stand-in platform: chats, messages, keys, limits. No I/O.

Strict on purpose: it refuses everything that a real platform would refuse.
"""

from collections.abc import Callable

import msgspec

from hermes.ports.clock import Clock
from hermes.testing.call_rules import SiteRefusal

MAX_CHARS = 2000
KEY_WINDOW_S = 3600.0


class SampleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the platform behaves; a `rate_limit` of 0 means no limit."""

    token: str
    signing_secret: str
    keys: bool = False
    chats: tuple[str, ...] = ("c1", "c2", "c3")
    rate_limit: int = 0
    rate_window_s: float = 1.0
    webhook_url: str | None = None
    webhook_tries: int = 60
    webhook_delay_s: float = 0.5


class PostedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A posted message."""

    message_id: str
    chat: str
    text: str
    ref: str | None = None
    edits: int = 0


class PushState:
    """The platform's own record of what was posted."""

    def __init__(
        self, settings: SampleSettings, *, clock: Clock, pace: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._pace = pace
        self._chats = set(settings.chats)
        self._posted: dict[str, PostedMessage] = {}
        self._keys: dict[str, tuple[float, str]] = {}

    @property
    def posted(self) -> tuple[PostedMessage, ...]:
        """Every posted message, oldest first."""
        return tuple(self._posted.values())

    def open_chat(self, chat: str) -> None:
        """Allow the bot to write in this chat."""
        self._chats.add(chat)

    def chat_of(self, message_id: str) -> str | None:
        """Return the chat of a message."""
        posted = self._posted.get(message_id)
        return posted.chat if posted else None

    def send(
        self, *, chat: str, text: str, key: str | None = None, ref: str | None = None
    ) -> tuple[PostedMessage, bool]:
        """Post a message; return it and whether it is new.

        `ref` is only echoed by the history, `key` deduplicates.
        """
        self._check_text(text)
        self._check_chat(chat)
        if key is not None and not self._settings.keys:
            raise SiteRefusal("keys_unsupported")
        known = self._known(key)
        if known is not None:
            return known, False
        self._pace(chat)
        posted = PostedMessage(
            message_id=f"pm_{len(self._posted) + 1}", chat=chat, text=text, ref=ref
        )
        self._posted[posted.message_id] = posted
        if key is not None:
            self._keys[key] = (self._clock.now(), posted.message_id)
        return posted, True

    def edit(self, *, message_id: str, text: str) -> PostedMessage:
        """Replace the text of a message."""
        self._check_text(text)
        posted = self._posted.get(message_id)
        if posted is None:
            raise SiteRefusal("unknown_message")
        self._pace(posted.chat)
        changed = msgspec.structs.replace(posted, text=text, edits=posted.edits + 1)
        self._posted[message_id] = changed
        return changed

    def delete(self, message_id: str) -> None:
        """Delete a message, as a person may."""
        del self._posted[message_id]

    def history(self, chat: str, *, limit: int) -> tuple[PostedMessage, ...]:
        """Return the newest messages of a chat, newest first."""
        self._check_chat(chat)
        found = [posted for posted in self._posted.values() if posted.chat == chat]
        return tuple(reversed(found[-limit:]))

    def _known(self, key: str | None) -> PostedMessage | None:
        if key is None or key not in self._keys:
            return None
        at, message_id = self._keys[key]
        if self._clock.now() - at > KEY_WINDOW_S:
            del self._keys[key]
            return None
        return self._posted.get(message_id)

    def _check_text(self, text: str) -> None:
        if not text.strip():
            raise SiteRefusal("empty_text")
        if len(text) > MAX_CHARS:
            raise SiteRefusal("text_too_long")

    def _check_chat(self, chat: str) -> None:
        if chat not in self._chats:
            raise SiteRefusal("unknown_chat")

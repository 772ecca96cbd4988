"""`Destination`: where to send a message, as people, models and schedules write it. Pure.

`origin`, `local`, `platform`, `platform:chat` or `platform:chat:thread`; the platform is a channel's
name, such as `telegram/sales` for one of several bots. A `:` inside an id is written as `%3A`. The courier decides which chat that is, and who may send there.
"""

import re
from typing import Literal

import msgspec

from hermes.errors import BadRequest
from hermes.message.channel_name import ONE_NAME
from hermes.message.session_key import escape, unescape

FORMS = "origin, local, platform, platform:chat or platform:chat:thread"
_PLATFORM = re.compile(rf"{ONE_NAME}(/{ONE_NAME})?")
_LONGEST_ID = 500


class Destination(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parsed target: `home` is a platform's home channel, `chat` one chat of it."""

    kind: Literal["origin", "local", "home", "chat"]
    platform: str = ""
    chat_id: str = ""
    thread_id: str | None = None

    def __str__(self) -> str:
        if self.kind in ("origin", "local"):
            return self.kind
        pieces = [self.platform]
        if self.kind == "chat":
            pieces.append(escape(self.chat_id))
        if self.thread_id is not None:
            pieces.append(escape(self.thread_id))
        return ":".join(pieces)


ORIGIN = Destination("origin")
LOCAL = Destination("local")


def parse_target(text: str) -> Destination:
    """Parse a delivery target; raises `BadRequest` if it is not one."""
    platform, *ids = (piece.strip() for piece in text.strip().split(":"))
    platform = platform.lower()
    if not ids and platform in ("origin", "local"):
        return ORIGIN if platform == "origin" else LOCAL
    if not _PLATFORM.fullmatch(platform):
        raise BadRequest(f"{_shown(text)} is not a delivery target; write {FORMS}")
    if not ids:
        return Destination("home", platform)
    if platform in ("origin", "local"):
        raise BadRequest(f"{_shown(text)}: {platform!r} takes no chat; write {FORMS}")
    names = tuple(map(unescape, ids))
    if len(names) > 2 or not all(0 < len(name) <= _LONGEST_ID for name in names):
        raise BadRequest(
            f"{_shown(text)} is not a delivery target; write {FORMS}, with %3A for a ':' in an id"
        )
    return Destination("chat", platform, *names)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:99]}…")

"""What the channel reads of QQ's events and answers; every id is a text. Pure.

Fields that are not named here are ignored.
"""

from typing import Annotated, Final

import msgspec

PLATFORM: Final = "qq"
_LONGEST_ID: Final = 256

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_ID)]
# An openid is put into addresses.
OpenId = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{1,128}\Z")]


class WireToken(msgspec.Struct, frozen=True, kw_only=True):
    """An access token; QQ writes its seconds as a text."""

    access_token: str
    expires_in: str | float


class WireGateway(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session begins."""

    url: str


class WireMedia(msgspec.Struct, frozen=True, kw_only=True):
    """What a message names a file by that was uploaded."""

    file_info: str


class WireAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote: a person has one openid in the direct chat, and another one in each group."""

    user_openid: OpenId | None = None
    member_openid: OpenId | None = None
    username: str = ""
    bot: bool = False


class WireFile(msgspec.Struct, frozen=True, kw_only=True):
    """An attachment; `content_type` is a type, or only `voice` or `file`."""

    url: str
    content_type: str = ""
    filename: str = ""
    size: int = 0


class WireMention(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is mentioned; `id` is what the text has for them."""

    id: str = ""
    username: str = ""
    is_you: bool = False


class WireMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a direct chat or a group."""

    id: Id
    author: WireAuthor
    content: str = ""
    timestamp: str = ""
    group_openid: OpenId | None = None
    attachments: tuple[WireFile, ...] = ()
    mentions: tuple[WireMention, ...] = ()

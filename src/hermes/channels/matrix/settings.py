"""The settings of the bot's account; the manifest has their rules."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class MatrixSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The checked settings; `homeserver` has no trailing slash."""

    homeserver: str
    access_token: str | None = None
    user_id: str | None = None
    password: str | None = None
    join: Literal["allowed", "never", "all"] = "allowed"
    allowed_users: tuple[str, ...] = ()
    receipts: bool = True
    poll_s: float = 30.0
    encryption: bool = False

    def __repr__(self) -> str:
        """Return it without the secrets."""
        return f"MatrixSettings(homeserver={self.homeserver!r}, user_id={self.user_id!r})"


def read_settings(table: Mapping[str, Any]) -> MatrixSettings:
    """Return the settings."""
    settings = msgspec.convert(dict(table), MatrixSettings)
    return msgspec.structs.replace(settings, homeserver=settings.homeserver.rstrip("/"))

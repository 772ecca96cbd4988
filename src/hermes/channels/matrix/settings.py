"""The settings of the bot's account; without a way to sign in the channel does not start."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from hermes.errors import ConfigurationError

USER_ID = re.compile(r"@[^:\s]{1,250}:\S{1,250}")
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_SHORTEST_POLL_S, _LONGEST_POLL_S = 1.0, 300.0

Join = Literal["allowed", "never", "all"]


class MatrixSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The checked settings; `homeserver` has no trailing slash."""

    homeserver: str
    access_token: str | None = None
    user_id: str | None = None
    password: str | None = None
    join: Join = "allowed"
    allowed_users: tuple[str, ...] = ()
    receipts: bool = True
    poll_s: float = 30.0
    encryption: Literal["off", "on"] = "off"

    def __repr__(self) -> str:
        """Return it without the secrets."""
        return f"MatrixSettings(homeserver={self.homeserver!r}, user_id={self.user_id!r})"


def read_settings(table: Mapping[str, Any]) -> MatrixSettings:
    """Return the settings; raise a `ConfigurationError` that names the wrong one."""
    settings = msgspec.convert(dict(table), MatrixSettings)
    address = settings.homeserver.rstrip("/")
    if _ADDRESS.fullmatch(address) is None:
        raise ConfigurationError(
            f"platforms.matrix.homeserver: expected an address such as https://matrix.example.org, "
            f"found {address[:80]!r}"
        )
    if settings.user_id and USER_ID.fullmatch(settings.user_id) is None:
        raise ConfigurationError(
            "platforms.matrix.user_id: expected an id such as @hermes:example.org, found "
            f"{settings.user_id[:80]!r}"
        )
    if not settings.access_token and not (settings.user_id and settings.password):
        raise ConfigurationError(
            "platforms.matrix needs access_token (MATRIX_ACCESS_TOKEN), or user_id and password: "
            "set one of them, or disable the platform: without it the channel does not start"
        )
    if not _SHORTEST_POLL_S <= settings.poll_s <= _LONGEST_POLL_S:
        raise ConfigurationError(
            f"platforms.matrix.poll_s: expected {_SHORTEST_POLL_S:g} to {_LONGEST_POLL_S:g} seconds, "
            f"found {settings.poll_s:g}"
        )
    return msgspec.structs.replace(settings, homeserver=address)

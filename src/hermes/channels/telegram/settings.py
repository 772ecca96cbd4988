"""Telegram's settings as values; the manifest explains and checks them."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from hermes.errors import ConfigurationError


class TelegramSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one bot is reached and how it writes."""

    bot_token: str
    mode: Literal["poll", "webhook"] = "poll"
    webhook_secret: str = ""
    webhook_url: str = ""
    api_url: str = "https://api.telegram.org"
    poll_timeout_s: float = 30
    quote: Literal["groups", "always", "never"] = "groups"
    link_previews: bool = False

    def __repr__(self) -> str:
        return f"TelegramSettings(mode={self.mode!r}, api_url={self.api_url!r})"


def read(table: Mapping[str, Any], *, webhook_url: str | None) -> TelegramSettings:
    """Return the settings; raise an error if there is no address for the webhook."""
    kept = {key: value for key, value in table.items() if value is not None}
    settings = msgspec.convert({**kept, "webhook_url": webhook_url or ""}, TelegramSettings)
    if settings.mode == "webhook" and not settings.webhook_url:
        raise ConfigurationError(
            "server.public_url: expected the https address at which Telegram reaches this gateway, "
            "found none; set it, or set platforms.telegram.mode to poll"
        )
    return settings

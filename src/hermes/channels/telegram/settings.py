"""Telegram's settings as checked values; the manifest explains them."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError

_TOKEN: Final = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{3,200}")
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{16,256}")
_LONGEST_POLL_S: Final = 50


class TelegramSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one bot is reached and how it writes."""

    bot_token: str
    mode: Literal["poll", "webhook"] = "poll"
    webhook_secret: str = ""
    webhook_url: str = ""
    api_url: str = "https://api.telegram.org"
    poll_timeout_s: int = 30
    quote: Literal["groups", "always", "never"] = "groups"
    link_previews: bool = False

    def __repr__(self) -> str:
        return f"TelegramSettings(mode={self.mode!r}, api_url={self.api_url!r})"


def read(table: Mapping[str, Any], *, webhook_url: str | None) -> TelegramSettings:
    """Return the settings; raise an error that names the wrong one."""
    kept = {key: value for key, value in table.items() if value is not None}
    settings = TelegramSettings(
        bot_token=kept["bot_token"],
        mode=kept.get("mode", "poll"),
        webhook_secret=kept.get("webhook_secret", ""),
        webhook_url=webhook_url or "",
        api_url=str(kept.get("api_url", "https://api.telegram.org")).rstrip("/"),
        poll_timeout_s=int(kept.get("poll_timeout_s", 30)),
        quote=kept.get("quote", "groups"),
        link_previews=bool(kept.get("link_previews", False)),
    )
    _check_bot(settings)
    if settings.mode == "webhook":
        _check_webhook(settings)
    return settings


def _check_bot(settings: TelegramSettings) -> None:
    # The token becomes part of an address: only valid characters may get there.
    if _TOKEN.fullmatch(settings.bot_token) is None:
        raise ConfigurationError(
            "platforms.telegram.bot_token: expected the form 123456:ABC-DEF, found something else; "
            "copy the token from @BotFather whole"
        )
    if not _is_address(settings.api_url):
        raise ConfigurationError(
            "platforms.telegram.api_url: expected an http(s) address such as "
            "https://api.telegram.org, found something else"
        )
    if not 1 <= settings.poll_timeout_s <= _LONGEST_POLL_S:
        raise ConfigurationError(
            f"platforms.telegram.poll_timeout_s: expected 1 to {_LONGEST_POLL_S} seconds, found "
            f"{settings.poll_timeout_s}"
        )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_place = parts.hostname is not None and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and has_place and not parts.query


def _check_webhook(settings: TelegramSettings) -> None:
    if not settings.webhook_secret:
        raise ConfigurationError(
            "platforms.telegram.webhook_secret: expected a value, found none: in webhook mode every "
            "call must be authenticated. Set TELEGRAM_WEBHOOK_SECRET, for example to the output of "
            "`openssl rand -hex 32`, or set platforms.telegram.mode to poll"
        )
    if _SECRET.fullmatch(settings.webhook_secret) is None:
        raise ConfigurationError(
            "platforms.telegram.webhook_secret: expected 16 to 256 letters (a-z), digits, '_' and "
            "'-', found something else; take the output of `openssl rand -hex 32`"
        )
    if not settings.webhook_url:
        raise ConfigurationError(
            "server.public_url: expected the https address at which Telegram reaches this gateway, "
            "found none; set it, or set platforms.telegram.mode to poll"
        )

"""The settings of the Pigeon channel, read from its table; a missing secret refuses the start."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from hermes.errors import ConfigurationError

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0", ""})


class ChannelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator says about the bot."""

    base_url: str
    token: str
    signing_secret: str
    account: str = "default"
    keys: bool = False
    history: bool = False
    edit: bool = True
    tool_count_file: Path | None = None


def read_settings(table: Mapping[str, object]) -> ChannelSettings:
    """Return the settings; raises `ConfigurationError` naming the one that is wrong."""
    count_file = _text(table, "tool_count_file")
    return ChannelSettings(
        base_url=_required(table, "base_url"),
        token=_required(table, "token"),
        signing_secret=_required(table, "signing_secret"),
        account=_text(table, "account") or "default",
        keys=_flag(table, "keys", default=False),
        history=_flag(table, "history", default=False),
        edit=_flag(table, "edit", default=True),
        tool_count_file=Path(count_file) if count_file else None,
    )


def _plain(value: object) -> object:
    reveal = getattr(value, "get_secret_value", None)
    return reveal() if callable(reveal) else value


def _text(table: Mapping[str, object], name: str) -> str:
    value = _plain(table.get(name))
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigurationError(
            f"platforms.pigeon.{name}: expected a text, found {type(value).__name__}; quote it"
        )
    return value.strip()


def _required(table: Mapping[str, object], name: str) -> str:
    value = _text(table, name)
    if not value:
        raise ConfigurationError(
            f"platforms.pigeon.{name}: expected a value, found none; set it, or disable the "
            "platform: without it Pigeon does not start"
        )
    return value


def _flag(table: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = _plain(table.get(name, default))
    word = str(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ConfigurationError(
            f"platforms.pigeon.{name}: expected true or false, found {word[:40]!r}"
        )
    return word in _TRUE

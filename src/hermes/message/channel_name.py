"""The name of a channel: the platform, or `platform/account` for one of its further accounts. Pure.

`telegram` is the bot whose settings are directly below `platforms.telegram`, `telegram/sales` the one
below `platforms.telegram.accounts.sales`. Conversations, replies, pauses and webhooks belong to a
channel; people and the manifest belong to the platform.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

V = TypeVar("V")
SEPARATOR: Final = "/"
ONE_NAME: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
CHANNEL_PATTERN: Final = rf"^{ONE_NAME}(/{ONE_NAME})?$"


def channel_name(platform: str, account: str = "") -> str:
    """Return the name of an account's channel; without an account, that of the platform's own."""
    return f"{platform}{SEPARATOR}{account}" if account else platform


def platform_of(channel: str) -> str:
    """Return the platform of a channel."""
    return channel.partition(SEPARATOR)[0]


def account_of(channel: str) -> str:
    """Return the account of a channel; empty for the platform's own."""
    return channel.partition(SEPARATOR)[2]


def of_channel(table: Mapping[str, V], channel: str) -> V | None:
    """Return a channel's entry of a table, or else its platform's; None if there is neither."""
    found = table.get(channel)
    return table.get(platform_of(channel)) if found is None else found


def settings_key(channel: str) -> tuple[str, ...]:
    """Return where the settings of a channel are, as a key."""
    platform, _, account = channel.partition(SEPARATOR)
    return ("platforms", platform, "accounts", account) if account else ("platforms", platform)


def settings_place(channel: str) -> str:
    """Return where the settings of a channel are, as a dotted key."""
    return ".".join(settings_key(channel))


def at_account(told: str, channel: str) -> str:
    """Return an error text with the settings of a channel's account: adapters name the platform's."""
    place = settings_place(channel)
    return (
        told
        if place in told
        else told.replace(f"{settings_place(platform_of(channel))}.", f"{place}.")
    )

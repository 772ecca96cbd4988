"""The IRC settings as a typed value; a password is never sent by accident."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.errors import ConfigurationError

Trust = Literal["account", "nick"]

_CHANNEL: Final = re.compile(r"[#&+!][^\x00-\x20,\x07]{1,63}")
_WORD: Final = re.compile(r"[^\x00-\x20:][^\x00-\x20]{0,99}")
_KEY: Final = "platforms.irc"
_TLS_PORT, _PLAIN_PORT = 6697, 6667


class IrcSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The checked settings; `tls` and `port` are decided."""

    server: str
    port: int
    tls: bool
    ca_file: str = ""
    ipv4_only: bool = False
    nick: str = "hermes"
    username: str = "hermes"
    realname: str = "Hermes"
    server_password: str = ""
    sasl_user: str = ""
    sasl_password: str = ""
    nickserv: str = ""
    channels: tuple[str, ...] = ()
    channel_keys: Mapping[str, str] = {}
    trust: Trust = "account"
    formatting: bool = True
    burst: int = 4
    line_gap_s: float = 1.0
    gather_s: float = 1.0
    answer_s: float = 8.0
    allowed_users: tuple[str, ...] = ()
    allowed_chats: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"IrcSettings(server={self.server!r}, nick={self.nick!r})"


def read(table: Mapping[str, Any]) -> IrcSettings:
    """Return the settings, which keep the rules of the manifest; raise for what these cannot say."""
    given = {name: value for name, value in table.items() if value is not None}
    server = str(given.get("server", ""))
    tls = bool(given.get("tls", not is_loopback(server)))
    decided = {"tls": tls, "port": given.get("port", _TLS_PORT if tls else _PLAIN_PORT)}
    try:
        settings = msgspec.convert({**given, **decided}, IrcSettings, strict=False)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{_KEY} does not fit: {problem}") from None
    _check_keys(settings.channel_keys)
    return settings


def is_loopback(server: str) -> bool:
    """Return whether an address is this machine's own, without a lookup."""
    if server.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(server).is_loopback
    except ValueError:
        return False


def _check_keys(channel_keys: Mapping[str, str]) -> None:
    """Check the table of keys, whose names are channels."""
    for channel, key in channel_keys.items():
        if _CHANNEL.fullmatch(channel) is None:
            raise ConfigurationError(
                f"{_KEY}.channel_keys: expected names such as #hermes, each without spaces, found "
                f"{channel[:60]!r}"
            )
        if _WORD.fullmatch(key) is None or "," in key:
            raise ConfigurationError(
                f"{_KEY}.channel_keys.{channel}: expected one word, without a comma"
            )

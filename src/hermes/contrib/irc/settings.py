"""The IRC settings as a typed value; a password is never sent by accident."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.errors import ConfigurationError

Trust = Literal["account", "nick"]

_NICK: Final = re.compile(r"[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,63}")
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
    """Return the settings; raise a `ConfigurationError` that names the wrong one."""
    given = {name: value for name, value in table.items() if value is not None}
    server = str(given.get("server", ""))
    tls = bool(given.get("tls", not is_loopback(server)))
    decided = {"tls": tls, "port": given.get("port", _TLS_PORT if tls else _PLAIN_PORT)}
    try:
        settings = msgspec.convert({**given, **decided}, IrcSettings, strict=False)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{_KEY} does not fit: {problem}") from None
    _check(settings)
    return settings


def is_loopback(server: str) -> bool:
    """Return whether an address is this machine's own, without a lookup."""
    if server.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(server).is_loopback
    except ValueError:
        return False


def _check(settings: IrcSettings) -> None:
    if not settings.server or re.search(r"[\s/@]", settings.server):
        raise _wrong("server", "a host such as irc.libera.chat, without irc://", settings.server)
    if not 0 < settings.port < 65536:
        raise _wrong("port", "1 to 65535", str(settings.port))
    if _NICK.fullmatch(settings.nick) is None:
        raise _wrong("nick", "letters, digits and []\\`_^{|}-, no digit first", settings.nick)
    for name in ("username", "sasl_user", "nickserv", "server_password"):
        value = getattr(settings, name)
        if value and _WORD.fullmatch(value) is None:
            shown = "" if "password" in name else value
            raise _wrong(name, "one word of visible characters, no ':' first", shown)
    if re.search(r"[\x00-\x1f]", settings.realname) or not settings.realname:
        raise _wrong("realname", "a text on one line", settings.realname)
    for channel in (*settings.channels, *settings.channel_keys):
        if _CHANNEL.fullmatch(channel) is None:
            raise _wrong("channels", "names such as #hermes, each without spaces", channel)
    if any(_WORD.fullmatch(key) is None or "," in key for key in settings.channel_keys.values()):
        raise _wrong("channel_keys", "keys of one word, without a comma", "")
    _check_login(settings)
    _check_pace(settings)


def _check_login(settings: IrcSettings) -> None:
    if bool(settings.sasl_user) != bool(settings.sasl_password):
        missing = "sasl_password" if settings.sasl_user else "sasl_user"
        raise ConfigurationError(
            f"{_KEY}.{missing}: a services account needs both sasl_user and sasl_password; set it, "
            "or remove the other"
        )
    if settings.nickserv and not settings.sasl_password:
        raise ConfigurationError(
            f"{_KEY}.nickserv: signing in there needs sasl_user and sasl_password, too"
        )


def _check_pace(settings: IrcSettings) -> None:
    if settings.burst < 1:
        raise _wrong("burst", "1 line or more", str(settings.burst))
    if not 0 <= settings.line_gap_s <= 5:
        raise _wrong("line_gap_s", "0 to 5 seconds", f"{settings.line_gap_s:g}")
    if not 0 <= settings.gather_s <= 10:
        raise _wrong("gather_s", "0 to 10 seconds", f"{settings.gather_s:g}")
    if not 0 < settings.answer_s <= 60:
        raise _wrong("answer_s", "more than 0 and at most 60 seconds", f"{settings.answer_s:g}")


def _wrong(name: str, expected: str, found: str) -> ConfigurationError:
    told = f", found {found[:60]!r}" if found else ""
    return ConfigurationError(f"{_KEY}.{name}: expected {expected}{told}")

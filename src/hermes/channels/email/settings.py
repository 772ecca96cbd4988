"""The mail channel's settings as checked values; the manifest explains them."""

import ipaddress
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.channels.email.addresses import MailAddress, read_address
from hermes.errors import BadRequest, ConfigurationError

Security = Literal["tls", "starttls", "plain"]
_HOST_LENGTH: Final = 253
# Written as the user name if the SMTP server needs no sign-in.
_NOBODY: Final = "-"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server and its sign-in; `user` is empty if there is no sign-in."""

    host: str
    port: int
    security: Security
    user: str
    password: str
    ca_file: str = ""
    ipv4_only: bool = False

    def __repr__(self) -> str:
        return f"Server({self.host!r}, {self.port}, {self.security!r})"


class EmailSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One mailbox and how it is used."""

    address: MailAddress
    name: str
    imap: Server
    smtp: Server
    folder: str
    done_folder: str
    sent_folder: str
    sent_by: Literal["hermes", "server"]
    idle: bool
    poll_s: float
    first_age_s: float
    max_bytes: int
    read_s: float
    replies_per_hour: int
    authserv_id: str | None

    def __repr__(self) -> str:
        return f"EmailSettings(imap={self.imap!r}, smtp={self.smtp!r})"


def read(table: Mapping[str, Any]) -> EmailSettings:
    """Return the settings; raise an error that names the wrong one."""
    address = _own_address(table["address"])
    return EmailSettings(
        address=address,
        name=str(table["name"] or ""),
        imap=_server(table, "imap", address=address, ports=(993, 143)),
        smtp=_server(table, "smtp", address=address, ports=(465, 587)),
        folder=_folder(table, "folder") or "INBOX",
        done_folder=_folder(table, "done_folder"),
        sent_folder=_folder(table, "sent_folder"),
        sent_by=table["sent_by"],
        idle=bool(table["idle"]),
        poll_s=_number(table, "poll_s", least=0.05, most=3600),
        first_age_s=_number(table, "first_age_s", least=0, most=10 * 365 * 86400),
        max_bytes=int(_number(table, "max_bytes", least=1000, most=100_000_000)),
        read_s=_number(table, "read_s", least=0.01, most=600),
        replies_per_hour=int(_number(table, "replies_per_hour", least=1, most=100_000)),
        authserv_id=_authserv_id(table),
    )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by name or by address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _own_address(given: str) -> MailAddress:
    try:
        return read_address(given)
    except BadRequest as error:
        raise ConfigurationError(
            f"platforms.email.address: expected an address such as hermes@example.org, found "
            f"something else: {error}"
        ) from None


def _server(
    table: Mapping[str, Any], kind: str, *, address: MailAddress, ports: tuple[int, int]
) -> Server:
    host = str(table[f"{kind}_host"])
    security: Security = table[f"{kind}_security"]
    if not host.isascii() or any(one.isspace() for one in host) or len(host) > _HOST_LENGTH:
        raise ConfigurationError(
            f"platforms.email.{kind}_host: expected the name of a server, found something else"
        )
    if security == "plain" and not is_loopback(host):
        raise ConfigurationError(
            f"platforms.email.{kind}_security: plain would send the password unencrypted to "
            f"{host}; choose tls or starttls. plain is for a server on this machine only"
        )
    user = str(table[f"{kind}_user"] or table["user"] or address.text)
    password = str(table[f"{kind}_password"] or table["password"])
    if any(one in "\r\n\0" for one in user + password):
        raise ConfigurationError(
            f"platforms.email: the name or the password for the {kind.upper()} server has a line end"
        )
    chosen = int(_number(table, f"{kind}_port", least=0, most=65535))
    return Server(
        host=host,
        port=chosen or ports[security != "tls"],
        security=security,
        user="" if kind == "smtp" and user == _NOBODY else user,
        password=password,
        ca_file=str(table["ca_file"] or ""),
        ipv4_only=bool(table.get("ipv4_only")),
    )


def _folder(table: Mapping[str, Any], name: str) -> str:
    folder = str(table[name] or "")
    if any(ord(one) < 32 or ord(one) == 127 for one in folder):
        raise ConfigurationError(
            f"platforms.email.{name}: a folder's name must not contain control characters"
        )
    return folder


def _number(table: Mapping[str, Any], name: str, *, least: float, most: float) -> float:
    value = float(table[name])
    if not least <= value <= most:
        raise ConfigurationError(
            f"platforms.email.{name}: expected {least:g} to {most:g}, found {value:g}"
        )
    return value


def _authserv_id(table: Mapping[str, Any]) -> str | None:
    """Return the server whose sender checks count; None for no check, if the operator wants
    that.
    """
    if table["trust"] == "none":
        return None
    name = str(table["authserv_id"] or "").strip().lower()
    if not name:
        raise ConfigurationError(
            "platforms.email.authserv_id: expected the name under which your mail server writes "
            "Authentication-Results, found none: without it anybody could write as anybody. Look at "
            "the source of a mail in the mailbox and take the first word of that line, for example "
            "mx.google.com. Should your server write no such line, set platforms.email.trust to none "
            "and read docs/channels/email.md on what that means"
        )
    return name

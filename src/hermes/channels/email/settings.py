"""The mail channel's settings as checked values; the manifest explains them."""

import ipaddress
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.channels.email.addresses import MailAddress, read_address
from hermes.errors import BadRequest, ConfigurationError

Security = Literal["tls", "starttls", "plain"]
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
    """Return the settings, which keep the rules of the manifest; raise for what these cannot say."""
    address = _own_address(table["address"])
    return EmailSettings(
        address=address,
        name=str(table["name"] or ""),
        imap=_server(table, "imap", address=address, ports=(993, 143)),
        smtp=_server(table, "smtp", address=address, ports=(465, 587)),
        folder=str(table["folder"] or "INBOX"),
        done_folder=str(table["done_folder"] or ""),
        sent_folder=str(table["sent_folder"] or ""),
        sent_by=table["sent_by"],
        idle=bool(table["idle"]),
        poll_s=float(table["poll_s"]),
        first_age_s=float(table["first_age_s"]),
        max_bytes=int(table["max_bytes"]),
        read_s=float(table["read_s"]),
        replies_per_hour=int(table["replies_per_hour"]),
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
    if security == "plain" and not is_loopback(host):
        raise ConfigurationError(
            f"platforms.email.{kind}_security: plain would send the password unencrypted to "
            f"{host}; choose tls or starttls. plain is for a server on this machine only"
        )
    user = str(table[f"{kind}_user"] or table["user"] or address.text)
    password = str(table[f"{kind}_password"] or table["password"])
    chosen = int(table[f"{kind}_port"])
    return Server(
        host=host,
        port=chosen or ports[security != "tls"],
        security=security,
        user="" if kind == "smtp" and user == _NOBODY else user,
        password=password,
        ca_file=str(table["ca_file"] or ""),
        ipv4_only=bool(table.get("ipv4_only")),
    )


def _authserv_id(table: Mapping[str, Any]) -> str | None:
    """Return the server whose sender checks count; None for no check, if the operator wants
    that.
    """
    return None if table["trust"] == "none" else str(table["authserv_id"]).strip().lower()

"""How many connections may be open at once, in total and from one address.

The HTTP server's edge calls this when a connection opens and when it closes. It knows addresses and
counts, nothing about HTTP.
"""

from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Protocol

import structlog

from hermes.net.open_files import FileShortage

_log = structlog.get_logger("hermes.server")

# In excess of the total limit, for programs on this machine, so that `hermes status` still gets an
# answer.
_LOCAL_PLACES = 64
# While files are short, so that whoever looks after the gateway still reaches it. The others would go
# to a proxy on this machine.
_LOCAL_IN_NEED = 4
_LOG_EVERY_S = 60.0
_LOCAL = "local"


class OpenConnection(Protocol):
    """An open connection, as the limits see it."""

    def drop(self) -> None:
        """Close the connection."""
        ...


class ConnectionLimits:
    """Admits connections up to a total limit and a limit per address.

    At the total limit, an idle connection is closed to make room: of the connections that have not
    sent a complete head yet or whose answer is complete, the one that has been idle for longest. So
    connections that are merely open cannot keep everyone else out.
    """

    def __init__(
        self,
        most: int,
        *,
        per_address: int,
        monotonic: Callable[[], float],
        files: FileShortage | None = None,
    ) -> None:
        self._files = files or FileShortage(monotonic)
        self._files.on_shortage(self._make_room)
        self._most = most
        self._per_address = per_address
        self._monotonic = monotonic
        self._open: Counter[str] = Counter()
        self._count = 0
        self._waiting: dict[OpenConnection, None] = {}
        self._in_need: set[OpenConnection] = set()
        self._log_again_at = 0.0

    def admit(self, connection: OpenConnection, address: str, *, descriptor: int = -1) -> bool:
        """Count a new connection that has sent nothing yet; return False if it must be closed.

        While files are missing, only a few of this machine are: what runs needs those that become free.
        """
        if self._files.leaves_few(descriptor) or self._files.is_short:
            if address != _LOCAL or len(self._in_need) >= _LOCAL_IN_NEED:
                return False
            self._in_need.add(connection)
        if address != _LOCAL and self._per_address <= self._open[address]:
            self._note_full("server.max_connections_per_address", address)
            return False
        if self._count >= self._most:
            self._note_full("server.max_connections", address)
            if not self._make_room() and not self._has_local_place(address):
                self._in_need.discard(connection)
                return False
        self._count += 1
        self._open[address] += 1
        self._waiting[connection] = None
        return True

    def heard(self, connection: OpenConnection) -> None:
        """Record that a connection has sent a complete head: it is no longer closed to make
        room.
        """
        self._waiting.pop(connection, None)

    def idle(self, connection: OpenConnection) -> None:
        """Record that the answer is complete and the connection waits for its next request."""
        self._waiting[connection] = None

    def leave(self, connection: OpenConnection, address: str) -> None:
        """Free the place of an admitted connection."""
        self._waiting.pop(connection, None)
        self._in_need.discard(connection)
        self._count -= 1
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def _make_room(self) -> bool:
        oldest = next((one for one in self._waiting if one not in self._in_need), None)
        if oldest is None:
            return False
        del self._waiting[oldest]
        oldest.drop()
        return True

    def _has_local_place(self, address: str) -> bool:
        return address == _LOCAL and self._count < self._most + _LOCAL_PLACES

    def _note_full(self, setting: str, address: str) -> None:
        now = self._monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_EVERY_S
            _log.warning("connections_full", limit=setting, open=self._count, address=address)


def address_key(host: str | None) -> str:
    """Return the key that all connections of one peer share: "local", an IPv4 address or an IPv6
    /64.
    """
    if host is None:
        return _LOCAL
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return _LOCAL
    if isinstance(address, IPv6Address):
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)

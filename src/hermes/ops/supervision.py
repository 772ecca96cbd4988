"""Notifications to systemd: ready, stopping, reloading, alive; one datagram each, and none without
systemd.
"""

import socket
from collections.abc import Callable

import structlog

from hermes.config.machine import Supervisor

_log = structlog.get_logger(__name__)


class Notifier:
    """Reports to the supervisor that started this process, if one did."""

    def __init__(self, supervisor: Supervisor, *, monotonic: Callable[[], float]) -> None:
        self._address = supervisor.notify_socket
        self._pet_every_s = supervisor.watchdog_s / 3
        self._monotonic = monotonic
        self._petted_at = float("-inf")

    def ready(self) -> None:
        """Report that the gateway answers."""
        self._send("READY=1\nSTATUS=answers")

    def stopping(self) -> None:
        """Report that the gateway finishes running turns."""
        self._send("STOPPING=1\nSTATUS=finishes running turns")

    def pet(self) -> None:
        """Report that the loop runs, as often as the supervisor requires."""
        if not self._pet_every_s or not self._address:
            return
        now = self._monotonic()
        if now - self._petted_at >= self._pet_every_s:
            self._petted_at = now
            self._send("WATCHDOG=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is in the abstract namespace.
        where = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.sendto(text.encode(), where)
        except OSError as error:
            _log.warning("supervisor_not_told", problem=error.strerror)

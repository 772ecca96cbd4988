"""`HttpClient`: the only way in which Hermes calls other hosts over HTTP.

It is used by channels, providers and the media cache; it keeps connections, applies time limits,
guards untrusted addresses and translates every failure into `hermes.errors`. It does not know what
a call means: retries, breakers and keys belong to its callers.
"""

import math
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from hermes.lazy import lazy
from hermes.net.guard import Guard
from hermes.net.open_files import FileShortage
from hermes.ports.clock import SystemClock

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from aiohttp.abc import AbstractResolver

    from hermes.net.calls import HttpCall, HttpSessions
else:
    HttpCall = lazy("hermes.net.calls:HttpCall")
    HttpSessions = lazy("hermes.net.calls:HttpSessions")

NO_LIMIT: Final = math.inf
# Returns whether a host may be called, by its name in ASCII (IDNA).
MayAsk = Callable[[str], bool]


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How calls are made; `exempt`, `refuse` and `ports` configure the guard.

    `ca_bundle` is the file of the certificates that are trusted instead of the system's.
    """

    connect_timeout_s: float = 10.0
    timeout_s: float = 10.0
    # How long an untrusted answer may be silent.
    idle_s: float = 10.0
    keepalive_s: float = 15.0
    proxy: str | None = None
    ipv4_only: bool = False
    exempt: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    ca_bundle: Path | None = None
    user_agent: str = "hermes-gateway"


class HttpClient:
    """The outbound client of the whole process; created anywhere, used inside one running loop."""

    def __init__(
        self,
        settings: HttpSettings,
        *,
        ssl_context: ssl.SSLContext | None = None,
        resolver: "AbstractResolver | None" = None,
        files: FileShortage | None = None,
    ) -> None:
        self.settings = settings
        self.files = files or FileShortage(SystemClock().monotonic)
        self.guard = Guard(settings.exempt, refuse=settings.refuse, ports=settings.ports)
        self._ssl_context = ssl_context or _trusting(settings.ca_bundle)
        self._resolver = resolver
        self._sessions: HttpSessions | None = None

    def request(
        self,
        name: str,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
        trusted: bool,
        may_ask: MayAsk | None = None,
        idle_s: float | None = None,
    ) -> "HttpCall":
        """Call `url`; `async with` returns the `Response`, and leaving it ends the call.

        `name` is used in the failpoints `wire.{name}.before` and `.after` and in error texts.
        `timeout_s` limits the whole call, body included: None uses the setting, `NO_LIMIT` leaves
        it to the caller. `trusted` addresses come from the operator's configuration: they skip the
        guard and never follow a redirect. All others are guarded at every hop, and `may_ask`, if
        given, must allow the host of every hop; `idle_s` is how long their answer may be silent, if
        that is not the setting.
        """
        limit = self.settings.timeout_s if timeout_s is None else timeout_s
        sessions = self._sessions or self._open()
        idle_s = self.settings.idle_s if idle_s is None else idle_s
        return HttpCall(
            sessions, name, method, url, headers or {}, body, limit, trusted, may_ask, idle_s
        )

    def session(self, *, trusted: bool) -> "ClientSession":
        """Return the session for this kind of address; the two kinds never share connections."""
        return (self._sessions or self._open()).get(trusted=trusted)

    def _open(self) -> "HttpSessions":
        self._sessions = HttpSessions(
            self.settings,
            guard=self.guard,
            files=self.files,
            ssl_context=self._ssl_context,
            resolver=self._resolver,
        )
        return self._sessions

    async def close(self) -> None:
        """Close every connection."""
        if self._sessions is not None:
            await self._sessions.close()


def _trusting(ca_bundle: Path | None) -> ssl.SSLContext | None:
    """Return what TLS connections trust if a file is named; None: what the system trusts."""
    if ca_bundle is None:
        return None
    context = ssl.create_default_context(cafile=ca_bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context

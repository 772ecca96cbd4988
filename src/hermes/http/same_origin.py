"""Which hosts and origins this server answers: the guards against rebinding and forgery.

A page elsewhere can make a browser send requests here. The host check stops a foreign name that
resolves to this machine; the origin check stops a foreign page that uses the session cookie.
"""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from hermes.errors import Forbidden
from hermes.ports.gateway_api import Caller

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
LOOPBACK = ("127.0.0.0/8", "::1/128")


def is_loopback(host: str) -> bool:
    """Return whether a bind address is reachable from this machine only."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(value: str) -> str:
    """Return the host of a Host header in lower case, without its port; brackets stay."""
    if value.startswith("["):
        return value.partition("]")[0].lower() + "]"
    return value.partition(":")[0].lower()


class Origins:
    """The names of this server: its bind address, and its public address.

    A reverse proxy is one of `trusted_proxies`: only from there a request can have come over https
    that arrives over http. Anybody else can write any Host and X-Forwarded header.
    """

    def __init__(
        self,
        *,
        bound_host: str,
        public_url: str | None = None,
        trusted_proxies: Iterable[str] = LOOPBACK,
    ) -> None:
        parts = urlsplit(public_url or "")
        self._public_url = (public_url or "").rstrip("/")
        self._loopback = is_loopback(bound_host)
        self._public_name = host_name(parts.netloc.rpartition("@")[2])
        self._public_origin = _origin_of(parts.scheme, parts.netloc) if parts.netloc else None
        self._public_is_https = parts.scheme == "https"
        self._proxies = tuple(ip_network(one) for one in trusted_proxies)

    def knows_host(self, host: str | None) -> bool:
        """Return whether a request with this Host header is meant for this server."""
        if not self._loopback:
            return True
        if host is None:
            return False
        name = host_name(host)
        return name in _LOOPBACK_NAMES or (name == self._public_name and name != "")

    def is_secure(self, scheme: str, headers: Mapping[str, str], *, peer: str | None) -> bool:
        """Return whether the client talks https to us, directly or to a trusted proxy.

        `peer` is the address that the connection comes from. What the proxy says of the client's
        connection counts; if it says nothing, the public address does.
        """
        if scheme == "https":
            return True
        if not self._is_trusted(peer):
            return False
        said = headers.get("x-forwarded-proto")
        if said is not None:
            # One value for each proxy on the way.
            return all(one.strip().lower() == "https" for one in said.split(","))
        name = host_name(headers.get("host", ""))
        return self._public_is_https and name == self._public_name

    def home(self, headers: Mapping[str, str], *, is_secure: bool) -> str:
        """Return the address of this server as the browser knows it, without a slash at its end."""
        scheme = "https" if is_secure else "http"
        return self._public_url or f"{scheme}://{headers.get('host', '')}"

    def _is_trusted(self, peer: str | None) -> bool:
        try:
            address = ip_address(peer or "")
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._proxies)

    def is_same(self, headers: Mapping[str, str]) -> bool:
        """Return whether the browser reports that one of our own pages made this request."""
        site = headers.get("sec-fetch-site")
        if "origin" not in headers:
            # Browsers omit it if a page of the same origin only reads; no page can set the other
            # header.
            return site == "same-origin"
        if site not in {None, "same-origin"}:
            return False
        parts = urlsplit(headers.get("origin", ""))
        if not parts.netloc or parts.scheme not in _DEFAULT_PORTS:
            return False
        origin = _origin_of(parts.scheme, parts.netloc)
        here = _origin_of(parts.scheme, headers.get("host", ""))
        return origin in {here, self._public_origin}

    def check(self, caller: Caller, headers: Mapping[str, str]) -> None:
        """Raise `Forbidden` for a session cookie that another site's page uses."""
        if caller.kind == "browser" and not self.is_same(headers):
            raise Forbidden(
                "This request carries the browser's session but was not made by this server's "
                "own page. Programs: send 'Authorization: Bearer TOKEN' and no cookie. Behind a "
                "proxy: set server.public_url to the address in the browser."
            )


def _origin_of(scheme: str, netloc: str) -> str:
    host = netloc.lower().removesuffix(_DEFAULT_PORTS.get(scheme, ""))
    return f"{scheme}://{host}"

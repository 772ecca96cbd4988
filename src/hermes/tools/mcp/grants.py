"""What an authorization server has granted for an MCP server: tokens, sealed in the store.

They are kept beside the secrets that operators store, under an owner that no agent can be: so they are
encrypted, masked in everything that is shown, and part of backups, and nobody reads them back.
"""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from hermes.config import McpServerSettings
from hermes.ports.clock import Clock
from hermes.ports.secrets import GRANTS_OWNER, SecretStore

_NAME = "OAUTH_GRANT"
_BY = "oauth"
_MOST = 10
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, and the client that they were given to; `expires_at` None means unknown.

    They are for the server at `url` alone, and their `issuer` is the only one that sees them again.
    """

    client_id: str
    client_secret: str = ""
    access_token: str = ""
    refresh_token: str = ""
    expires_at: float | None = None
    scope: str = ""
    url: str = ""
    issuer: str = ""

    def is_for(self, *, url: str, issuer: str) -> bool:
        """Return whether the tokens may be sent to this server and this issuer."""
        return self.url == url and self.issuer.rstrip("/") == issuer.rstrip("/")

    def __repr__(self) -> str:
        return f"Grant(client_id={self.client_id!r}, ****)"


_decode = msgspec.json.Decoder(Grant).decode


class GrantStore(Protocol):
    """Keeps the grants of MCP servers; each write is durable when it returns."""

    def now(self) -> float:
        """Return the time."""
        ...

    async def load(self, server: str) -> Grant | None:
        """Return what was granted for a server."""
        ...

    async def save(self, server: str, grant: Grant) -> None:
        """Keep a grant, in place of the one before."""
        ...

    async def drop(self, server: str) -> bool:
        """Forget a grant; False if there is none."""
        ...


class StoredGrants:
    """Keeps grants beside the secrets of the gateway."""

    def __init__(self, store: SecretStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def now(self) -> float:
        """Return the time."""
        return self._clock.now()

    async def load(self, server: str) -> Grant | None:
        """Return what was granted for a server."""
        found = (await self._store.values()).get((GRANTS_OWNER + server, _NAME))
        return None if found is None else _decode(found.encode())

    async def save(self, server: str, grant: Grant) -> None:
        """Keep a grant, in place of the one before."""
        value = msgspec.json.encode(grant).decode()
        await self._store.put(
            _NAME, value, agent=GRANTS_OWNER + server, at=self.now(), by=_BY, most=_MOST
        )

    async def drop(self, server: str) -> bool:
        """Forget a grant; False if there is none."""
        return await self._store.drop(_NAME, agent=GRANTS_OWNER + server)


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, in one form."""
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def oauth_origins(settings: McpServerSettings) -> frozenset[str]:
    """Return where requests about tokens may go: nowhere that the operator has not written down."""
    oauth = settings.oauth
    known = (settings.url, oauth.issuer, *oauth.endpoints)
    return frozenset(origin_of(url) for url in known if url is not None)

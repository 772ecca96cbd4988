"""Who may order what of the gateway: roles, and the credentials that carry them."""

from typing import Final, Literal, Protocol

import msgspec

Role = Literal["viewer", "operator", "owner"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "owner")


def allows(role: Role, least: Role) -> bool:
    """Tell whether a role is enough where at least another one is needed."""
    return ROLES.index(role) >= ROLES.index(least)


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A token or a browser's session, without its secret; `token` is the one that signed it in."""

    id: str
    label: str
    role: Role
    created_at: float = 0.0
    expires_at: float | None = None
    token: str = ""


def credential_id(digest: bytes) -> str:
    """Return the name under which a credential is spoken of; it tells nothing of the secret."""
    return f"t_{digest.hex()[:12]}"


class AccessStore(Protocol):
    """Credentials, kept only as hashes."""

    async def add(
        self,
        kind: str,
        digest: bytes,
        *,
        label: str,
        expires_at: float | None,
        role: Role = "owner",
        parent: bytes | None = None,
    ) -> None:
        """Keep a credential's hash; `parent` is the token's that signs a browser in."""
        ...

    def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Tell whether a credential is known and not expired."""
        ...

    def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        ...

    def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, the newest first."""
        ...

    async def revoke(self, token_id: str) -> bool:
        """End a token and the sessions that it signed in; false when there is none of this id."""
        ...

    async def use_once(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Use up a one-time credential; true for exactly one caller."""
        ...

    def any(self, kind: str) -> bool:
        """Tell whether a credential of this kind exists."""
        ...

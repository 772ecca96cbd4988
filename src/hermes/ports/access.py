"""Who may order what of the gateway: roles, and the credentials that carry them."""

from typing import Final, Literal, Protocol

import msgspec

Role = Literal["viewer", "operator", "owner"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "owner")


def allows(role: Role, least: Role) -> bool:
    """Return whether a role is enough where at least another one is needed."""
    return ROLES.index(role) >= ROLES.index(least)


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A token, a sign-in link or a browser's session, without its secret.

    `token` is the id of the credential that made it: the token that was pasted, or the token or
    session that made the link or the token. It is empty if the command line made it. A token that
    `may_delegate` gives tasks to agents by commands in its messages.
    """

    id: str
    label: str
    role: Role
    created_at: float = 0.0
    expires_at: float | None = None
    token: str = ""
    seen_at: float | None = None
    digest: bytes = b""
    parent: bytes | None = None
    may_delegate: bool = False


def credential_id(digest: bytes) -> str:
    """Return the log name of a credential; it reveals nothing of the secret."""
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
        may_delegate: bool = False,
    ) -> None:
        """Keep a credential's hash; `parent` is the hash of the token or session that makes it.

        A link ends with its maker at the latest, a session with the token at the start of its chain;
        a token stays. Raises `Unauthenticated` if the parent has ended meanwhile.
        """
        ...

    async def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Return whether a credential is known and not expired."""
        ...

    async def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        ...

    async def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, the newest first."""
        ...

    async def revoke(self, credential: str) -> bool:
        """End a token or session by its id, and every link and session that was made from it.

        Tokens that were made from it stay.
        Returns false if there is no token or session with this id.
        """
        ...

    async def revoke_all(self, kind: str, *, keep: str = "") -> int:
        """End every credential of a kind, with what was made from it; return how many ended.

        `keep` is the id of one that stays, even if it was made from one that ends.
        """
        ...

    async def sign_out(self, digest: bytes) -> bool:
        """End one session and its unused links; sessions that were made from it stay."""
        ...

    async def touch(self, kind: str, digest: bytes, *, at: float) -> None:
        """Note when a credential was last used."""
        ...

    async def use_link(
        self, link: bytes, session: bytes, *, label: str, now: float, expires_at: float | None
    ) -> bool:
        """Use up a sign-in link and keep the hash of the session that it makes: both, or neither.

        True for exactly one caller.
        """
        ...

    async def any(self, kind: str) -> bool:
        """Return whether a credential of this kind exists."""
        ...

"""Who may order what of the gateway: roles, and the credentials that carry them."""

import re
from typing import Final, Literal, Protocol

import msgspec

Role = Literal["person", "viewer", "operator", "owner"]
OperatorRole = Literal["viewer", "operator", "owner"]
InvitedRole = Literal["person", "viewer", "operator"]
# A person talks to agents and orders nothing of the gateway.
ROLES: Final[tuple[Role, ...]] = ("person", "viewer", "operator", "owner")
OPERATOR_ROLES: Final[tuple[OperatorRole, ...]] = ("viewer", "operator", "owner")
_INVITATION: Final = re.compile(r"[A-HJ-NP-Z2-9]{16}")
_BETWEEN: Final = re.compile(r"[\s-]+")


def allows(role: Role, least: Role) -> bool:
    """Return whether a role is enough where at least another one is needed."""
    return ROLES.index(role) >= ROLES.index(least)


def read_invitation(text: str) -> str | None:
    """Return the code of an invitation as it is kept, however it was typed; None if it is none."""
    code = _BETWEEN.sub("", text[:100]).upper()
    return code if _INVITATION.fullmatch(code) else None


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A token, a sign-in link or a browser's session, without its secret.

    `token` is the id of the credential that made it: the token that was pasted, or the token or
    session that made the link or the token. It is empty if the command line made it. A token that
    `may_delegate` gives tasks to agents by commands in its messages. `user` is the id in the web chat
    of the person to whom a link, an invitation or a session belongs; a token has none.
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
    user: str = ""


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A browser session to be kept: its hash, the browser's name, and when it begins and ends."""

    digest: bytes
    label: str
    now: float
    expires_at: float | None


class Newcomer(msgspec.Struct, frozen=True, kw_only=True):
    """A person of the web chat who may sign in: their id there, and their name if it is known."""

    user: str
    name: str = ""


def credential_id(digest: bytes) -> str:
    """Return the log name of a credential; it reveals nothing of the secret."""
    return f"t_{digest.hex()[:12]}"


LinkKind = Literal["signin", "invite"]


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
        user: str = "",
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

    async def use_link(self, kind: LinkKind, link: bytes, session: NewSession) -> bool:
        """Use up a sign-in link or an invitation and keep the session that it makes: both, or neither.

        The session has the role and the person of the link. True for exactly one caller. Raises
        `Forbidden` if the person is blocked.
        """
        ...

    async def invite(
        self, digest: bytes, who: Newcomer, *, role: Role, at: float, expires_at: float
    ) -> Credential:
        """Keep an invitation, and let its person into the web chat, who is made if unknown.

        Raises `Forbidden` if the person is blocked, `Conflict` if there are too many invitations.
        """
        ...

    async def withdraw(self, invitation: str) -> bool:
        """End an invitation by its id; false if there is none."""
        ...

    async def admit(self, who: Newcomer, session: NewSession) -> None:
        """Keep a session of a person whom somebody else has identified; they are made if unknown.

        Raises `Forbidden` if they are blocked.
        """
        ...

    async def sessions_of(self, user: str) -> tuple[Credential, ...]:
        """Return the browser sessions of a person of the web chat, the newest first."""
        ...

    async def name_of(self, user: str) -> str:
        """Return the name of a person of the web chat; empty if none is known."""
        ...

    async def end_sessions_of(self, user: str, *, only: str = "", keep: str = "") -> int:
        """End a person's own sessions and say how many: one by its id, or all but one."""
        ...

    async def any(self, kind: str) -> bool:
        """Return whether a credential of this kind exists."""
        ...

"""Who may order what of the gateway: roles, and the credentials that carry them."""

from typing import Final, Literal

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

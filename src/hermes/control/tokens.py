"""API tokens and their roles: made, listed and revoked by the owner.

A token is 256 random bits, shown once and kept only as its SHA-256; the server finds it by the same
digest. Browsers that were signed in with a token end with it.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final, Literal

import msgspec
import structlog

from hermes.errors import BadRequest, NotFound
from hermes.ports.access import ROLES, AccessStore, Credential, Role, credential_id
from hermes.ports.clock import Clock

_log = structlog.get_logger(__name__)
# A public prefix lets secret scanners find a leaked token.
TOKEN_PREFIX: Final = "hermes_"
RandomBytes = Callable[[int], bytes]
TokenState = Literal["active", "expired"]
_SECRET_BYTES = 32
_LONGEST_NAME = 200
_LONGEST_LIFE_S = 10**10
_KNOWN_SHOWN = 10


class NewToken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token as the owner wants it; without a lifetime it is good until it is revoked."""

    role: Role
    name: str = ""
    lifetime_s: float | None = None
    by: str = ""


class TokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    name: str
    role: Role
    state: TokenState
    created_at: float
    expires_at: float | None = None


class MadeToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token with its secret, which nobody can read again."""

    secret: str
    token: TokenLine


class TokensReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every token, the newest first."""

    tokens: tuple[TokenLine, ...] = ()


class TokenEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to revoke a token by its id, or by a beginning of it that no other has."""

    id: str
    by: str = ""


class EndedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that is good for nothing any more."""

    token: TokenLine


def token_digest(secret: str) -> bytes:
    """Return the hash under which a token is known."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


class TokenDesk:
    """Where the owner's orders about tokens arrive."""

    def __init__(self, access: AccessStore, *, clock: Clock, random_bytes: RandomBytes) -> None:
        self._access = access
        self._clock = clock
        self._random_bytes = random_bytes

    async def create(self, new: NewToken) -> MadeToken:
        """Make a token; only now its secret is told."""
        _check(new)
        now = self._clock.now()
        text = urlsafe_b64encode(self._random_bytes(_SECRET_BYTES)).rstrip(b"=").decode("ascii")
        secret = TOKEN_PREFIX + text
        token = Credential(
            id=credential_id(token_digest(secret)),
            label=new.name or "hermes token",
            role=new.role,
            created_at=now,
            expires_at=None if new.lifetime_s is None else now + new.lifetime_s,
        )
        await self._access.add(
            "token",
            token_digest(secret),
            label=token.label,
            expires_at=token.expires_at,
            role=token.role,
        )
        _log.info("token_created", token_id=token.id, role=token.role, by=new.by)
        return MadeToken(secret=secret, token=_line(token, now))

    async def list(self) -> TokensReport:
        """Return every token."""
        now = self._clock.now()
        return TokensReport(tokens=tuple(_line(one, now) for one in self._access.list("token")))

    async def revoke(self, end: TokenEnd) -> EndedToken:
        """End a token at once, and the browsers that it signed in."""
        token = _find(self._access.list("token"), end.id)
        if not await self._access.revoke(token.id):
            raise _unknown((), end.id)
        _log.info("token_revoked", token_id=token.id, by=end.by)
        return EndedToken(token=_line(token, self._clock.now()))


def _line(token: Credential, now: float) -> TokenLine:
    is_over = token.expires_at is not None and token.expires_at <= now
    return TokenLine(
        id=token.id,
        name=token.label,
        role=token.role,
        state="expired" if is_over else "active",
        created_at=token.created_at,
        expires_at=token.expires_at,
    )


def _check(new: NewToken) -> None:
    if len(new.name) > _LONGEST_NAME:
        raise BadRequest(
            f"The name of the token has {len(new.name)} characters; write at most {_LONGEST_NAME}."
        )
    if new.lifetime_s is not None and not 1 <= new.lifetime_s <= _LONGEST_LIFE_S:
        raise BadRequest(
            f"The token is to last {new.lifetime_s:g} s: expected 1 to {_LONGEST_LIFE_S:,}."
        )
    if new.role not in ROLES:
        raise BadRequest(f"{new.role!r} is no role: expected one of {', '.join(ROLES)}.")


def _find(known: Sequence[Credential], name: str) -> Credential:
    matches = [one for one in known if one.id == name] or [
        one for one in known if name and one.id.startswith(name)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise BadRequest(
            f"{len(matches)} tokens begin with {name[:40]!r}: {_named(matches)}. Write more of the "
            "id."
        )
    raise _unknown(known, name)


def _unknown(known: Sequence[Credential], name: str) -> NotFound:
    told = f"The tokens: {_named(known)}" if known else "There is no token"
    # A secret may have been pasted in the place of the id: it is not repeated.
    shown = "this name" if name.startswith(TOKEN_PREFIX) else repr(name[:40])
    return NotFound(f"No token is known as {shown}. {told}. `hermes token list` shows all.")


def _named(tokens: Sequence[Credential]) -> str:
    names = [f"{one.id} ({one.label})" for one in tokens[:_KNOWN_SHOWN]]
    more = len(tokens) - len(names)
    return ", ".join([*names, f"and {more} more"] if more else names)

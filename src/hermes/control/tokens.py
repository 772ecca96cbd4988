"""API tokens and browser sessions: listed and revoked by the owner, who also makes tokens.

A token is 256 random bits, shown once and kept only as its SHA-256; the server finds it by the same
digest. Browser sessions that were made with a token, or with a link of that token, end with it.
Tokens do not end with the token or the browser that made them: who revokes one is told which stay.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import Final, Literal

import msgspec
import structlog

from hermes.errors import BadRequest, NotFound, Unauthenticated
from hermes.message.short_ids import find_short
from hermes.ports.access import (
    OPERATOR_ROLES,
    AccessStore,
    Credential,
    OperatorRole,
    Role,
    credential_id,
)
from hermes.ports.clock import Clock
from hermes.ports.request_numbers import Quantity

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
    """A token as the owner wants it; without a lifetime it is good until it is revoked.

    One that `may_delegate` gives tasks to agents by commands in its messages.
    """

    role: OperatorRole
    name: str = ""
    lifetime_s: Quantity | None = None
    may_delegate: bool = False
    by: str = ""


class TokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret; `made_by` is the token or session that made it, if any."""

    id: str
    name: str
    role: Role
    state: TokenState
    created_at: float
    expires_at: float | None = None
    may_delegate: bool = False
    made_by: str = ""


class MadeToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token with its secret, which nobody can read again."""

    secret: str
    token: TokenLine


class BrowserLine(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in; `made_by` is the token or session it came from, if any.

    `user` is as whom it writes in the web chat; empty if it has no conversations there.
    """

    id: str
    browser: str
    role: Role
    state: TokenState
    created_at: float
    expires_at: float | None = None
    seen_at: float | None = None
    made_by: str = ""
    user: str = ""


class TokensReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every token and every browser session, the newest first."""

    tokens: tuple[TokenLine, ...] = ()
    sessions: tuple[BrowserLine, ...] = ()


class TokenEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to revoke a token or a browser session by its id or a beginning of it, or all of them."""

    id: str = ""
    sessions: bool = False
    tokens: bool = False
    by: str = ""


class EndedToken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The token or session that was named and has ended, or how many ended.

    `kept` are the tokens that those made which ended: they are still good.
    """

    token: TokenLine | None = None
    session: BrowserLine | None = None
    tokens: int = 0
    sessions: int = 0
    kept: tuple[TokenLine, ...] = ()


class SignInLinkOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish for a sign-in link; with `revoke_others` every other browser is signed out first."""

    revoke_others: bool = False
    by: str = ""


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A new one-time sign-in link."""

    link: str


class TokenSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a new token, which nobody can read again."""

    token: str


def token_digest(secret: str) -> bytes:
    """Return the hash under which a token is known."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


async def maker_digest(access: AccessStore, credential: str) -> bytes | None:
    """Return the hash of the token or session that makes another credential, by its id.

    None for the command line, which has no id. Raises `Unauthenticated` for one that has ended.
    """
    if not credential:
        return None
    for one in (*await access.list("token"), *await access.list("session")):
        if one.id == credential:
            return one.digest
    raise Unauthenticated("The token or session that asks for this has ended.")


async def sign_out_all(access: AccessStore, keep: str = "") -> int:
    """End every browser session but `keep`, and every unused link; return how many sessions."""
    await access.revoke_all("signin")
    return await access.revoke_all("session", keep=keep)


class TokenOperations:
    """Where the owner's orders about tokens arrive."""

    def __init__(self, access: AccessStore, *, clock: Clock, random_bytes: RandomBytes) -> None:
        self._access = access
        self._clock = clock
        self._random_bytes = random_bytes

    async def create(self, new: NewToken, maker: str = "") -> MadeToken:
        """Make a token, whose secret is shown only now; `maker` is the id of the credential that asks."""
        _check(new)
        parent = await maker_digest(self._access, maker)
        now = self._clock.now()
        text = urlsafe_b64encode(self._random_bytes(_SECRET_BYTES)).rstrip(b"=").decode("ascii")
        secret = TOKEN_PREFIX + text
        token = Credential(
            id=credential_id(token_digest(secret)),
            label=new.name or "hermes token",
            role=new.role,
            created_at=now,
            expires_at=None if new.lifetime_s is None else now + new.lifetime_s,
            token=maker,
            may_delegate=new.may_delegate,
        )
        await self._access.add(
            "token",
            token_digest(secret),
            label=token.label,
            expires_at=token.expires_at,
            role=token.role,
            parent=parent,
            may_delegate=token.may_delegate,
        )
        _log.info("token_created", token_id=token.id, role=token.role, by=new.by)
        return MadeToken(secret=secret, token=_line(token, now))

    async def create_owner(self, maker: str = "") -> TokenSecret:
        """Make a token with the owner's role and return only its secret."""
        made = await self.create(NewToken(role="owner"), maker)
        return TokenSecret(token=made.secret)

    async def list(self) -> TokensReport:
        """Return every token and every browser session."""
        now = self._clock.now()
        return TokensReport(
            tokens=tuple(_line(one, now) for one in await self._access.list("token")),
            sessions=tuple(_session(one, now) for one in await self._access.list("session")),
        )

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of every token and every browser session."""
        tokens, sessions = await self._access.list("token"), await self._access.list("session")
        return tuple(one.id for one in (*tokens, *sessions))

    async def revoke(self, end: TokenEnd) -> EndedToken:
        """End a token or a browser session at once, and the browsers that it signed in; or all."""
        if end.sessions or end.tokens:
            return await self._revoke_all(end)
        tokens, sessions = await self._access.list("token"), await self._access.list("session")
        found = _find((*tokens, *sessions), end.id)
        if not await self._access.revoke(found.id):
            raise _unknown((), end.id)
        _log.info("token_revoked", token_id=found.id, by=end.by)
        now = self._clock.now()
        left = {one.id for one in await self._access.list("session")}
        kept = await self._made_by({found.id, *(one.id for one in sessions if one.id not in left)})
        if found in tokens:
            return EndedToken(token=_line(found, now), kept=kept)
        return EndedToken(session=_session(found, now), kept=kept)

    async def _revoke_all(self, end: TokenEnd) -> EndedToken:
        if end.id:
            raise BadRequest("Name one token or session, or revoke all of a kind, not both.")
        sessions = await sign_out_all(self._access) if end.sessions else 0
        tokens = await self._access.revoke_all("token") if end.tokens else 0
        _log.info("tokens_revoked", tokens=tokens, sessions=sessions, by=end.by)
        # Browsers that signed out before count too: whoever used one may still have its tokens.
        left = await self._access.list("token")
        kept = await self._made_by({one.token for one in left} - {one.id for one in left} - {""})
        return EndedToken(tokens=tokens, sessions=sessions, kept=kept)

    async def _made_by(self, makers: Collection[str]) -> tuple[TokenLine, ...]:
        """Return the tokens that one of these tokens and sessions made."""
        now = self._clock.now()
        lines = (_line(one, now) for one in await self._access.list("token") if one.token in makers)
        return tuple(one for one in lines if one.state == "active")


def _line(token: Credential, now: float) -> TokenLine:
    return TokenLine(
        id=token.id,
        name=token.label,
        role=token.role,
        state=_state(token, now),
        created_at=token.created_at,
        expires_at=token.expires_at,
        may_delegate=token.may_delegate,
        made_by=token.token,
    )


def _session(session: Credential, now: float) -> BrowserLine:
    return BrowserLine(
        id=session.id,
        browser=session.label,
        role=session.role,
        state=_state(session, now),
        created_at=session.created_at,
        expires_at=session.expires_at,
        seen_at=session.seen_at,
        made_by=session.token,
        user=session.user,
    )


def _state(credential: Credential, now: float) -> TokenState:
    is_over = credential.expires_at is not None and credential.expires_at <= now
    return "expired" if is_over else "active"


def _check(new: NewToken) -> None:
    if len(new.name) > _LONGEST_NAME:
        raise BadRequest(
            f"The name of the token has {len(new.name)} characters; write at most {_LONGEST_NAME}."
        )
    if new.lifetime_s is not None and not 1 <= new.lifetime_s <= _LONGEST_LIFE_S:
        raise BadRequest(
            f"The token is to last {new.lifetime_s:g} s: expected 1 to {_LONGEST_LIFE_S:,}."
        )
    if new.may_delegate and new.role == "viewer":
        raise BadRequest("A viewer's token sends no messages, so it cannot delegate.")
    if new.role not in OPERATOR_ROLES:
        roles = ", ".join(OPERATOR_ROLES)
        raise BadRequest(f"{new.role!r} is no role of a token: expected one of {roles}.")


def _find(known: Sequence[Credential], name: str) -> Credential:
    found = find_short(name, {one.id: one for one in known}, label=_label)
    if found is None:
        raise _unknown(known, name)
    return found


def _unknown(known: Sequence[Credential], name: str) -> NotFound:
    told = f"Known ids: {_named(known)}" if known else "There is no token"
    # A secret may have been pasted in the place of the id: it is not repeated.
    shown = "this name" if name.startswith(TOKEN_PREFIX) else repr(name[:40])
    return NotFound(
        f"No token or session is known as {shown}. {told}. `hermes token list` shows all."
    )


def _named(tokens: Sequence[Credential]) -> str:
    names = [_label(one) for one in tokens[:_KNOWN_SHOWN]]
    more = len(tokens) - len(names)
    return ", ".join([*names, f"and {more} more"] if more else names)


def _label(one: Credential) -> str:
    return f"{one.id} ({one.label})"

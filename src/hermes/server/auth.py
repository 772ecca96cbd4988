"""HTTP authentication: bearer tokens, one-time sign-in codes, browser sessions.

Every secret is 256 random bits, shown once and stored only as its SHA-256. The gateway API's
`authenticate` delegates here; nothing here knows about messages or routes.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
import structlog

from hermes.control.tokens import TOKEN_PREFIX, maker_digest, sign_out_all, token_digest
from hermes.errors import Forbidden, StoreError, TryLater, Unauthenticated
from hermes.http.cookies import cookie_in
from hermes.message.owner import WEB_OWNER
from hermes.ports.access import (
    AccessStore,
    Credential,
    LinkKind,
    Newcomer,
    NewSession,
    Role,
    read_invitation,
)
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import Caller

COOKIE = "hermes_session"
RandomBytes = Callable[[int], bytes]

_OWNER = WEB_OWNER[1]
_LOCAL = Caller("local", "cli", user=_OWNER)
# Often enough to see whether a session is still in use.
_NOTE_USE_EVERY_S: Final = 3600.0
_LONGEST_LABEL: Final = 200
_log = structlog.get_logger(__name__)


class AccessTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long credentials last."""

    code_s: float = 15 * 60.0
    session_s: float = 30 * 86_400.0


class Access(Protocol):
    """The access control that the server and the web chat use."""

    async def make_token(self, label: str, *, role: Role = "owner", maker: str = "") -> str:
        """Return a new API token, which is shown only now; `maker` is the id of the credential that
        asks.
        """
        ...

    async def make_signin_code(self, maker: str = "", *, revoke_others: bool = False) -> str:
        """Return a code that signs in one browser; `maker` is the id of the credential that asks.

        With `revoke_others` every other browser is signed out first.
        """
        ...

    async def sign_in(self, code: str, *, browser: str = "") -> str:
        """Use up a one-time code; return the session's secret or raise `Unauthenticated`."""
        ...

    async def sign_in_with_token(self, token: str, *, browser: str = "") -> str:
        """Return a new session's secret for a valid token or raise `Unauthenticated`."""
        ...

    async def admit(self, who: Newcomer, *, browser: str = "") -> str:
        """Return a new session's secret for a person whom an identity provider has identified."""
        ...

    async def sessions_of(self, caller: Caller) -> tuple[Credential, ...]:
        """Return the browser sessions of the caller's person, the newest first."""
        ...

    async def name_of(self, caller: Caller) -> str:
        """Return the name of the caller's person, or as whom they write if no name is known."""
        ...

    async def end_sessions(self, caller: Caller, *, only: str = "") -> int:
        """End one of the caller's own sessions, or all others; return how many ended."""
        ...

    async def sign_out(self, headers: Mapping[str, str]) -> bool:
        """End the session in the request's cookie; return False if it had already ended."""
        ...

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Check the bearer token or the session cookie; raise `Unauthenticated` if neither is
        valid.
        """
        ...

    def cookie(self, session: str, *, secure: bool) -> str:
        """Return the Set-Cookie value that keeps the session in a browser; "" removes it."""
        ...


class StoredAccess:
    """Access control over the store's hashes; fits `Access`.

    `local_token` is the secret of this machine's command line. It lives in a file that only its
    owner can read, changes with every start, and is never stored here.
    """

    def __init__(
        self,
        store: AccessStore,
        *,
        clock: Clock,
        times: AccessTimes | None = None,
        local_token: str | None = None,
        random_bytes: RandomBytes = secrets.token_bytes,
    ) -> None:
        self._store = store
        self._clock = clock
        self._times = times or AccessTimes()
        self._local_digest = token_digest(local_token) if local_token else None
        self._random_bytes = random_bytes

    async def make_token(self, label: str, *, role: Role = "owner", maker: str = "") -> str:
        """Return a new API token, which is shown only now; `maker` is the id of the credential that
        asks.
        """
        token = TOKEN_PREFIX + self._secret()
        parent = await maker_digest(self._store, maker)
        await self._store.add(
            "token", token_digest(token), label=label, expires_at=None, role=role, parent=parent
        )
        return token

    async def make_signin_code(self, maker: str = "", *, revoke_others: bool = False) -> str:
        """Return a code that signs in one browser; `maker` is the id of the credential that
        asks.
        """
        if revoke_others:
            await sign_out_all(self._store, keep=maker)
        code = self._secret()
        expires_at = self._clock.now() + self._times.code_s
        parent = await maker_digest(self._store, maker)
        await self._store.add(
            "signin",
            token_digest(code),
            label="link",
            expires_at=expires_at,
            parent=parent,
            user=_OWNER,
        )
        return code

    async def sign_in(self, code: str, *, browser: str = "") -> str:
        """Use up a one-time code or an invitation; return the session's secret.

        Raises `Unauthenticated`, or `Forbidden` if the person is blocked.
        """
        invitation = read_invitation(code)
        secret, session = self._new_session(browser or "link")
        digest = token_digest(invitation or code)
        kind: LinkKind = "signin" if invitation is None else "invite"
        if await self._store.use_link(kind, digest, session):
            return secret
        if invitation is not None:
            raise Unauthenticated(
                "This invitation was used, has expired or was withdrawn: ask for a new one."
            )
        raise Unauthenticated(
            "This sign-in link was used or has expired: run `hermes link` for a new one."
        )

    async def sign_in_with_token(self, token: str, *, browser: str = "") -> str:
        """Return a new session's secret for a valid token or raise `Unauthenticated`."""
        caller = await self._check_token(token)
        parent = None if caller.kind == "local" else token_digest(token)
        secret, session = self._new_session(browser or "token")
        await self._store.add(
            "session",
            session.digest,
            label=session.label,
            expires_at=session.expires_at,
            role=caller.role,
            parent=parent,
            user=caller.user,
        )
        return secret

    async def admit(self, who: Newcomer, *, browser: str = "") -> str:
        """Return a new session's secret for a person whom an identity provider has identified."""
        secret, session = self._new_session(browser or "sign-in")
        await self._store.admit(who, session)
        return secret

    async def sessions_of(self, caller: Caller) -> tuple[Credential, ...]:
        """Return the browser sessions of the caller's person, the newest first."""
        now = self._clock.now()
        known = await self._store.sessions_of(caller.user)
        return tuple(one for one in known if one.expires_at is None or one.expires_at > now)

    async def name_of(self, caller: Caller) -> str:
        """Return the name of the caller's person, or as whom they write if no name is known."""
        return await self._store.name_of(caller.user) or caller.user

    async def end_sessions(self, caller: Caller, *, only: str = "") -> int:
        """End one of the caller's own sessions, or all others; return how many ended."""
        keep = "" if only else caller.session
        return await self._store.end_sessions_of(caller.user, only=only, keep=keep)

    async def sign_out(self, headers: Mapping[str, str]) -> bool:
        """End the session in the request's cookie; return False if it had already ended."""
        session = session_in(headers.get("cookie", ""))
        return session is not None and await self._store.sign_out(token_digest(session))

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Check the bearer token or the session cookie; raise `Unauthenticated` if neither is
        valid.
        """
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer":
                raise Unauthenticated(
                    f"The Authorization header has the scheme {scheme[:40]!r}: send 'Bearer TOKEN'."
                )
            return await self._check_token(token.strip())
        session = session_in(headers.get("cookie", ""))
        if session is None:
            raise Unauthenticated(
                "No credential was sent: add the header 'Authorization: Bearer TOKEN', or open "
                "the link that `hermes link` prints to use a browser."
            )
        found = await self._store.find("session", token_digest(session), now=self._clock.now())
        if found is None:
            raise Unauthenticated(
                "This browser's session has ended or has expired: sign in again, with a new link "
                "or invitation."
            )
        await self._note_use(found)
        name = found.user or found.role
        return Caller("browser", name, found.role, found.token, found.id, user=found.user)

    async def _note_use(self, session: Credential) -> None:
        """Record now and then that a session is in use, for the list of sessions."""
        now = self._clock.now()
        if session.seen_at is not None and now - session.seen_at < _NOTE_USE_EVERY_S:
            return
        try:
            await self._store.touch("session", session.digest, at=now)
        except (StoreError, TryLater) as error:
            # A full disk must not keep anyone from reading.
            _log.warning("session_use_not_noted", problem=str(error))

    def cookie(self, session: str, *, secure: bool) -> str:
        """Return the Set-Cookie value that keeps the session in a browser; "" removes it."""
        age = int(self._times.session_s) if session else 0
        value = f"{COOKIE}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
        return f"{value}; Secure" if secure else value

    async def _check_token(self, token: str) -> Caller:
        digest = token_digest(token)
        if self._local_digest is not None and hmac.compare_digest(digest, self._local_digest):
            return _LOCAL
        # The store looks up the digest, not the secret: timing reveals nothing about the secret.
        found = await self._store.find("token", digest, now=self._clock.now())
        if found is not None:
            return _caller(found)
        raise Unauthenticated(
            "Unknown token: copy it again, or create a new one with `hermes token`."
        )

    def _new_session(self, label: str) -> tuple[str, NewSession]:
        """Return the secret of a new session, and what is kept of it."""
        secret, now = self._secret(), self._clock.now()
        return secret, NewSession(
            digest=token_digest(secret),
            label=label[:_LONGEST_LABEL],
            now=now,
            expires_at=now + self._times.session_s,
        )

    def _secret(self) -> str:
        return urlsafe_b64encode(self._random_bytes(32)).rstrip(b"=").decode("ascii")


def session_in(cookies: str) -> str | None:
    """Return the session's secret from a Cookie header."""
    return cookie_in(cookies, COOKIE)


def speaking(caller: Caller) -> Caller:
    """Return a caller that may send messages of anybody; raise `Forbidden` for others."""
    if operating(caller).role == "viewer":
        raise Forbidden(
            "This is a viewer's token: it may read /control and /metrics, but not send messages. "
            "Messages need the role operator: `hermes token create --role operator` makes one."
        )
    return caller


def operating(caller: Caller) -> Caller:
    """Return an operator; raise `Forbidden` for a person, who may use the web chat alone."""
    if caller.role == "person":
        raise Forbidden(
            "You are signed in to the web chat, and this is for operators. Use the chat page."
        )
    return caller


def _caller(token: Credential) -> Caller:
    user = _OWNER if token.role == "owner" else ""
    may_delegate = token.may_delegate
    return Caller("token", "api", token.role, token.id, may_delegate=may_delegate, user=user)

"""The in-memory twin of the store's credentials; fits `ports.store.AccessStore`."""

import msgspec

from hermes.errors import Conflict, Forbidden, Unauthenticated
from hermes.ports.access import Credential, LinkKind, Newcomer, NewSession, Role, credential_id

_MAKERS = ("token", "session")
_MOST_INVITED = 1_000
_MOST_SESSIONS = 50


class MemoryAccessStore:
    """Stores credential hashes in a dictionary; `blocked` are users of the web chat."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Credential] = {}
        self.blocked: set[str] = set()
        self._names: dict[str, str] = {}

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
        """Store a credential's hash."""
        limits = () if parent is None else self._ends_of_makers(kind, parent)
        known = [one for one in (expires_at, *limits) if one is not None]
        self._known[kind, digest] = Credential(
            id=credential_id(digest),
            label=label,
            role=role,
            expires_at=min(known, default=None),
            token="" if parent is None else credential_id(parent),
            digest=digest,
            parent=parent,
            may_delegate=may_delegate,
            user=user,
        )

    async def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Return whether a credential is known and not expired."""
        return await self.find(kind, digest, now=now) is not None

    async def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        found = self._known.get((kind, digest))
        if found is None or (found.expires_at is not None and now >= found.expires_at):
            return None
        return None if found.role != "owner" and found.user in self.blocked else found

    async def use_link(self, kind: LinkKind, link: bytes, session: NewSession) -> bool:
        """Use up a sign-in link or an invitation and store its session: both, or neither."""
        found = self._known.get((kind, link))
        if found is None or (found.expires_at is not None and session.now >= found.expires_at):
            return False
        if found.role != "owner":
            self._refuse_blocked(found.user)
        await self._keep(session, user=found.user, role=found.role, parent=found.parent)
        del self._known[kind, link]
        return True

    async def invite(
        self, digest: bytes, who: Newcomer, *, role: Role, at: float, expires_at: float
    ) -> Credential:
        """Store an invitation of a person."""
        for one in await self.list("invite"):
            if one.expires_at is not None and one.expires_at <= at:
                del self._known["invite", one.digest]
        if len(await self.list("invite")) >= _MOST_INVITED:
            raise Conflict("Too many invitations are open.")
        self._refuse_blocked(who.user)
        self._know(who)
        new = Credential(
            id=credential_id(digest),
            label=who.name or who.user,
            role=role,
            created_at=at,
            expires_at=expires_at,
            digest=digest,
            user=who.user,
        )
        self._known["invite", digest] = new
        return new

    async def withdraw(self, invitation: str) -> bool:
        """End an invitation by its id; False if there is none."""
        ended = [one for one in await self.list("invite") if one.id == invitation]
        for one in ended:
            del self._known["invite", one.digest]
        return bool(ended)

    async def admit(self, who: Newcomer, session: NewSession) -> None:
        """Store a session of a person whom somebody else has identified."""
        self._refuse_blocked(who.user)
        self._know(who)
        await self._keep(session, user=who.user, role="person", parent=None)

    async def sessions_of(self, user: str) -> tuple[Credential, ...]:
        """Return the browser sessions of a person of the web chat, newest first."""
        return tuple(one for one in await self.list("session") if user and one.user == user)

    async def name_of(self, user: str) -> str:
        """Return the name of a person of the web chat; empty if none is known."""
        return self._names.get(user, "")

    def _know(self, who: Newcomer) -> None:
        if who.name:
            self._names[who.user] = who.name

    async def end_sessions_of(self, user: str, *, only: str = "", keep: str = "") -> int:
        """End a person's own sessions and say how many: one by its id, or all but one."""
        own = await self.sessions_of(user)
        ended = [one for one in own if only in ("", one.id) and one.id != keep]
        for one in ended:
            await self.sign_out(one.digest)
        return len(ended)

    async def _keep(
        self, session: NewSession, *, user: str, role: Role, parent: bytes | None
    ) -> None:
        if role != "owner":
            for one in (await self.sessions_of(user))[_MOST_SESSIONS - 1 :]:
                await self.sign_out(one.digest)
        await self.add(
            "session",
            session.digest,
            label=session.label,
            expires_at=session.expires_at,
            role=role,
            parent=parent,
            user=user,
        )

    def _refuse_blocked(self, user: str) -> None:
        if user in self.blocked:
            raise Forbidden(f"web:{user} is blocked.")

    async def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, newest first."""
        return tuple(one for (known, _), one in reversed(self._known.items()) if known == kind)

    async def revoke(self, credential: str) -> bool:
        """Revoke a token or session by its id, and every link and session made from it."""
        ended = [
            one.digest
            for (kind, _), one in self._known.items()
            if kind in _MAKERS and one.id == credential
        ]
        for digest in ended:
            self._end(digest)
        return bool(ended)

    async def revoke_all(self, kind: str, *, keep: str = "") -> int:
        """Revoke every credential of a kind, with what was made from it; return how many."""
        ended = [one for one in await self.list(kind) if one.id != keep]
        for one in await self.list(kind):
            if one.id == keep:
                self._move(kind, one, self._root(one.digest))
        for one in ended:
            self._end(one.digest)
        return len(ended)

    async def sign_out(self, digest: bytes) -> bool:
        """End one session and its unused links; sessions made from it stay."""
        gone = self._known.pop(("session", digest), None)
        if gone is None:
            return False
        for key, one in tuple(self._known.items()):
            if one.parent != digest:
                continue
            if key[0] == "signin":
                del self._known[key]
            elif key[0] == "session":
                self._move("session", one, gone.parent)
        return True

    async def touch(self, kind: str, digest: bytes, *, at: float) -> None:
        """Record when a credential was last used."""
        found = self._known.get((kind, digest))
        if found is not None:
            self._known[kind, digest] = msgspec.structs.replace(found, seen_at=at)

    def _ends_of_makers(self, kind: str, parent: bytes) -> tuple[float | None, ...]:
        """Return the expiry times that a new credential may not exceed; raise `Unauthenticated`."""
        makers = [self._known[one, parent] for one in _MAKERS if (one, parent) in self._known]
        if not makers:
            raise Unauthenticated("The token or session that asks for this has ended.")
        if kind == "signin":
            return (makers[0].expires_at,)
        root = self._root(parent)
        return (self._known["token", root].expires_at,) if root and kind == "session" else ()

    def _root(self, digest: bytes) -> bytes | None:
        """Return the token at the start of a chain of sessions."""
        found: bytes | None = digest
        while found is not None and ("session", found) in self._known:
            found = self._known["session", found].parent
        return found if ("token", found) in self._known else None

    def _move(self, kind: str, one: Credential, parent: bytes | None) -> None:
        token = "" if parent is None else credential_id(parent)
        self._known[kind, one.digest] = msgspec.structs.replace(one, parent=parent, token=token)

    def _end(self, digest: bytes) -> None:
        """Remove a credential and everything that was made from it."""
        children = [
            one.digest
            for (kind, _), one in self._known.items()
            if one.parent == digest and kind != "token"
        ]
        for key in [key for key in self._known if key[1] == digest]:
            del self._known[key]
        for child in children:
            self._end(child)

    async def any(self, kind: str) -> bool:
        """Return whether a credential of this kind exists."""
        return any(known == kind for known, _ in self._known)

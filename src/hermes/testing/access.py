"""The in-memory twin of the store's credentials; fits `ports.store.AccessStore`."""

import msgspec

from hermes.errors import Unauthenticated
from hermes.ports.access import Credential, Role, credential_id

_MAKERS = ("token", "session")


class MemoryAccessStore:
    """Stores credential hashes in a dictionary."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Credential] = {}

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
        )

    async def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Return whether a credential is known and not expired."""
        return await self.find(kind, digest, now=now) is not None

    async def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        found = self._known.get((kind, digest))
        if found is None or (found.expires_at is not None and now >= found.expires_at):
            return None
        return found

    async def use_link(
        self, link: bytes, session: bytes, *, label: str, now: float, expires_at: float | None
    ) -> bool:
        """Use up a sign-in link and store the hash of its session: both, or neither."""
        found = await self.find("signin", link, now=now)
        if found is None:
            return False
        await self.add("session", session, label=label, expires_at=expires_at, parent=found.parent)
        del self._known["signin", link]
        return True

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

"""The in-memory twin of the store's credentials; fits `ports.store.AccessStore`."""

from hermes.ports.access import Credential, Role, credential_id


class MemoryAccessStore:
    """Keeps credential hashes in a dictionary."""

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
    ) -> None:
        """Keep a credential's hash."""
        self._known[kind, digest] = Credential(
            id=credential_id(digest),
            label=label,
            role=role,
            expires_at=expires_at,
            token="" if parent is None else credential_id(parent),
        )

    def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Tell whether a credential is known and not expired."""
        return self.find(kind, digest, now=now) is not None

    def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        found = self._known.get((kind, digest))
        if found is None or (found.expires_at is not None and now >= found.expires_at):
            return None
        return found

    async def use_once(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Use up a one-time credential; true for exactly one caller."""
        is_good = self.check(kind, digest, now=now)
        self._known.pop((kind, digest), None)
        return is_good

    def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, the newest first."""
        return tuple(one for (known, _), one in reversed(self._known.items()) if known == kind)

    async def revoke(self, token_id: str) -> bool:
        """End a token and the sessions that it signed in; false when there is none of this id."""
        ended = [
            key
            for key, one in self._known.items()
            if (key[0] == "token" and one.id == token_id) or one.token == token_id
        ]
        for key in ended:
            del self._known[key]
        return any(kind == "token" for kind, _ in ended)

    def any(self, kind: str) -> bool:
        """Tell whether a credential of this kind exists."""
        return any(known == kind for known, _ in self._known)

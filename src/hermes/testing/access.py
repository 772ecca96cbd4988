"""The in-memory twin of the store's credentials; fits `ports.store.AccessStore`."""


class MemoryAccessStore:
    """Keeps credential hashes in a dictionary."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], float | None] = {}

    async def add(self, kind: str, digest: bytes, *, label: str, expires_at: float | None) -> None:
        """Keep a credential's hash."""
        self._known[kind, digest] = expires_at

    def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Tell whether a credential is known and not expired."""
        if (kind, digest) not in self._known:
            return False
        expires_at = self._known[kind, digest]
        return expires_at is None or now < expires_at

    async def use_once(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Use up a one-time credential; true for exactly one caller."""
        is_good = self.check(kind, digest, now=now)
        self._known.pop((kind, digest), None)
        return is_good

    def any(self, kind: str) -> bool:
        """Tell whether a credential of this kind exists."""
        return any(known == kind for known, _ in self._known)

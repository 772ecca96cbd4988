"""Numbers of rows that other rows refer to, made here, so that no write has to be read back."""


class Numbers:
    """Hands out numbers in order; one that a failed unit took is never used."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def begin_after(self, last: int) -> None:
        """Continue after the highest number in the database."""
        self._last = last

    def take(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last

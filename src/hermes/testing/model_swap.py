"""The in-memory twin of the store's choice of a default model."""

from hermes.ports.operations import ModelSwap


class MemoryModelSwap:
    """Fits `ports.operations.ModelSwapStore`."""

    def __init__(self) -> None:
        self._swap: ModelSwap | None = None

    async def get(self) -> ModelSwap | None:
        """Return the choice, or None if nobody made one."""
        return self._swap

    async def set(self, swap: ModelSwap | None) -> None:
        """Store a choice in place of the one before; None deletes it."""
        self._swap = swap

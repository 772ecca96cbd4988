"""The fleet port: processes that share one store, what each of them holds, and who takes over.

A node is a process that has joined. Leases on lanes, deliveries on the wire and claims belong to a
node, and end with it. Whether a node is alive is judged by the store's clock, never by its own.
"""

from typing import Protocol


class Fleet(Protocol):
    """The nodes of a store, as one of them sees it."""

    @property
    def node(self) -> str:
        """The id of this process as a node; empty before it joins."""
        ...

    async def join(self, node: str) -> tuple[str, ...]:
        """Become a node under a new id, and bury every node that is known to be dead.

        Returns the lanes that the dead ones were working on.
        """
        ...

    async def beat(self) -> None:
        """Report that this node is alive; raises `LeaseLost` if it was buried."""
        ...

    async def silent(self) -> tuple[str, ...]:
        """Return the other nodes that did not report for so long that they may be buried."""
        ...

    async def bury(self, node: str) -> tuple[str, ...]:
        """Take everything from a silent node; return the lanes it was working on.

        Its leases are void, what it had on the wire is unknown, its claims are free. If it wakes
        up, it can write nothing under its old id. Raises `GuardFailed` if it is alive, or was
        buried already.
        """
        ...

    async def claim(self, name: str) -> int | None:
        """Take, or keep, what one node at a time does; return its fence.

        None if another node has it that was not buried. The fence is higher for every next holder,
        so that what an earlier one still writes can be refused.
        """
        ...

    async def release(self, name: str) -> bool:
        """Give a claim back; False if this node does not have it."""
        ...

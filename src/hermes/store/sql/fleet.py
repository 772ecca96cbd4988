"""Nodes and claims: who works on this store, and who takes over from the dead."""

from typing import Protocol

from hermes.errors import GuardFailed, LeaseLost
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("fleet")
_TURNS = load("turns")
_APPROVALS = load("approvals")
# A node that wakes up is refused as long as its row is there.
_BURIED_KEPT_S = 365 * 86_400.0


class _OnTheWire(Protocol):
    async def recover(self, tx: Tx, *, node: str, at: float) -> None: ...


class SqlFleet:
    """Implements `ports.fleet.Fleet`.

    A store that only one process can open is `alone`: whoever joins knows that all others are dead,
    and nobody has to hear that this one is alive.
    """

    def __init__(self, engine: Engine, *, outbox: _OnTheWire, lease_s: float, alone: bool) -> None:
        self._engine = engine
        self._outbox = outbox
        self._lease_s = lease_s
        self._alone = alone

    @property
    def node(self) -> str:
        """The id of this process as a node; empty before it joins."""
        return self._engine.node

    async def join(self, node: str) -> tuple[str, ...]:
        """Become a node under a new id, and bury every node that is known to be dead."""

        async def unit(tx: Tx) -> tuple[str, ...]:
            dead = await tx.rows(_SQL["others" if self._alone else "silent"], node)
            cut_off: list[str] = []
            for (name,) in dead:
                tx.put(_SQL["bury_dead"], name)
                cut_off += await self._free(tx, name)
            tx.put(_TURNS["unclaim_orphans"])
            tx.put(_SQL["forget_buried"], _BURIED_KEPT_S)
            tx.put(_SQL["join"], node, self._lease_s)
            return tuple(cut_off)

        def after(_cut_off: tuple[str, ...]) -> None:
            self._engine.node = node
            self._engine.fresh.clear()

        return await self._engine.writer.run("join", unit, after=after)

    async def beat(self) -> None:
        """Report that this node is alive; raises `LeaseLost` if it was buried."""
        if self._alone:
            return
        node = self.node

        async def unit(tx: Tx) -> None:
            buried = LeaseLost(f"node {node} was silent for too long: others have taken over")
            tx.must(_SQL["beat"], node, self._lease_s, error=buried)

        await self._engine.writer.run("beat", unit)

    async def silent(self) -> tuple[str, ...]:
        """Return the other nodes that did not report for so long that they may be buried."""
        if self._alone:
            return ()
        return tuple(
            str(row[0]) for row in await self._engine.reads.rows(_SQL["silent"], self.node)
        )

    async def bury(self, node: str) -> tuple[str, ...]:
        """Take everything from a silent node; return the lanes it was working on."""

        async def unit(tx: Tx) -> tuple[str, ...]:
            alive = GuardFailed(f"node {node} is alive, or was buried already")
            tx.must(_SQL["bury"], node, error=alive)
            lanes = await self._free(tx, node)
            tx.put(_TURNS["unclaim_orphans"])
            return tuple(lanes)

        def after(_lanes: tuple[str, ...]) -> None:
            self._engine.fresh.clear()

        return await self._engine.writer.run("bury", unit, after=after)

    async def _free(self, tx: Tx, node: str) -> list[str]:
        """Free what a buried node held; return its lanes."""
        lanes = [str(row[0]) for row in await tx.rows(_SQL["free_lanes"], node)]
        tx.put(_SQL["free_claims"], node)
        await self._outbox.recover(tx, node=node, at=self._engine.clock.now())
        tx.put(_APPROVALS["orphans"])
        return lanes

    async def claim(self, name: str) -> int | None:
        """Take, or keep, what one node at a time does; return its fence."""

        async def unit(tx: Tx) -> int | None:
            row = await tx.row(_SQL["claim"], name, self.node)
            return None if row is None else int(row[0])

        return await self._engine.writer.run("claim", unit)

    async def release(self, name: str) -> bool:
        """Give a claim back; False if this node does not have it."""

        async def unit(tx: Tx) -> bool:
            return await tx.changed(_SQL["release"], name, self.node) == 1

        return await self._engine.writer.run("release_claim", unit)

"""Agents that are made while the gateway runs; what they say is sealed with a key of the agents."""

from hermes.errors import Conflict, StoreError, TooLarge
from hermes.ports.agents import AgentRecord, AgentState, AgentVersion
from hermes.store.sql.engine import Engine
from hermes.store.sql.places import Place, agent_place
from hermes.store.sql.queries import load
from hermes.store.sql.secrets import SqlSecrets
from hermes.store.sql.tx import Reads, Row, Tx

_SQL = load("agents")
# The owner of the documents: a separate key beside those of people.
_OWNER = "agents"
_FOUND_KEPT = 1_000
# More than any version has as its number.
_NO_VERSION = 2**62


class SqlAgents:
    """Implements `ports.agents.AgentStore`."""

    def __init__(self, engine: Engine, *, secrets: SqlSecrets) -> None:
        self._engine = engine
        self._secrets = secrets
        # The results of `find`; every change of an agent clears it.
        self._found: dict[str, AgentRecord] = {}
        engine.feed.on("agents", lambda _key: self._found.clear())

    async def add(self, agent: AgentRecord, *, note: str, most: int) -> None:
        """Store a new agent and its first version."""

        async def unit(tx: Tx) -> None:
            if await tx.one(_SQL["count"]) >= most:
                raise TooLarge(
                    f"There are {most} agents already, which is the limit: delete some, or raise "
                    "workspaces.max_count."
                )
            await _check_name(tx, agent.name, own="")
            row = (agent.id, agent.name, agent.state, agent.version, agent.author)
            tx.put(_SQL["add"], *row, agent.created_at)
            first = AgentVersion(
                number=agent.version,
                document=agent.document,
                author=agent.author,
                at=agent.created_at,
                note=note,
            )
            await self._put_version(tx, agent.id, first)
            self._engine.feed.put(tx, "agents", agent.id)

        after = self._engine.feed.telling("agents", agent.id)
        await self._engine.writer.run("add_agent", unit, after=after)

    async def find(self, name: str) -> AgentRecord | None:
        """Return the agent of an id or a name; mostly from memory."""
        found = self._found.get(name)
        if found is not None:
            return found
        stamp, reads = self._engine.feed.stamp, self._engine.reads
        row = await reads.row(_SQL["get"], name) or await reads.row(_SQL["find"], name)
        if row is None:
            return None
        agent = await self._record(reads, row)
        if len(self._found) >= _FOUND_KEPT:
            self._found.clear()
        if stamp == self._engine.feed.stamp:
            self._found[name] = agent
        return agent

    async def page(
        self, *, after: str = "", limit: int, state: AgentState | None = None
    ) -> tuple[AgentRecord, ...]:
        """Return agents by name, from the one after a name on."""
        reads = self._engine.reads
        rows = await reads.rows(_SQL["page"], after, state or "", limit)
        return tuple([await self._record(reads, row) for row in rows])

    async def change(
        self,
        agent_id: str,
        version: AgentVersion,
        *,
        name: str,
        state: AgentState,
        keep: int,
    ) -> AgentRecord:
        """Store the next version; the oldest ones over `keep` go."""

        async def unit(tx: Tx) -> AgentRecord:
            await _check_name(tx, name, own=agent_id)
            row = (agent_id, name, version.number, state, version.at)
            if await tx.changed(_SQL["change"], *row) != 1:
                raise Conflict(
                    "The agent was changed or deleted just now by somebody else: look at it, and "
                    "repeat your change."
                )
            await self._put_version(tx, agent_id, version)
            tx.put(_SQL["trim_versions"], agent_id, version.number - keep)
            self._engine.feed.put(tx, "agents", agent_id)
            changed = await tx.row(_SQL["get"], agent_id)
            assert changed is not None
            return await self._record(tx, changed)

        after = self._engine.feed.telling("agents", agent_id)
        return await self._engine.writer.run("change_agent", unit, after=after)

    async def set_state(
        self,
        agent_id: str,
        state: AgentState,
        *,
        while_in: tuple[AgentState, ...],
        at: float,
        version: int | None = None,
        reason: str = "",
        delete_at: float | None = None,
    ) -> bool:
        """Change the state; False if the agent is in none of these states, or at another version."""

        async def unit(tx: Tx) -> bool:
            now = await tx.locked(_SQL["state"], agent_id)
            if now is None or now[0] not in while_in or version not in (None, now[1]):
                return False
            self._engine.feed.put(tx, "agents", agent_id)
            row = (agent_id, now[0], state, reason, delete_at, at, now[1])
            return await tx.changed(_SQL["set_state"], *row) == 1

        after = self._engine.feed.telling("agents", agent_id)
        return await self._engine.writer.run("set_agent_state", unit, after=after)

    async def versions(
        self, agent_id: str, *, before: int | None = None, limit: int
    ) -> tuple[AgentVersion, ...]:
        """Return the versions of an agent, newest first."""
        reads = self._engine.reads
        last = _NO_VERSION if before is None else before
        rows = await reads.rows(_SQL["versions"], agent_id, last, limit)
        return tuple([await self._version(reads, agent_id, row) for row in rows])

    async def version(self, agent_id: str, number: int) -> AgentVersion | None:
        """Return one version."""
        reads = self._engine.reads
        row = await reads.row(_SQL["version"], agent_id, number)
        return None if row is None else await self._version(reads, agent_id, row)

    async def unfinished(self, now: float, *, limit: int) -> tuple[AgentRecord, ...]:
        """Return agents to be checked, and those whose time to be deleted has come."""
        reads = self._engine.reads
        rows = await reads.rows(_SQL["unfinished"], now, limit)
        return tuple([await self._record(reads, row) for row in rows])

    async def check_failed_again(self, at: float) -> int:
        """Let every failed agent be checked again; return how many there are."""
        if "failed" not in await self.counts():
            return 0

        async def unit(tx: Tx) -> int:
            self._engine.feed.put(tx, "agents")
            return await tx.changed(_SQL["check_failed_again"], at)

        after = self._engine.feed.telling("agents")
        return await self._engine.writer.run("check_agents_again", unit, after=after)

    async def remove(self, agent_id: str, *, now: float) -> bool:
        """Delete an agent with its versions and secrets; False unless its time has come."""

        async def unit(tx: Tx) -> bool:
            if await tx.changed(_SQL["remove"], agent_id, now) != 1:
                return False
            tx.put(_SQL["remove_versions"], agent_id)
            await self._secrets.erase_in(tx, agent_id)
            self._engine.feed.put(tx, "agents", agent_id)
            return True

        def after(is_removed: bool) -> None:
            if is_removed:
                self._engine.feed.tell("agents", agent_id)
                self._engine.feed.tell("secrets", agent_id)

        return await self._engine.writer.run("remove_agent", unit, after=after)

    async def counts(self) -> dict[AgentState, int]:
        """Return how many agents there are in each state."""
        return {row[0]: row[1] for row in await self._engine.reads.rows(_SQL["counts"])}

    async def _put_version(self, tx: Tx, agent_id: str, version: AgentVersion) -> None:
        sealer = self._engine.sealer
        if await tx.row(_SQL["has_key"], _OWNER) is None:
            sealer.make_key(tx, _OWNER)
        place = agent_place(agent_id, version.number)
        sealed = await sealer.seal(tx, _OWNER, version.document, place=place)
        row = (agent_id, version.number, sealed, version.author, version.at, version.note)
        tx.put(_SQL["add_version"], *row)

    async def _record(self, db: Reads, row: Row) -> AgentRecord:
        return AgentRecord(
            id=row[0],
            name=row[1],
            state=row[2],
            version=row[3],
            author=row[4],
            created_at=row[5],
            changed_at=row[6],
            reason=row[7],
            delete_at=row[8],
            document=await self._open(db, row[9], place=agent_place(row[0], row[3])),
        )

    async def _version(self, db: Reads, agent_id: str, row: Row) -> AgentVersion:
        return AgentVersion(
            number=row[0],
            author=row[1],
            at=row[2],
            note=row[3],
            document=await self._open(db, row[4], place=agent_place(agent_id, row[0])),
        )

    async def _open(self, db: Reads, sealed: bytes, *, place: Place) -> bytes:
        content = await self._engine.sealer.open(db, _OWNER, sealed, place=place)
        if content is None:
            raise StoreError(
                f"an agent cannot be read ({place!r}): the key of the agents is missing; restore "
                "the database from a backup"
            )
        return content


async def _check_name(tx: Tx, name: str, *, own: str) -> None:
    """Raise `Conflict` if another agent has the name."""
    row = await tx.row(_SQL["named"], name)
    if row is not None and row[0] != own:
        raise Conflict(f"There is an agent {name!r} already: choose another name.")

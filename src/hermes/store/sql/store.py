"""The parts of the store that every engine shares, as one object: joins, explains and purges."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from hermes.message.ids import MakeId
from hermes.ports.inbox import RefusedMessage
from hermes.ports.steps import TimelineEvent
from hermes.ports.timeline import Timeline
from hermes.ports.turns import MessageRecord
from hermes.store.sql.access import SqlAccess
from hermes.store.sql.activity import SqlActivity
from hermes.store.sql.agents import SqlAgents
from hermes.store.sql.answers import SqlAnswers
from hermes.store.sql.approvals import SqlApprovals
from hermes.store.sql.audit import SqlAudit
from hermes.store.sql.channel_state import SqlChannelState
from hermes.store.sql.compaction_jobs import SqlCompactions
from hermes.store.sql.cron import SqlCron
from hermes.store.sql.directory import SqlDirectory
from hermes.store.sql.dreams import SqlDreams
from hermes.store.sql.engine import Engine
from hermes.store.sql.facts import SqlFacts
from hermes.store.sql.fleet import SqlFleet
from hermes.store.sql.group_context import forget_old, has_old
from hermes.store.sql.ids import SqlIds
from hermes.store.sql.inbox import SqlInbox
from hermes.store.sql.interactions import SqlInteractions
from hermes.store.sql.jobs import SqlJobs
from hermes.store.sql.keys import SqlKeys
from hermes.store.sql.messages import SqlMessages
from hermes.store.sql.offers import SqlOffers
from hermes.store.sql.operations import SqlDeadLetters, SqlModelSwap, SqlOpenSessions, SqlPauses
from hermes.store.sql.outbox import SqlOutbox
from hermes.store.sql.owner import SqlOwners
from hermes.store.sql.pairing import SqlPairing
from hermes.store.sql.people import SqlPeople
from hermes.store.sql.pruning import SqlPruning, drop_message
from hermes.store.sql.queries import load
from hermes.store.sql.replays import SqlReplays
from hermes.store.sql.responses import SqlResponses
from hermes.store.sql.sealed_tables import bind_all
from hermes.store.sql.secrets import SqlSecrets
from hermes.store.sql.sends import SqlSends
from hermes.store.sql.sessions import SqlSessions
from hermes.store.sql.souls import SqlSouls
from hermes.store.sql.spend import SqlSpend
from hermes.store.sql.tasks import SqlTasks
from hermes.store.sql.transcripts import OnCommit, SqlTranscripts
from hermes.store.sql.turns import SqlTurns
from hermes.store.sql.tx import Rows, Tx
from hermes.store.sql.users import SqlUsers
from hermes.store.sql.vectors import SqlVectors
from hermes.store.sql.wallet import Beside, SqlWallets

_SQL = load("upkeep")
_INBOX = load("inbox")
_FEED = load("feed")
_OUTBOX = ("drop_outbox_more", "drop_outbox_parts", "drop_outbox")
# Each takes some 100 us, during which the event loop is blocked.
_REWRAP_ROWS = 100
_INTERACTION = (
    "agent",
    "platform",
    "llm_backend",
    "llm_cache_hit",
    "soul_load_ms",
    "semantic_recall_used",
    "tools",
    "tool_exec_ms",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "unpriced",
    "platform_tokens",
    "platform_cost_usd",
    "at",
)


class SqlStore:
    """Implements `ports.store.Store` but for opening, status and closing, which an engine adds."""

    def __init__(
        self,
        engine: Engine,
        *,
        make_id: MakeId,
        on_commit: OnCommit,
        beside: Beside,
        lease_s: float,
        alone: bool,
    ) -> None:
        self._engine = engine
        self.feed = engine.feed
        self.transcripts = SqlTranscripts(engine, on_commit=on_commit)
        self.inbox = SqlInbox(engine, make_id=make_id)
        self.cron = SqlCron(engine, inbox=self.inbox)
        self.facts = SqlFacts(engine)
        self.vectors = SqlVectors(engine)
        self.souls = SqlSouls(engine)
        self.jobs = SqlJobs(engine, facts=self.facts)
        self.dreams = SqlDreams(engine)
        self.compactions = SqlCompactions(engine, transcripts=self.transcripts, souls=self.souls)
        self.sessions = SqlSessions(engine, transcripts=self.transcripts)
        self.pruning = SqlPruning(engine)
        self.turns = SqlTurns(
            engine, transcripts=self.transcripts, souls=self.souls, make_id=make_id
        )
        self.approvals = SqlApprovals(engine, turns=self.turns)
        self.outbox = SqlOutbox(engine)
        self.offers = SqlOffers(engine, make_id=make_id)
        self.fleet = SqlFleet(engine, outbox=self.outbox, lease_s=lease_s, alone=alone)
        self.dead_letters = SqlDeadLetters(engine, outbox=self.outbox)
        self.paused = SqlPauses(engine)
        self.model_swap = SqlModelSwap(engine)
        self.open_sessions = SqlOpenSessions(engine)
        self.audit = SqlAudit(engine)
        self.sends = SqlSends(engine, make_id=make_id)
        self.directory = SqlDirectory(engine)
        self.channel_state = SqlChannelState(engine)
        self.secrets = SqlSecrets(engine)
        self.keys = SqlKeys(engine, make_id=make_id)
        self.people = SqlPeople(engine)
        self.users = SqlUsers(engine, make_id=make_id)
        self.owners = SqlOwners(engine, make_id=make_id)
        self.pairing = SqlPairing(engine, users=self.users)
        self.wallets = SqlWallets(engine, beside=beside)
        self.spend = SqlSpend(engine)
        self.answers = SqlAnswers(engine)
        self.responses = SqlResponses(engine)
        self.access = SqlAccess(engine, make_id=make_id)
        self.ids = SqlIds(engine)
        self.interactions = SqlInteractions(engine)
        self.messages = SqlMessages(engine)
        self.activity = SqlActivity(engine)
        self.agents = SqlAgents(engine, secrets=self.secrets)
        self.tasks = SqlTasks(engine)
        self.replays = SqlReplays(engine, alone=alone)

    async def rotate_keys(
        self, key_file: bytes | None = None, *, tell: Callable[[int], None] | None = None
    ) -> int:
        """Wrap every data key with the newest store key; return how many.

        From now on `key_file` is used, which holds the old keys and a newer one. It works in small
        transactions, so that messages continue meanwhile; an interrupted rotation can be repeated.
        Values of an older database are bound to their places before.
        """
        engine = self._engine
        if key_file is not None:
            engine.sealer.use_keys(key_file)
        await bind_all(engine)
        done, last, count = 0, "", _REWRAP_ROWS
        while count == _REWRAP_ROWS:
            count, last = await engine.writer.run("rotate", partial(self._rewrap, after=last))
            done += count
            if tell is not None:
                tell(done)
        engine.sealer.forget_all()
        return done

    async def _rewrap(self, tx: Tx, *, after: str) -> tuple[int, str]:
        if not after:
            self._engine.sealer.rewrap_digest_key(tx)
        return await self._engine.sealer.rewrap_some(tx, after, limit=_REWRAP_ROWS)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed hash: equal for equal content, and useless without the key."""
        return self._engine.sealer.digest(content)

    async def timeline(self, name: str) -> Timeline | None:
        """Return everything known about a message, a refusal, a delivery or a call, by its id.

        A message is also found by its external id, and by the id of a reply to it; a call has only
        events, and what was sent without a message only its delivery.
        """
        message = await self._find(name)
        refusal = await self._refusal(name)
        if message is None and refusal is not None and refusal.message_id is not None:
            message = await self.inbox.get(refusal.message_id)
        known = message.id if message is not None else ""
        events = await self._events(known or name)
        deliveries = await self.outbox.of_message(known or name)
        if message is None and refusal is None and not events and not deliveries:
            return None
        return Timeline(
            message=message,
            result=await self.inbox.result(known),
            steps=await self.turns.steps(known),
            events=events,
            deliveries=deliveries,
            ledger=await self._ledger(known),
            interaction=await self._interaction(known),
            refusal=refusal,
        )

    async def _find(self, name: str) -> MessageRecord | None:
        message = await self.inbox.get(name)
        if message is not None:
            return message
        known = await self._engine.reads.look(lambda db: _by_external(db, name))
        known = known or await self.outbox.message_of(name)
        return None if known is None else await self.inbox.get(known)

    async def _refusal(self, name: str) -> RefusedMessage | None:
        row = await self._engine.reads.row(_INBOX["refusal"], name)
        if row is None:
            return None
        return RefusedMessage(
            id=row[0],
            at=row[1],
            platform=row[2],
            code=row[3],
            text=row[4],
            external_id=row[5],
            message_id=row[6],
        )

    async def _events(self, message_id: str) -> tuple[TimelineEvent, ...]:
        rows = await self._engine.reads.rows(_INBOX["events"], message_id)
        return tuple(TimelineEvent(row[0], row[1], msgspec.json.decode(row[2])) for row in rows)

    async def _ledger(self, message_id: str) -> tuple[dict[str, Any], ...]:
        rows = await self._engine.reads.rows(_SQL["ledger"], message_id)
        return tuple({"kind": row[0], "amount": row[1], "at": row[2]} for row in rows)

    async def _interaction(self, message_id: str) -> dict[str, Any] | None:
        row = await self._engine.reads.row(_SQL["interaction"], message_id)
        if row is None:
            return None
        return dict(zip(_INTERACTION, row, strict=True))

    async def purge(self, before: float, *, limit: int) -> int:
        """Delete finished messages and calls from before `before`, at most `limit`; how many."""
        reads, now = self._engine.reads, self._engine.clock.now()
        looked_for = ((_SQL["old_messages"], before, 1), (_SQL["old_sends"], before, 1))
        found = [await reads.row(*one) for one in (*looked_for, (_SQL["has_old_calls"], before))]
        if all(row is None for row in found) and not await has_old(reads, now):
            return 0

        async def unit(tx: Tx) -> int:
            rows = await tx.rows(_SQL["old_messages"], before, limit)
            for row in rows:
                await drop_message(tx, row)
            sends = await tx.rows(_SQL["old_sends"], before, limit - len(rows))
            for send_id, body in sends:
                for name in _OUTBOX:
                    tx.put(_SQL[name], send_id)
                tx.put(_SQL["drop_body"], body)
            await forget_old(tx, now, limit=limit)
            tx.put(_FEED["trim"], before)
            done = len(rows) + len(sends)
            return done + await tx.changed(_SQL["drop_calls"], before, limit - done)

        return await self._engine.writer.run("purge", unit)


def _by_external(db: Rows, name: str) -> str | None:
    """Return the newest message that a caller named so; no index begins with that name.

    There are few ways on which messages come, and each of them has an index.
    """
    found, way = (0, ""), db.row(_INBOX["next_route"], ("", "", ""))
    while way is not None:
        found = max([found, *db.rows(_INBOX["by_external"], (*way, name))])
        way = db.row(_INBOX["next_route"], way)
    return found[1] or None

"""Tasks of callers over A2A: pages of the inbox, and where their callers are notified."""

import math

import msgspec

from hermes.errors import TooLarge
from hermes.message.outcome import MessageState, Outcome
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.steps import TimelineEvent
from hermes.ports.tasks import DuePush, TaskPage, TaskPush, TaskQuery
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.inbox import read_result
from hermes.store.sql.places import push_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("tasks")
_ACCOUNT, _PLATFORM = "default", "a2a"
_decode = msgspec.json.Decoder(TaskPush).decode
# Above every position of a first page.
_START = (math.inf, 0)


def erase_pushes(tx: Tx, person_id: str) -> None:
    """Delete where a person's tasks are told, inside a transaction."""
    tx.put(_SQL["drop_of_person"], person_id)


class SqlTasks:
    """Implements `ports.tasks.TaskStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def page(self, query: TaskQuery) -> TaskPage:
        """Return tasks of a caller."""
        reads = self._engine.reads
        words = f",{','.join(query.words)}," if query.words else ""
        which = (_ACCOUNT, _PLATFORM, _PLATFORM, query.caller, _after(query.caller))
        filters = (query.context_id, words, query.since)
        before = query.before or _START
        rows = await reads.rows(_SQL["page"], *which, *filters, *before, query.limit + 1)
        shown = rows[: query.limit]
        total = await reads.one(_SQL["count"], *which, *filters)
        last = shown[-1] if len(rows) > query.limit else None
        return TaskPage(
            tasks=tuple([await self._status(row) for row in shown]),
            total=int(total),
            next=None if last is None else (last[16], last[0]),
        )

    async def _status(self, row: Row) -> MessageStatus:
        record = await self._engine.message(row)
        if record.state is not MessageState.DONE:
            return MessageStatus(record, None)
        result = await read_result(self._engine, record.merged_into or record.id)
        return MessageStatus(record, result)

    async def put_push(
        self, push: TaskPush, *, person_id: str, at: float, most: int, most_open: int
    ) -> None:
        """Store where to notify of a task; the same id is replaced, and is told again."""

        async def unit(tx: Tx) -> None:
            row = await tx.row(_SQL["others"], push.task_id, push.id, person_id)
            assert row is not None
            if row[0] >= most:
                raise TooLarge(f"The task has {most} push notification configurations already.")
            if row[1] >= most_open:
                raise TooLarge(
                    f"You wait for the notifications of {most_open} tasks already: delete some of "
                    "their configurations."
                )
            place = push_place(push.task_id, push.id)
            sealed = await self._engine.sealer.seal(tx, person_id, encode(push), place=place)
            tx.put(_SQL["put_push"], push.task_id, push.id, person_id, sealed, at)

        await self._engine.writer.run("put_push", unit)

    async def pushes(self, task_id: str) -> tuple[TaskPush, ...]:
        """Return where to notify of a task."""
        rows = await self._engine.reads.rows(_SQL["pushes"], task_id)
        found = [await self._opened((task_id, *row)) for row in rows]
        return tuple(push for push in found if push is not None)

    async def drop_push(self, task_id: str, push_id: str) -> bool:
        """Delete one; False if there is none."""

        async def unit(tx: Tx) -> bool:
            return await tx.changed(_SQL["drop_push"], task_id, push_id) == 1

        return await self._engine.writer.run("drop_push", unit)

    async def due_pushes(self, now: float, *, limit: int, each: int) -> tuple[DuePush, ...]:
        """Return notifications that are due, at most `each` of one person."""
        rows = await self._engine.reads.rows(_SQL["due"], now, limit, each)
        found: list[DuePush] = []
        for row in rows:
            attempts, state, outcome, news = row[4:]
            push = await self._opened(row[:4])
            if push is not None:
                end = None if outcome is None else Outcome(outcome)
                found.append(
                    DuePush(
                        push=push,
                        state=MessageState(state),
                        outcome=end,
                        news=news,
                        attempts=attempts,
                    )
                )
        return tuple(found)

    async def begin_push(self, due: DuePush, *, until: float) -> bool:
        """Take one for an attempt, until then; False if another process has taken it."""
        push = due.push

        async def unit(tx: Tx) -> bool:
            took = (push.task_id, push.id, due.attempts, until)
            return await tx.changed(_SQL["begin_push"], *took) == 1

        return await self._engine.writer.run("begin_push", unit)

    async def end_push(self, due: DuePush, *, is_last: bool, at: float, why: str = "") -> None:
        """Write that one was delivered, or given up for the reason `why`."""
        push = due.push
        kind = "push_failed" if why else "pushed"
        data = {"config": push.id, "state": due.word, **({"why": why} if why else {})}

        async def unit(tx: Tx) -> None:
            ended_at = at if is_last or why else None
            told = (due.news, at, ended_at, due.attempts + 1)
            tx.put(_SQL["told"], push.task_id, push.id, *told)
            self._engine.add_events(tx, push.task_id, (TimelineEvent(kind, at, data),))

        await self._engine.writer.run("end_push", unit)

    async def retry_push(self, due: DuePush, *, at: float) -> None:
        """Write when one that failed is tried again."""
        push = due.push

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["retry_push"], push.task_id, push.id, at, due.attempts + 1)

        await self._engine.writer.run("retry_push", unit)

    async def _opened(self, row: Row) -> TaskPush | None:
        """Return the configuration in a row; None if its person was erased."""
        task_id, push_id, person_id, sealed = row
        place = push_place(task_id, push_id)
        content = await self._engine.sealer.open(self._engine.reads, person_id, sealed, place=place)
        return None if content is None else _decode(content)


def _after(prefix: str) -> str:
    """Return the first text behind all that begin with a prefix, which ends with a colon."""
    return f"{prefix[:-1]};"

"""The journal of one turn: its lease, its steps in order, and the results not yet written.

A result waits here only until the next write, which is the start of the next effect or the
commit; no effect ever starts between a result and that write.
"""

from collections.abc import Callable, Sequence

import msgspec
import structlog

from hermes.errors import GuardFailed, LeaseLost, StorageFull, StoreError, StoreRejected
from hermes.message.parts import ToolCallPart
from hermes.pipeline.turn import PreparedTurn, Turn
from hermes.ports.approvals import NewApproval
from hermes.ports.clock import Clock
from hermes.ports.outbox import NewDelivery
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import (
    KeptSession,
    Lease,
    PaidBy,
    Step,
    StepFacts,
    StepKind,
    StepWrite,
    TimelineEvent,
)
from hermes.ports.store import Store
from hermes.ports.turns import Begin, LaneView

_encode = msgspec.json.Encoder().encode
_log = structlog.get_logger(__name__)


class Journal:
    """Writes the steps of one turn under its lease."""

    def __init__(self, store: Store, view: LaneView, *, owner: str, clock: Clock) -> None:
        self._store = store
        self._view = view
        self._owner = owner
        self._clock = clock
        self._next = 1 + max((step.ordinal for step in view.steps), default=-1)
        self._open: dict[int, Step] = {
            step.ordinal: step for step in view.steps if step.state == "started"
        }
        self._ended: list[Step] = []
        self._events: list[TimelineEvent] = []
        self._spent: list[SpendEntry] = []
        self._joining: tuple[Step, ...] = ()
        self.lease: Lease | None = None
        self._waits_since: float | None = None
        self._waited_s = 0.0
        # Steps as they began and as they ended; kept only where somebody traces turns.
        self.trace: list[tuple[Step, Step]] | None = None
        # Told of each step as it ends; only where a hook wants to hear of steps.
        self.heard: Callable[[Step, Step], None] | None = None
        self.spent: set[str] = set()
        self._children: dict[int, int] = {}
        self._child_lanes: dict[int, list[str]] = {}

    @property
    def waits_for_place(self) -> bool:
        """Whether nothing happens because all places for model calls are taken."""
        return self._waits_since is not None

    @waits_for_place.setter
    def waits_for_place(self, waits: bool) -> None:
        now = self._clock.monotonic()
        if self._waits_since is not None:
            self._waited_s += now - self._waits_since
        self._waits_since = now if waits else None

    @property
    def waited_s(self) -> float:
        """Return how long the turn has waited for places in all."""
        since = self._waits_since
        return self._waited_s + (0.0 if since is None else self._clock.monotonic() - since)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that earlier leases of this turn wrote."""
        return self._view.steps

    @property
    def is_followed(self) -> bool:
        """Return whether other messages were waiting behind the turn's own when it started."""
        return self._view.is_followed

    @property
    def open_ordinals(self) -> frozenset[int]:
        """The steps that have started and not ended."""
        return frozenset(self._open)

    @property
    def position(self) -> tuple[int, int]:
        """Return the turn's progress: the number of its steps, and how many of them are running."""
        return self._next, len(self._open)

    @property
    def begun(self) -> bool:
        """Return whether the lane is leased."""
        return self.lease is not None

    def note(self, kind: str, **data: object) -> None:
        """Add a line to the timeline, written with the next step or the commit."""
        self._events.append(TimelineEvent(kind, self._clock.now(), data))

    @property
    def noted(self) -> int:
        """How many lines wait to be written."""
        return len(self._events)

    def unnote(self, noted: int) -> None:
        """Remove the lines after the first `noted`: the work they describe is done again."""
        del self._events[noted:]

    def spend(self, spent: tuple[SpendEntry, ...]) -> None:
        """Keep what model calls took for the next write after the lease, or the commit."""
        self._spent.extend(spent)

    async def begin(
        self, turn: Turn, *, prepared: PreparedTurn | None = None, first: tuple[Step, ...] = ()
    ) -> None:
        """Lease the lane for a turn that runs no model, or that resumes after a crash."""
        await self._begin(turn, prepared=prepared, first=first)

    def note_step(self, name: str, body: bytes) -> Step:
        """Return the step that will hold a note for the model when the turn continues."""
        return msgspec.structs.replace(self._step("note", name), state="done", body=body)

    async def start(
        self,
        turn: Turn,
        kind: StepKind,
        *,
        name: str,
        arguments: bytes = b"",
        prepared: PreparedTurn | None = None,
        facts: StepFacts | None = None,
    ) -> int:
        """Record that an effect starts; the first one leases the lane and freezes `prepared`."""
        if not self.begun and prepared is not None:
            self._next = max(self._next, 1)
        step = msgspec.structs.replace(self._step(kind, name, arguments=arguments), facts=facts)
        if self.begun:
            await self._write(turn, started=(step,))
        else:
            await self._begin(turn, prepared=prepared, first=(step,))
        self._open[step.ordinal] = step
        return step.ordinal

    async def start_tools(
        self, turn: Turn, calls: Sequence[ToolCallPart], *, arguments: Sequence[bytes]
    ) -> tuple[int, ...]:
        """Record in one write that tools start side by side, each with the call it answers."""
        steps = tuple(
            msgspec.structs.replace(
                self._step("tool", call.name, arguments=bound), facts=StepFacts(call_id=call.id)
            )
            for call, bound in zip(calls, arguments, strict=True)
        )
        await self._write(turn, started=steps)
        self._open.update({step.ordinal: step for step in steps})
        return tuple(step.ordinal for step in steps)

    async def keep_output(self, turn: Turn, step: Step) -> None:
        """Keep a whole result beside the one that its tool's step has, in the same write."""
        await self._write(turn, started=(step,))

    def output_step(self, name: str, body: bytes) -> Step:
        """Return the step that will hold a whole result."""
        return msgspec.structs.replace(self._step("output", name), state="done", body=body)

    async def write_results(self, turn: Turn) -> None:
        """Write the results so far, while other effects still run.

        A disk that is full now may not be by the next write, which takes them along.
        """
        write = self._take_write(turn)
        try:
            await self._store.turns.step(self._held(), write)
        except (GuardFailed, StoreRejected):
            raise
        except (StoreError, StorageFull) as error:
            _log.warning("results_wait", message_id=turn.id, problem=str(error))
            self._ended[:0] = write.ended
            self._spent[:0] = write.spent
            self._events[:0] = write.events

    async def keep_session(self, turn: Turn, session: KeptSession) -> None:
        """Record by which session of its own an adapter finds this conversation again."""
        write = msgspec.structs.replace(self._take_write(turn), session=session)
        await self._store.turns.step(self._held(), write)

    async def claim(self, turn: Turn, message_id: str, *, body: bytes) -> int:
        """Record that a waiting message of the turn's person joined it."""
        step = msgspec.structs.replace(self._step("steer", message_id), state="done", body=body)
        await self._write(turn, started=(step,), claims=(message_id,))
        return step.ordinal

    def join(self, message_ids: tuple[str, ...]) -> None:
        """Let waiting messages be part of the turn; written with its lease."""
        # Called again, if more came while the turn was prepared: nothing is written before its lease.
        self._next = 1
        self._joining = tuple(
            msgspec.structs.replace(self._step("burst", message_id), state="done")
            for message_id in message_ids
        )

    def end(
        self,
        ordinal: int,
        body: bytes | None,
        *,
        step: Step | None = None,
        payer: PaidBy = "person",
    ) -> Step:
        """Keep the result of an effect for the next write; `step` carries usage, state and facts."""
        known = self._open.pop(ordinal)
        given = step or known
        ended = msgspec.structs.replace(
            known,
            state="done" if given.state == "started" else given.state,
            body=body,
            usage=given.usage,
            payer=payer,
            at=self._clock.now(),
            facts=given.facts or known.facts,
        )
        self._ended.append(ended)
        if self.trace is not None:
            self.trace.append((known, ended))
        if self.heard is not None:
            self.heard(known, ended)
        return ended

    def lose(self, ordinal: int, step: Step) -> None:
        """Say that the result of an effect was lost with an earlier process."""
        del self._open[ordinal]
        self._ended.append(msgspec.structs.replace(step, at=self._clock.now()))

    def took_child(self, ordinal: int, lane: str) -> None:
        """Note that the tool of a step started a subagent on `lane`, or found it there."""
        self._child_lanes.setdefault(ordinal, []).append(lane)

    def take_children(self, ordinal: int | None = None) -> tuple[str, ...]:
        """Hand over the lanes of the subagents that the tool of a step, or any left, had started."""
        if ordinal is not None:
            return tuple(self._child_lanes.pop(ordinal, ()))
        lanes = tuple(lane for started in self._child_lanes.values() for lane in started)
        self._child_lanes.clear()
        return lanes

    def next_child(self, call: int) -> str:
        """Return the number of the next subagent: the tool call's, and its own within it."""
        self._children[call] = self._children.get(call, 0) + 1
        own = self._children[call]
        return str(call) if own == 1 else f"{call}.{own}"

    async def park(
        self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None
    ) -> None:
        """Leave the lane to wait for a person."""
        await self._store.approvals.park(
            self._held(), approval, question=question, write=self._take_write(turn)
        )
        self.lease = None

    async def ask(self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None) -> None:
        """Write a question down that a running tool puts to the person; the turn stays here."""
        await self._store.approvals.ask(
            self._held(), approval, question=question, write=self._take_write(turn)
        )

    def attempts(self, ordinal: int) -> frozenset[int]:
        """Return the steps of earlier leases that ran the call of a step, and lost its result."""
        step = self._open.get(ordinal)
        if step is None:
            return frozenset()
        found: set[int] = set()
        for before in reversed(self.steps):
            if not _is_same_call(before, step):
                continue
            if before.state not in ("started", "lost"):
                break
            found.add(before.ordinal)
        return frozenset(found)

    async def adopt(self, question_id: str) -> None:
        """Take over a question of an earlier lease."""
        await self._store.approvals.adopt(self._held(), question_id)

    def take_ended(self) -> tuple[Step, ...]:
        """Hand over the results that the commit has to write; effects still open have failed."""
        for ordinal in list(self._open):
            self.end(ordinal, None, step=_failed(self._open[ordinal]))
        ended, self._ended = tuple(self._ended), []
        return ended

    def take_spent(self) -> tuple[SpendEntry, ...]:
        """Hand over what the commit has to write to the ledger."""
        spent, self._spent = tuple(self._spent), []
        return spent

    def take_events(self) -> tuple[TimelineEvent, ...]:
        """Hand over the lines that the commit has to write."""
        events, self._events = tuple(self._events), []
        return events

    def _step(self, kind: StepKind, name: str, *, arguments: bytes = b"") -> Step:
        ordinal = self._next
        self._next += 1
        return Step(
            ordinal=ordinal,
            kind=kind,
            state="started",
            name=name,
            arguments_hash=self._store.digest(arguments) if arguments else b"",
            at=self._clock.now(),
        )

    async def _begin(
        self, turn: Turn, *, prepared: PreparedTurn | None, first: tuple[Step, ...]
    ) -> None:
        now = self._clock.now()
        joining = self._joining
        steps = (*joining, *first) if joining else first
        if prepared is not None:
            frozen = Step(ordinal=0, kind="prepared", state="done", body=_encode(prepared), at=now)
            steps = (frozen, *steps)
        events = tuple(self._events)
        self.lease = await self._store.turns.begin(
            Begin(
                lane=self._view.lane,
                owner=self._owner,
                fence=self._view.fence,
                head=self._view.head,
                message_id=turn.id,
                person_id=turn.person_id,
                at=now,
                steps=steps,
                claims=tuple(step.name for step in joining),
                hold=turn.hold,
                events=events,
            )
        )
        # Kept until here: a begin that was refused has written none of them.
        del self._events[: len(events)]
        self._joining = ()

    def _held(self) -> Lease:
        if self.lease is None:
            raise LeaseLost(f"lane {self._view.lane} is not leased")
        return self.lease

    def _take_write(self, turn: Turn) -> StepWrite:
        ended, self._ended = tuple(self._ended), []
        return StepWrite(
            message_id=turn.id,
            person_id=turn.person_id,
            ended=ended,
            spent=self.take_spent(),
            events=self.take_events(),
        )

    async def _write(
        self, turn: Turn, *, started: tuple[Step, ...], claims: tuple[str, ...] = ()
    ) -> None:
        write = msgspec.structs.replace(self._take_write(turn), started=started, claims=claims)
        await self._store.turns.step(self._held(), write)


def _failed(step: Step) -> Step:
    return msgspec.structs.replace(step, state="failed")


def _is_same_call(before: Step, step: Step) -> bool:
    """Return whether two steps are attempts at one call; an adapter has one call at a time."""
    if step.kind == "adapter":
        return (before.kind, before.name) == (step.kind, step.name)
    if before.facts is None or step.facts is None:
        return False
    return before.facts.call_id == step.facts.call_id

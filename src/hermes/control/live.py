"""Turns that run now: what each of them does and took so far; stop one, or see what it writes."""

from typing import Final

import msgspec
import structlog

from hermes.control.runtime import RuntimeHandles
from hermes.control.sessions import session_id
from hermes.errors import BadRequest, Conflict
from hermes.message.session_key import depth_of
from hermes.ports.activity import RunningTurn
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_LISTED: Final = 1_000


class TurnsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many turns."""

    limit: WholeNumber = 100


class TurnAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which turn, by the id of its message."""

    id: str


class TurnOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about one turn, by the id of its message."""

    id: str
    by: str = ""


class TurnLine(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that runs, or that waits for a person (`parked`), and what it took so far.

    `doing` is its newest step, such as `model` or `tool`, `name` what that step calls, and `since` when
    it began. A `depth` above 0 is a turn inside another one. A `cost_usd` of None is unknown.
    """

    id: str
    state: str
    platform: str
    person_id: str
    session: str
    depth: int
    received_at: float
    started_at: float | None
    attempts: int
    doing: str
    name: str
    since: float | None
    steps: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class TurnsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Turns that run or wait for a person, the oldest first."""

    turns: tuple[TurnLine, ...] = ()


class TurnText(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn has written so far, as far as this process runs it."""

    id: str
    text: str


class StoppedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that ends as soon as it can."""

    id: str
    note: str = "The turn ends; what it has written so far is kept."


class LiveOperations:
    """Where operators' orders about running turns arrive."""

    def __init__(self, store: Store, handles: RuntimeHandles) -> None:
        self._store = store
        self._handles = handles

    async def list(self, ask: TurnsAsk) -> TurnsReport:
        """Return what runs now, on every process."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"{ask.limit} turns: expected 1 to {_MOST_LISTED:,}.")
        found = await self._store.activity.running(limit=ask.limit)
        return TurnsReport(turns=tuple(map(self._line, found)))

    async def watch(self, ask: TurnAsk) -> TurnText:
        """Return what a running turn has written so far."""
        return TurnText(id=ask.id, text=self._handles.written(ask.id))

    async def stop(self, order: TurnOrder) -> StoppedTurn:
        """Let a turn end that has not ended, also one that waits."""
        stop = self._handles.stop_turn
        if stop is None:
            raise Conflict("No gateway runs, so no turn runs: `hermes up` starts one.")
        if not await stop(order.id, order.by or "an operator"):
            raise Conflict(f"{order.id[:80]} has ended already, or there is no such message.")
        _log.info("turn_stopped", message_id=order.id, by=order.by)
        return StoppedTurn(id=order.id)

    def _line(self, turn: RunningTurn) -> TurnLine:
        return TurnLine(
            id=turn.id,
            state=turn.state.value,
            platform=turn.platform,
            person_id=turn.person_id,
            session=session_id(self._store, turn.lane),
            depth=depth_of(turn.lane),
            received_at=turn.received_at,
            started_at=turn.started_at,
            attempts=turn.attempts,
            doing=turn.kind or "",
            name=turn.step,
            since=turn.step_at,
            steps=turn.steps,
            tokens_in=turn.tokens_in,
            tokens_out=turn.tokens_out,
            cost_usd=turn.cost_usd,
        )

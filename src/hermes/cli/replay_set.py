"""A set of replays: which messages, several at a time, within a limit of costs, and a table of changes.

Each replay is an order of its own to the gateway, which keeps it: whatever stops this command, what is
done is done and listed.
"""

import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from queue import Empty, SimpleQueue

import msgspec
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call, money
from hermes.cli.progress import progress_bar
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import Home, clean
from hermes.control.interactions import InteractionAsk, InteractionsReport
from hermes.control.orders import INTERACTIONS_LIST, REPLAYS_RUN
from hermes.control.replays import ReplayOrder, ReplayReport
from hermes.errors import Conflict, HermesError
from hermes.pipeline.replays.answers import AnswerSide
from hermes.ports.interactions import InteractionRow
from hermes.ports.replays import ReplayRecord

_LOOK_S = 0.2
_COLUMNS = (
    Column("message", "id"),
    Column("replay", "id", rank=3),
    Column("state", "state"),
    Column("changed", "number"),
    Column("cost", "number", rank=1),
    Column("time", "number", rank=2),
    Column("why"),
)


class SetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which answers are made again, how many of them, and with what."""

    ask: InteractionAsk
    order: ReplayOrder
    sample: int | None = None
    parallel: int = 1


class SetLine(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a set: its replay, or why it could not be replayed."""

    message: str
    replay: ReplayRecord | None = None
    before: AnswerSide | None = None
    after: AnswerSide | None = None
    problem: str = ""


class ReplaySetReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a set; `left` messages were not begun, for the limit of costs or a stop."""

    lines: tuple[SetLine, ...] = ()
    left: int = 0
    before_usd: float = 0.0
    after_usd: float = 0.0
    is_over_cost: bool = False
    is_stopped: bool = False


# Replays one message, with at most so many dollars.
ReplayOne = Callable[[str, float | None], ReplayReport]


def replay_set(home: Home, request: SetRequest, *, timeout_s: float) -> ReplaySetReport:
    """Replay a set of messages on the running gateway."""
    rows = call(home, INTERACTIONS_LIST, request.ask, empty=InteractionsReport).interactions
    chosen = choose(rows, request.sample)
    if not chosen:
        raise Conflict("No answers were found to make again: `hermes interactions` lists them.")

    def one(message: str, max_usd: float | None) -> ReplayReport:
        order = msgspec.structs.replace(request.order, message=message, max_usd=max_usd)
        return call(home, REPLAYS_RUN, order, timeout_s=timeout_s)

    run = ReplaySet(chosen, one, max_usd=request.order.max_usd)
    with progress_bar("Replaying") as show:
        return run.run(request.parallel, show=show)


def choose(rows: Sequence[InteractionRow], sample: int | None) -> tuple[str, ...]:
    """Return the messages of a set that a model answered; a sample of the same rows is the same."""
    names = [row.message_id for row in rows if row.llm_backend is not None]
    if sample is None or sample >= len(names):
        return tuple(names)
    drawn = set(sorted(names, key=lambda name: blake2b(name.encode()).digest())[:sample])
    return tuple(name for name in names if name in drawn)


class ReplaySet:
    """Replays messages side by side; Ctrl-C ends it with what is done."""

    def __init__(self, messages: Sequence[str], one: ReplayOne, *, max_usd: float | None) -> None:
        self._waiting = list(reversed(messages))
        self._total = len(messages)
        self._one = one
        self._max_usd = max_usd
        self._lock = threading.Lock()
        self._done: SimpleQueue[SetLine | None] = SimpleQueue()
        self._spent = 0.0
        self._is_stopped = False

    def run(self, parallel: int, *, show: Callable[[int, int, str], None]) -> ReplaySetReport:
        """Replay them all, or until the limit or a stop."""
        # Daemons: whoever presses Ctrl-C does not wait for models.
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(parallel)]
        lines, open_workers = list[SetLine](), len(workers)
        for worker in workers:
            worker.start()
        try:
            while open_workers:
                show(len(lines), self._total, f"${self._spent:.4f}")
                line = self._next()
                if line is None:
                    open_workers -= 1
                else:
                    lines.append(line)
        except KeyboardInterrupt:
            self._is_stopped = True
        return self._report(lines)

    def _next(self) -> SetLine | None:
        while True:
            # Bounded, so that Ctrl-C is heard.
            try:
                return self._done.get(timeout=_LOOK_S)
            except Empty:
                continue

    def _work(self) -> None:
        try:
            while (taken := self._take()) is not None:
                self._done.put(self._replay(*taken))
        finally:
            self._done.put(None)

    def _take(self) -> tuple[str, float | None] | None:
        """Return the next message and what is left for it; None at the end."""
        with self._lock:
            left = None if self._max_usd is None else self._max_usd - self._spent
            if self._is_stopped or not self._waiting or (left is not None and left <= 0):
                return None
            return self._waiting.pop(), left

    def _replay(self, message: str, left: float | None) -> SetLine:
        try:
            report = self._one(message, left)
        except HermesError as error:
            return SetLine(message=message, problem=str(error))
        with self._lock:
            self._spent += report.replay.cost_usd
        return SetLine(
            message=message,
            replay=report.replay,
            before=report.before,
            after=report.after,
            problem=report.text,
        )

    def _report(self, lines: Sequence[SetLine]) -> ReplaySetReport:
        with self._lock:
            is_over = self._max_usd is not None and self._spent >= self._max_usd
            return ReplaySetReport(
                lines=tuple(lines),
                left=self._total - len(lines),
                before_usd=sum(one.before.cost_usd for one in lines if one.before is not None),
                after_usd=self._spent,
                is_over_cost=is_over,
                is_stopped=self._is_stopped,
            )


def print_set(report: ReplaySetReport, out: Console) -> None:
    """Print the table of changes, the most changed first, and what it took."""
    lines = sorted(report.lines, key=_change, reverse=True)
    if lines:
        print_table(out, _COLUMNS, map(_cells, lines))
    answered = [one.replay for one in lines if one.replay and one.replay.state == "answered"]
    changed = sum(bool(one.change) for one in answered)
    told = [
        f"{len(answered)} of {len(lines)} answered",
        f"{changed} changed",
        f"cost {money(report.after_usd)} (before {money(report.before_usd)})",
    ]
    if report.left:
        why = "stopped" if report.is_stopped else "the limit of costs is reached"
        told.append(f"{report.left} left: {why}")
    out.print(Text("; ".join(told) + "."), soft_wrap=True)


def _change(line: SetLine) -> float:
    if line.replay is None:
        return -1.0
    return 2.0 if line.replay.change is None else line.replay.change


def _cells(line: SetLine) -> tuple[Cell, ...]:
    replay, after = line.replay, line.after
    if replay is None:
        return (line.message, "", "not replayed", "", "", "", clean(line.problem))
    return (
        line.message,
        replay.id,
        replay.state,
        "" if replay.change is None else f"{replay.change * 100:.1f} %",
        money(replay.cost_usd),
        "" if after is None else f"{after.ms / 1000:.1f} s",
        clean(line.problem),
    )

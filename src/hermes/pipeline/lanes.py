"""Lanes: one task per busy session, one message at a time, woken by arrivals and at start."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import structlog

from hermes.calls.shares import ShareHolder, Shares
from hermes.config import LaneSettings
from hermes.errors import (
    GuardFailed,
    HermesError,
    LeaseLost,
    PersonErased,
    StorageFull,
    StoreError,
    StoreRejected,
)
from hermes.message.outcome import BusyPolicy, Outcome
from hermes.message.session_key import (
    base_lane,
    depth_of,
    is_background,
    is_below,
    is_subagent,
    root_lane,
    turn_branch,
)
from hermes.pipeline.approval_waits import ApprovalWait
from hermes.pipeline.commands.control_commands import ControlPlane
from hermes.pipeline.interrupts import TIME_LIMIT, Mark, StuckTurns, longest_step_s
from hermes.pipeline.resume import tell_of_stop
from hermes.pipeline.runner import TurnRunner
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.session_ends import end_if_over
from hermes.pipeline.tool_questions import close_unrepeated
from hermes.pipeline.wait_notices import WaitNotices
from hermes.ports.observer import current_turn
from hermes.ports.signals import Signals
from hermes.ports.turns import LaneView, MessageRecord

_RETRY_S = 1.0
# With more messages than this being accepted at once, a turn starts up to 1.5 s later.
_RUSH = 64
_GIVE_WAY_S = 0.1
_GIVE_WAY_LOOKS = 15
# Who stops the turns of an agent that is gone.
_DELETED = "the deletion of the agent"
_log = structlog.get_logger(__name__)


class _Running:
    """The message that a lane's task works on now."""

    __slots__ = ("asker", "ctx", "early_stop", "is_stuck", "message_id", "view")

    def __init__(self, asker: ShareHolder | None) -> None:
        # As whose the lane has its place; None if it needs none.
        self.asker = asker
        self.message_id: str | None = None
        self.ctx: TurnContext | None = None
        self.view: LaneView | None = None
        self.is_stuck = False
        # The message that is to stop and by what, if its turn was only about to begin.
        self.early_stop: tuple[str, str] | None = None

    def is_part(self, message_id: str) -> bool:
        """Return whether a message is the turn's own or has joined it, or if nothing runs.

        A message can be read from the store and join before its lane is notified of its arrival.
        """
        if self.message_id in (None, message_id):
            return True
        return self.ctx is not None and message_id in self.ctx.interrupt.joined


class Lanes:
    """Fits `ports.upward.Wake`; owns the task of every busy lane."""

    def __init__(self, services: Services, *, settings: LaneSettings, signals: Signals) -> None:
        self._services = services
        self._settings = settings
        self._signals = signals
        self._runner = TurnRunner(services, plane=ControlPlane(self.interrupt, self.wake))
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, _Running] = {}
        self._again: set[str] = set()
        self._waiting: set[str] = set()
        self._places: Shares[str] = Shares(settings.max_running, each=1)
        self._started = False
        self._stopping = False
        self._watcher: asyncio.Task[None] | None = None
        self._stuck = StuckTurns()
        self._notices = WaitNotices(services)
        signals.add_lanes(self)

    async def start(self) -> None:
        """Take up every lane that has unfinished messages, and keep this node alive."""
        await close_unrepeated(self._services)
        self._started = True
        self._watcher = asyncio.create_task(self._watch(), name="lane-watch")
        for lane in await self._services.store.turns.lanes_with_work():
            self.wake(lane)

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        """Handle a new message on a lane: start it, or let it interrupt the running turn."""
        running = self._running.get(lane)
        if running is not None and running.ctx is not None and not running.is_part(message_id):
            switch, now = running.ctx.interrupt, self._services.clock.now()
            stops = busy is BusyPolicy.INTERRUPT
            if switch.gathering is not None:
                switch.gathering.add(message_id, stops=stops)
            elif stops and not switch.follow(message_id, now):
                self.interrupt(lane, message_id, message_id=running.message_id)
            elif running.message_id is not None:
                self._notices.behind(running.message_id, message_id=message_id, busy=busy)
        self.wake(lane)

    def wake(self, lane: str) -> None:
        """Make sure that a lane is checked for work; before `start` its scan does this."""
        if not self._started or (self._stopping and not is_subagent(lane)):
            # While the rest drains, subagents still start: turns that run wait for them.
            return
        if lane in self._tasks:
            self._again.add(lane)
        elif _goes_first(lane):
            self._start(lane, None)
        elif lane not in self._waiting:
            self._take_place(lane)

    def _take_place(self, lane: str) -> None:
        """Start a lane, or queue it for a slot among those of the same origin."""
        came_by = self._services.store.inbox.came_by(lane)
        asker = ShareHolder(came_by or lane.split(":", 3)[2], lane)
        if self._places.can_take(asker):
            self._places.take(asker)
            self._start(lane, asker)
        else:
            self._waiting.add(lane)
            self._places.wait(asker, lane)

    def _start(self, lane: str, asker: ShareHolder | None) -> None:
        self._running[lane] = _Running(asker)
        self._signals.busy_lanes.add(lane)
        self._tasks[lane] = asyncio.create_task(self._run(lane), name=f"lane {lane}")

    def interrupt(self, lane: str, by: str, *, message_id: str | None) -> None:
        """Stop the turn of `message_id`, if it still runs on the lane, and what it has started."""
        running = self._running.get(lane)
        if running is None or message_id is None:
            return
        if running.ctx is None or running.message_id != message_id:
            running.early_stop = message_id, by
            return
        running.ctx.interrupt.press(by)
        for name, below in self._running.items():
            if below.ctx is not None and _ends_with(name, lane, turn_id=message_id, by=by):
                below.ctx.interrupt.press(by)

    def erased(self, person_id: str) -> None:
        """Stop the turns of an erased person that wait for a model call; what they write is refused.

        Turns that do not wait meet the same refusal at their next write.
        """
        for lane, running in tuple(self._running.items()):
            message = None if running.view is None else running.view.message
            if message is None or message.person_id != person_id or running.ctx is None:
                continue
            if running.ctx.journal.waits_for_place:
                self.interrupt(lane, message.id, message_id=message.id)

    def agent_gone(self, agent: str) -> None:
        """Stop the turns of an agent that was deleted."""
        for lane, running in tuple(self._running.items()):
            message = None if running.view is None else running.view.message
            if message is not None and message.event is not None and message.event.agent == agent:
                self.interrupt(lane, _DELETED, message_id=message.id)

    def running(self) -> int:
        """Return how many turns run now."""
        return sum(running.message_id is not None for running in self._running.values())

    def turns(self) -> tuple[tuple[str, str, int], ...]:
        """Return what runs now: the lane, the message, and how many steps it has."""
        return tuple(
            (lane, running.message_id, running.ctx.journal.position[0])
            for lane, running in self._running.items()
            if running.message_id is not None and running.ctx is not None
        )

    async def drain(
        self, timeout_s: float, *, hurry: asyncio.Event | None = None, tells: bool = False
    ) -> int:
        """Start nothing more and wait for running turns; return how many were cut off.

        A turn that is cut off stays `running` on disk and goes on at the next start. `hurry` ends
        the waiting; with `tells`, people whose turn takes a while are told.
        """
        self._stopping = True
        self._let_go_of_waiting()
        hurried = asyncio.create_task(_pressed(hurry or asyncio.Event()))
        grace_s = min(timeout_s, self._services.settings.process.tell_stop_after_s)
        try:
            await self._until_idle(grace_s, hurried)
            if tells:
                await self._tell_of_stop()
            await self._until_idle(timeout_s - grace_s, hurried)
        finally:
            hurried.cancel()
        cut_off = len(self._tasks)
        await self.stop()
        return cut_off

    async def stop(self) -> None:
        """Cancel every task now; a turn that is cut off resumes at the next start."""
        self._services.questions.is_cut_off = True
        self._stopping, self._started = True, False
        tasks = [*self._tasks.values(), *(() if self._watcher is None else (self._watcher,))]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._notices.stop()

    def _let_go_of_waiting(self) -> None:
        """End the tasks of turns that wait for their first model call, or for somebody's permission.

        They start, or go on, next time.
        """
        messages = self._services.questions.leave()
        asking = [lane for lane, one in self._running.items() if one.message_id in messages]
        for lane, running in self._running.items():
            # The turns that wait for one of them cannot go on, either.
            if lane in asking or any(is_below(one, ancestor=lane) for one in asking):
                self._tasks[lane].cancel()
                continue
            journal = None if running.ctx is None else running.ctx.journal
            if journal is None or journal.begun or is_subagent(lane):
                continue
            if journal.waits_for_place:
                self._tasks[lane].cancel()

    async def _until_idle(self, timeout_s: float, hurried: asyncio.Task[None]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._tasks and not hurried.done():
                    ended = asyncio.create_task(_ended(tuple(self._tasks.values())))
                    await asyncio.wait({ended, hurried}, return_when=asyncio.FIRST_COMPLETED)
                    ended.cancel()

    async def _tell_of_stop(self) -> None:
        views = [running.view for running in self._running.values() if running.view is not None]
        for view in views:
            try:
                await tell_of_stop(view, self._services)
            except (StoreError, StorageFull) as error:
                _log.warning("stop_not_told", lane=view.lane, problem=str(error))

    async def _run(self, lane: str) -> None:
        try:
            await self._work(lane)
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001  lane boundary: it is looked at again
            _log.exception("lane_failed", lane=lane)
            await self._services.sleep(_RETRY_S)
            self._again.add(lane)
        finally:
            del self._tasks[lane]
            self._signals.busy_lanes.discard(lane)
            self._next_waiting(lane, self._running.pop(lane).asker)

    def _next_waiting(self, lane: str, asker: ShareHolder | None) -> None:
        """Give the place of a lane to the next one, and look at the lane again if it was woken."""
        if asker is not None:
            self._places.release(asker)
        while self._started and not self._stopping and (dealt := self._places.deal()) is not None:
            asker, following = dealt
            self._waiting.discard(following)
            self._start(following, asker)
        if lane in self._again:
            self._again.discard(lane)
            self.wake(lane)

    async def _work(self, lane: str) -> None:
        tell_expired, after_stop = True, False
        while not self._stopping or is_subagent(lane):
            self._again.discard(lane)
            view = await self._services.store.turns.view(lane)
            if view.message is None or await self._is_waiting(view):
                return
            if await end_if_over(view, self._services):
                continue
            if self._signals.accepting > _RUSH and not _goes_first(lane):
                await self._give_way()
            outcome = await self._turn(view, tell_expired=tell_expired, after_stop=after_stop)
            if is_background(lane):
                self.wake(root_lane(lane))
            tell_expired = outcome is not Outcome.EXPIRED
            after_stop = outcome is Outcome.INTERRUPTED

    async def _give_way(self) -> None:
        """Wait, but never long, while platforms wait for their messages to be acknowledged."""
        for _ in range(_GIVE_WAY_LOOKS):
            await self._services.sleep(_GIVE_WAY_S)
            if self._signals.accepting <= _RUSH:
                return

    async def _is_waiting(self, view: LaneView) -> bool:
        """Return whether the lane waits for a person; a message that interrupts denies instead."""
        if view.waiting_on is None:
            return False
        if view.interrupted_by is None:
            await self._notices.for_approval(view)
            return True
        try:
            await self._services.store.approvals.decide(
                view.waiting_on, "denied", by=view.interrupted_by, at=self._services.clock.now()
            )
        except GuardFailed:
            _log.info("approval_settled_meanwhile", approval=view.waiting_on)
        return False

    async def _turn(
        self, view: LaneView, *, tell_expired: bool, after_stop: bool
    ) -> Outcome | None:
        assert view.message is not None
        running = self._running[view.lane]
        running.message_id = view.message.id
        running.view = view
        current_turn.set(view.message.id)
        running.ctx = ctx = self._runner.context(view, after_stop=after_stop)
        self._take_stop(view, ctx)
        try:
            return await self._runner.run(view, ctx, tell_expired=tell_expired)
        except ApprovalWait:
            return None
        except asyncio.CancelledError:
            if not running.is_stuck:
                raise
            await self._fail(view, ctx, _let_go(running))
        except LeaseLost as error:
            _log.warning("lease_lost", message_id=view.message.id, problem=str(error))
            await self._services.sleep(_RETRY_S)
        except PersonErased:
            await self._runner.abandon(view, Outcome.REFUSED)
        except StoreRejected as error:
            await self._fail(view, ctx, error)
        except (StoreError, StorageFull) as error:
            _log.error("turn_waits", message_id=view.message.id, problem=str(error))
            await self._services.sleep(_RETRY_S)
        except HermesError as error:
            await self._fail(view, ctx, error)
        except Exception as error:  # noqa: BLE001  turn boundary: a defect ends one turn
            _log.exception("turn_failed", message_id=view.message.id)
            await self._fail(view, ctx, error)
        finally:
            self._notices.ended(view.message.id)
            running.message_id = running.ctx = running.view = None
            current_turn.set("")
        return None

    async def _fail(self, view: LaneView, ctx: TurnContext, error: Exception) -> None:
        assert view.message is not None
        message_id = view.message.id
        try:
            await self._runner.fail(view, ctx, cause=f"{type(error).__name__}: {error}")
        except StoreRejected as problem:
            _log.error("message_abandoned", message_id=message_id, problem=str(problem))
            await self._runner.abandon(view, Outcome.FAILED)
        except (StoreError, StorageFull) as problem:
            _log.error("failure_not_saved", message_id=message_id, problem=str(problem))
            await self._services.sleep(_RETRY_S)

    def _take_stop(self, view: LaneView, ctx: TurnContext) -> None:
        """Stop a turn that was stopped while it was on its way, as was the parent of a subagent."""
        lane, early = view.lane, self._running[view.lane].early_stop
        if early is not None and view.message is not None and early[0] == view.message.id:
            ctx.interrupt.press(early[1])
        if not depth_of(lane):
            return
        for name, above in self._running.items():
            by = None if above.ctx is None else above.ctx.interrupt.by
            if by and _ends_with(lane, name, turn_id=above.message_id or "", by=by):
                ctx.interrupt.press(by)

    async def _watch(self) -> None:
        """Keep this node alive, and end turns that are stuck."""
        while True:
            await asyncio.sleep(self._settings.lease_s / 3)
            self.end_stuck(self._services.clock.monotonic())
            try:
                await self._services.store.fleet.beat()
                await self._services.store.feed.catch_up()
                await self.tell_waiting()
            except Exception:  # noqa: BLE001  watch boundary: the next beat may succeed
                _log.exception("node_not_alive", node=self._services.owner)

    async def tell_waiting(self) -> None:
        """Tell people whose turns wait for their first model call."""
        found: list[MessageRecord] = []
        for lane, running in self._running.items():
            if running.ctx is None or _goes_first(lane):
                continue
            if running.ctx.journal.waits_for_place and not running.ctx.journal.begun:
                assert running.view is not None
                assert running.view.message is not None
                found.append(running.view.message)
        await self._notices.without_place(found)

    def end_stuck(self, now: float) -> None:
        """End turns that make no step for longer than any limit allows, each with a reason."""
        services = self._services
        stuck_s = services.settings.process.stuck_turn_s
        if not stuck_s or services.store.writable() is not None:
            return
        limit_s = stuck_s + longest_step_s(services.settings, services.tools)
        for lane in self._stuck.look(self._marks(), now, limit_s=limit_s):
            _log.error("turn_stuck", lane=lane, message_id=self._running[lane].message_id)
            self._running[lane].is_stuck = True
            self._tasks[lane].cancel()

    def _marks(self) -> dict[str, Mark]:
        """Return the progress of turns that wait for nobody else."""
        questions = self._services.questions
        children = [name for name in self._running if depth_of(name)]
        return {
            lane: (running.message_id, *running.ctx.journal.position)
            for lane, running in self._running.items()
            if running.message_id is not None
            and running.ctx is not None
            and not running.ctx.journal.waits_for_place
            and not any(is_below(child, ancestor=lane) for child in children)
            and questions.at(root_lane(lane)) is None
        }


async def _pressed(button: asyncio.Event) -> None:
    await button.wait()


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    await asyncio.wait(set(tasks))


def _let_go(running: _Running) -> TimeoutError:
    """Take back the cancelling of a stuck turn; return why it ends."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    running.is_stuck = False
    return TimeoutError("the turn made no step beyond every limit (process.stuck_turn_s)")


def _ends_with(lane: str, above: str, *, turn_id: str, by: str) -> bool:
    """Return whether what runs on a lane ends when a turn on another lane is stopped.

    Its subagents do, and the tasks that it has delegated and left alone, unless only its time is up.
    """
    if is_below(lane, ancestor=above):
        return True
    return by != TIME_LIMIT and lane.startswith(turn_branch(above, turn_id))


def _goes_first(lane: str) -> bool:
    """Return whether a lane needs no place: commands, and subagents whose parents hold one."""
    return base_lane(lane) != lane or is_subagent(lane)

"""Runs one hook on its own thread with its own event loop, one call after another.

So a slow or blocking hook delays neither a turn nor another hook. Calls that nobody waits for are
in a bounded queue; a caller waits for an answer no longer than the hook's limit.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec
import structlog

from hermes.ports.clock import Clock, SystemClock
from hermes.ports.hooks import WORDS, Context, Hook

_LONGEST_PROBLEM = 300
_GRACE_S = 1.0
_T = TypeVar("_T")
_log = structlog.get_logger(__name__)


class HookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a call may take, how many may wait, and how many failures disable a hook."""

    timeout_s: float
    queue: int
    failures: int


class HookReport(msgspec.Struct, frozen=True, kw_only=True):
    """One hook and its counts since the start; `off` says why it is no longer called."""

    name: str
    events: tuple[str, ...]
    description: str = ""
    place: str = ""
    timeout_s: float = 0.0
    decides: bool = False
    text: bool = False
    state: str = "on"
    runs: int = 0
    failures: int = 0
    dropped: int = 0
    waiting: int = 0
    last_error: str | None = None


class _Call:
    """One event on its way to a hook; the first result is the one that counts."""

    __slots__ = ("answer", "context", "event", "is_settled", "read")

    def __init__(
        self, event: str, context: Context, read: Callable[[Any], object] | None = None
    ) -> None:
        self.event = event
        self.context = context
        self.read = read
        self.answer: Future[Any] = Future()
        self.is_settled = False


class HookWorker:
    """One hook, its thread and its counts."""

    def __init__(self, hook: Hook, *, limits: HookLimits, clock: Clock | None = None) -> None:
        self.hook = hook
        self._now = (clock or SystemClock()).monotonic
        # The call that the thread is running, and its deadline.
        self._current: tuple[_Call, float] | None = None
        self.limit_s = hook.timeout_s or limits.timeout_s
        self._limits = limits
        self._lock = threading.Lock()
        self._calls: deque[_Call | None] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False
        self._wake = asyncio.Event()
        self._ended: Future[None] = Future()
        # A caller that stops waiting does not cancel the thread's end.
        self._ended.set_running_or_notify_cancel()
        self._runs = 0
        self._failures = 0
        self._in_a_row = 0
        self._dropped = 0
        self._last_error: str | None = None
        self.is_off = False

    def tell(self, event: str, context: Context) -> None:
        """Queue a call whose result is ignored; if the queue is full the call is dropped."""
        self._put(_Call(event, self._shown(context)))

    async def ask(
        self, event: str, context: Context, *, read: Callable[[Any], _T | None]
    ) -> _T | None:
        """Return the hook's answer parsed by `read`; None without a valid answer in time."""
        call = _Call(event, self._shown(context), read)
        if not self._put(call):
            return None
        try:
            async with asyncio.timeout(self.limit_s):
                # Any: `read` made the answer what the caller asks for.
                answer: _T | None = await asyncio.wrap_future(call.answer)
        except TimeoutError:
            self._settle(call, self._too_slow())
            return None
        return answer

    async def stop(self) -> None:
        """Run the queued calls, for little longer than one call may take; then drop the rest."""
        self._is_stopped = True
        if self._loop is None:
            return
        self._calls.append(None)
        self._loop.call_soon_threadsafe(self._wake.set)
        try:
            async with asyncio.timeout(self.limit_s + _GRACE_S):
                await asyncio.wrap_future(self._ended)
        except TimeoutError:
            _log.warning("hook_left_behind", hook=self.hook.name, waiting=len(self._calls))

    def report(self) -> HookReport:
        """Return the state of the hook."""
        self._notice_block()
        hook = self.hook
        with self._lock:
            return HookReport(
                name=hook.name,
                events=hook.events,
                description=hook.description,
                place=hook.place,
                timeout_s=self.limit_s,
                decides=hook.decides,
                text=hook.text,
                state="off" if self.is_off else "on",
                runs=self._runs,
                failures=self._failures,
                dropped=self._dropped,
                waiting=len(self._calls),
                last_error=self._last_error,
            )

    def _shown(self, context: Context) -> Context:
        if self.hook.text:
            return dict(context)
        return {name: value for name, value in context.items() if name not in WORDS}

    def _put(self, call: _Call) -> bool:
        if self.is_off or self._is_stopped:
            return False
        self._notice_block()
        if len(self._calls) >= self._limits.queue:
            self._drop(call)
            return False
        self._calls.append(call)
        self._started().call_soon_threadsafe(self._wake.set)
        return True

    def _started(self) -> asyncio.AbstractEventLoop:
        """Return the loop of the hook's thread, which starts with its first call."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            name = f"hook {self.hook.name}"
            threading.Thread(target=self._main, args=(self._loop,), name=name, daemon=True).start()
        return self._loop

    def _drop(self, call: _Call) -> None:
        with self._lock:
            self._dropped += 1
            is_first = self._dropped == 1
        if is_first:
            _log.warning("hook_falls_behind", hook=self.hook.name, event_type=call.event)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_until_complete(self._serve())
        finally:
            loop.close()
            self._ended.set_result(None)

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._calls:
                call = self._calls.popleft()
                if call is None:
                    return
                if not call.is_settled and not self.is_off:
                    await self._run(call)

    async def _run(self, call: _Call) -> None:
        if not call.answer.set_running_or_notify_cancel():
            return
        answer, problem = None, None
        until = self._now() + self.limit_s
        self._current = (call, until)
        timer = asyncio.timeout(self.limit_s)
        try:
            async with timer:
                said = await self.hook.handle(call.event, call.context)
                answer = said if call.read is None else call.read(said)
        # Boundary of a hook: whatever its code raises is counted, and ends nothing else.
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
            problem = self._too_slow() if timer.expired() else f"{type(error).__name__}: {error}"
        self._current = None
        if problem is None and self._now() > until:
            problem = self._too_slow()
        is_first = self._settle(call, problem)
        call.answer.set_result(answer if is_first and problem is None else None)

    def _notice_block(self) -> None:
        """Count a call that blocks its thread past the limit, where no timer can end it."""
        current = self._current
        if current is not None and self._now() > current[1]:
            self._settle(current[0], self._too_slow())

    def _too_slow(self) -> str:
        return f"it took longer than {self.limit_s:g} s"

    def _settle(self, call: _Call, problem: str | None) -> bool:
        """Count a call once; return whether this was its first result."""
        with self._lock:
            if call.is_settled:
                return False
            call.is_settled = True
            self._runs += 1
            self._in_a_row = 0 if problem is None else self._in_a_row + 1
            if problem is None:
                return True
            self._failures += 1
            self._last_error = problem[:_LONGEST_PROBLEM]
            is_enough = self._in_a_row >= self._limits.failures and not self.is_off
            self.is_off = self.is_off or is_enough
        self._tell_failure(call, is_enough=is_enough)
        return True

    def _tell_failure(self, call: _Call, *, is_enough: bool) -> None:
        name, problem = self.hook.name, self._last_error
        _log.warning("hook_failed", hook=name, event_type=call.event, problem=problem)
        if is_enough:
            times = self._limits.failures
            _log.error("hook_switched_off", hook=name, failures=times, problem=problem)

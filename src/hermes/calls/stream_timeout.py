"""Limits how long a model call may be silent, and how long it may last in total, with one timer.

Only the waiting counts: the consumer may take its time between two pieces, and may continue in
another task. The timer is not reset for every piece: when it fires, it checks how long this wait
has lasted and continues for the rest. So a stream of many pieces costs one timer.
"""

import asyncio
from types import TracebackType

import msgspec

from hermes.errors import ProviderTimeout
from hermes.ports.provider import ModelRequest, Provider


class StreamTimeout:
    """`with` starts the time, and raises `TimeoutError` if a wait inside it exceeds a limit.

    The consumer calls `start_wait` before it waits for a piece and `end_wait` when it has one; two
    plain calls, because a coroutine around every wait costs several times as much.
    """

    __slots__ = (
        "_before",
        "_end",
        "_is_over",
        "_loop",
        "_silence_s",
        "_since",
        "_task",
        "_timer",
    )

    def __init__(self, silence_s: float, *, limit_s: float) -> None:
        self._silence_s = silence_s
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._end = self._since + limit_s
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._is_over = False

    def __enter__(self) -> "StreamTimeout":
        self._look()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if kind is not asyncio.CancelledError or task is None or not self._is_over:
            return
        if task.uncancel() <= self._before:
            raise TimeoutError from None

    @property
    def is_waiting(self) -> bool:
        """Whether a wait has started and not ended."""
        return self._task is not None

    def start_wait(self) -> None:
        """Begin to wait for the next piece, in the current task."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._before = task.cancelling()
        self._since = self._loop.time()
        self._task = task

    def end_wait(self) -> None:
        """Stop counting: the piece has arrived."""
        self._task = None

    def _look(self) -> None:
        now = self._loop.time()
        silent_until = (now if self._task is None else self._since) + self._silence_s
        due = (
            silent_until
            if self._task is None and now >= self._end
            else min(self._end, silent_until)
        )
        if due > now:
            self._timer = self._loop.call_at(due, self._look)
        elif self._task is not None:
            self._is_over = True
            self._task.cancel()


class CallTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long a model may be silent, how long a call may last, and how much it may write.

    After `hedge_s` of silence a call that hedges asks the next candidate, too; 0 is never.
    `max_chars` counts text, thoughts and the arguments of tool calls; 0 is any number.
    """

    silence_s: float
    limit_s: float
    hedge_s: float = 0.0
    max_chars: int = 0


class TimedStream:
    """`async with` runs a provider's stream within the time limits, and closes it.

    A class, not a generator around the stream: that would be resumed for every piece.
    """

    __slots__ = ("_provider", "_request", "_silence_s", "_timeout", "_times", "events")

    def __init__(self, provider: Provider, request: ModelRequest, *, times: CallTimes) -> None:
        self._provider = provider
        self._request = request
        self._times = times
        self._silence_s = times.limit_s if provider.info.watched else times.silence_s
        self._timeout = StreamTimeout(self._silence_s, limit_s=times.limit_s)

    async def __aenter__(self) -> StreamTimeout:
        self.events = self._provider.stream(self._request)
        return self._timeout.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        is_late = isinstance(error, TimeoutError) and self._timeout.is_waiting
        try:
            self._timeout.__exit__(kind, error, trace)
        except TimeoutError:
            is_late = True
        await self.events.aclose()
        if is_late:
            raise ProviderTimeout(
                f"{self._provider.info.name} gave no output for {self._silence_s:g} s "
                f"(turns.output_timeout_s) or took over {self._times.limit_s:g} s in all"
            ) from None

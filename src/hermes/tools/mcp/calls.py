"""One running call: whose it is, its time limit, and the server's questions and progress.

The time limit is paused while a question is open: a person takes longer to answer than a tool to
work.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import structlog

from hermes.errors import ToolError
from hermes.ports.tool import ToolContext
from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.questions import AskPerson, Schema, fits

Tell = Callable[[ToolContext, str], None]
_PROGRESS_CHARS = 200
_PROGRESS_EVERY_S = 0.5
MAX_QUESTIONS = 5
_log = structlog.get_logger(__name__)


class SamplingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may ask of a model: of which agent, how often in one call, and how much."""

    agent: str
    most: int
    chars: int


class SampleRefused(Exception):
    """A server gets no answer of a model; the text says why, for the server."""


class RunningCall:
    """A call while it runs."""

    def __init__(
        self,
        context: ToolContext,
        *,
        server: str,
        ask: AskPerson | None = None,
        ask_timeout_s: float = 300.0,
        tell: Tell | None = None,
        sampling: SamplingLimits | None = None,
    ) -> None:
        self.context = context
        self.not_taken = False
        """Set by the wire if it knows that the server did not receive the call."""
        self.is_known = False
        """Set once the server has reacted to the call, even if only with a question."""
        self._server = server
        self._ask = ask
        self._ask_timeout_s = ask_timeout_s
        self._tell = tell
        self._sampling = sampling
        self._samples = 0
        self._limit: asyncio.Timeout | None = None
        self._ended = asyncio.Event()
        self._asking = asyncio.Lock()
        self._asked = 0
        self._told_at = float("-inf")

    @asynccontextmanager
    async def limit(self, seconds: float) -> AsyncIterator[None]:
        """Raise `TimeoutError` after the limit without an answer; time with open questions is not
        counted.

        Leaving the context ends the call: a question that is still open is withdrawn.
        """
        async with asyncio.timeout(seconds) as limit:
            self._limit = limit
            try:
                yield
            finally:
                self._limit = None
                self._ended.set()

    # Any: JSON values.
    async def question(self, text: str, schema: Schema) -> Mapping[str, Any] | None:
        """Ask the person; None if they decline, cannot be asked, or the answer does not fit."""
        self._asked += 1
        if self._ask is None or self._asked > MAX_QUESTIONS or self._ended.is_set():
            return None
        async with self._asking:
            left = self._hold()
            try:
                answer = await self._answer(self._ask, text, schema=schema)
            finally:
                self._resume(left)
        if answer is not None and schema and not fits(answer, schema):
            _log.warning("mcp_answer_unfit", server=self._server, message_id=self.context.turn_id)
            return None
        return answer

    async def sample(self, text: str) -> str:
        """Return what a model answers the server; raises `SampleRefused`.

        It is a subagent of the turn: its cost is the person's, its depth is limited, and it is in the
        journal. One answers at a time; the time limit of the call is paused meanwhile.
        """
        allowed = self._sampling
        if allowed is None or self.context.sample is None:
            raise SampleRefused("the settings of this server name no agent for sampling")
        self._samples += 1
        if self._samples > allowed.most:
            raise SampleRefused(f"it may ask for a model {allowed.most} times in one call")
        if len(text) > allowed.chars:
            raise SampleRefused(
                f"the request has {len(text):,} characters, at most {allowed.chars:,} are allowed"
            )
        async with self._asking:
            left = self._hold()
            try:
                answer = await self._subagent(text, allowed.agent)
            finally:
                self._resume(left)
        return answer[: allowed.chars]

    async def _subagent(self, text: str, agent: str) -> str:
        """Wait for the subagent or the end of the call, whichever is first."""
        assert self.context.sample is not None
        working = asyncio.ensure_future(self.context.sample(text, agent))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not working.done():
                working.cancel()
            await asyncio.wait({working, ended})
        if working.cancelled():
            raise SampleRefused("the call has ended")
        failure = working.exception()
        if isinstance(failure, ToolError):
            raise SampleRefused(str(failure)) from failure
        if failure is not None:
            raise failure
        return working.result()

    async def _answer(
        self, ask: AskPerson, text: str, *, schema: Schema
    ) -> Mapping[str, Any] | None:
        """Wait for the answer, the end of the call or the time limit, whichever is first.

        `ask` measures the person's time, because the question may have to wait for another one.
        """
        asked = asyncio.ensure_future(
            ask(self.context, text, schema=schema, within_s=self._ask_timeout_s)
        )
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait(
                {asked, ended},
                timeout=self._ask_timeout_s * MAX_QUESTIONS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            ended.cancel()
            if not asked.done():
                asked.cancel()
            await asyncio.wait({asked, ended})
        if asked.cancelled():
            return None
        failure = asked.exception()
        if failure is not None:
            _log.error(
                "mcp_ask_failed",
                server=self._server,
                message_id=self.context.turn_id,
                exc_info=failure,
            )
            return None
        return asked.result()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on the tool's progress; a flood of reports is thinned out."""
        now = asyncio.get_running_loop().time()
        if self._tell is None or now - self._told_at < _PROGRESS_EVERY_S:
            return
        self._told_at = now
        share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        told = f"{share}: {message}" if message else share
        self._tell(self.context, one_line(told, _PROGRESS_CHARS))

    def _hold(self) -> float | None:
        """Stop the clock of the limit; return the remaining time."""
        when = None if self._limit is None else self._limit.when()
        if self._limit is None or when is None or self._limit.expired():
            return None
        self._limit.reschedule(None)
        return when - asyncio.get_running_loop().time()

    def _resume(self, left: float | None) -> None:
        if left is not None and self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + left)

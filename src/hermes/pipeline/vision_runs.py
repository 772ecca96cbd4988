"""Running a plugin's vision pipeline: its looks are made for it, its failures end nothing.

The plugin's code runs in a task of its own and asks for looks over a queue, so that it can be given
up at any time while nothing that writes to the journal is ever cut off.
"""

import asyncio

import msgspec
import structlog

from hermes.errors import ProviderError, TryLater
from hermes.message.parts import ImagePart
from hermes.pipeline.turn import Turn
from hermes.pipeline.vision_calls import VisionCaller, VisionContext
from hermes.ports.vision import VisionPipeline, VisionRequest
from hermes.tools.result_limit import kept_text

_log = structlog.get_logger(__name__)


class _Wanted(msgspec.Struct, frozen=True):
    """A look that a pipeline waits for."""

    prompt: str
    pictures: tuple[ImagePart, ...]
    said: "asyncio.Future[str]"


class VisionRun:
    """One run of a pipeline."""

    def __init__(
        self, pipeline: VisionPipeline, looker: VisionCaller, *, ctx: VisionContext
    ) -> None:
        self._pipeline = pipeline
        self._looker = looker
        self._ctx = ctx
        self._wanted: asyncio.Queue[_Wanted] = asyncio.Queue()

    async def answer(self, turn: Turn, shown: tuple[ImagePart, ...]) -> str:
        """Return what the pipeline answers to the pictures that are `shown`.

        Nothing when it leaves the message to the model.
        """

        async def look(prompt: str, *, pictures: tuple[ImagePart, ...] | None = None) -> str:
            said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            await self._wanted.put(_Wanted(prompt, shown if pictures is None else pictures, said))
            return await said

        asked = VisionRequest(
            turn_id=turn.id,
            person_id=turn.person_id,
            lane=turn.lane,
            intent=self._pipeline.intent,
            text=turn.event.text,
            pictures=shown,
            look=look,
        )
        # A plugin may be written without types: what it returns is looked at.
        running: asyncio.Task[object] = asyncio.create_task(
            self._pipeline.answer(asked), name=f"vision {turn.id}"
        )
        try:
            return await self._serve(running)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _serve(self, running: "asyncio.Task[object]") -> str:
        """Make the looks that are asked for, until the pipeline has ended or time is up."""
        limit = self._ctx.services.settings.vision.timeout_s
        while True:
            next_wanted = asyncio.create_task(self._wanted.get())
            try:
                with self._ctx.interrupt.scope():
                    done, _ = await asyncio.wait(
                        {running, next_wanted},
                        timeout=limit,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
            finally:
                next_wanted.cancel()
            if running in done:
                return self._result(running)
            if not done:
                return self._failed(f"no result within {limit:g} s (vision.timeout_s)")
            await self._make(next_wanted.result())

    async def _make(self, wanted: _Wanted) -> None:
        try:
            said = await self._looker.look(wanted.prompt, wanted.pictures)
        except (ProviderError, TryLater) as error:
            if not wanted.said.done():
                wanted.said.set_exception(error)
            return
        if not wanted.said.done():
            wanted.said.set_result(said)

    def _result(self, running: "asyncio.Task[object]") -> str:
        if running.cancelled():
            return self._failed("it was cancelled")
        error = running.exception()
        if error is not None:
            # Boundary of the plugin: its code must not end the turn.
            return self._failed(f"{type(error).__name__}: {error}", error=error)
        answer = running.result()
        if not isinstance(answer, str):
            return self._failed(f"expected a text, found {type(answer).__name__}")
        return kept_text(answer)

    def _failed(self, problem: str, *, error: BaseException | None = None) -> str:
        intent = self._pipeline.intent
        _log.error("vision_failed", intent=intent, problem=problem, exc_info=error)
        kind = problem if error is None else type(error).__name__
        self._ctx.journal.note("vision_failed", pipeline=intent, problem=kind)
        return ""

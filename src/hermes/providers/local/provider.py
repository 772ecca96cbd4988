"""`LocalProvider`: the small model that answers if nothing else is configured.

It loads on the first call, runs one call at a time and is unloaded after it was idle. It implements
the provider port like any service; only this module knows that a child process does the work.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import msgspec
import structlog

from hermes.errors import (
    PromptTooLong,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.ids import MakeId, make_id
from hermes.message.parts import tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ModelRequest,
    ProviderInfo,
    StopReason,
)
from hermes.provider_kit.capabilities import service_options
from hermes.provider_kit.idle_timer import CallLater, IdleTimer
from hermes.providers.local.answer import ConstrainedAnswer, MalformedAnswer
from hermes.providers.local.constraint import Constraint, constraint_of
from hermes.providers.local.free_answer import FreeAnswer
from hermes.providers.local.process import EngineProcess
from hermes.providers.local.prompt import FittedPrompt, PromptFit, lines_of
from hermes.providers.local.settings import MODEL_NAME, LocalSettings, is_installed

_TEMPERATURE = 0.3
_TOP_P = 0.9
_log = structlog.get_logger(__name__)


OnStatus = Callable[[str], None]


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _Details = msgspec.field(default_factory=_Details)


class _Timings(msgspec.Struct):
    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class _Problem(msgspec.Struct):
    message: str = ""
    code: int = 500
    type: str = ""
    n_prompt_tokens: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = msgspec.field(default_factory=list)
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: _Problem | None = None


class _TooLong(Exception):
    """The engine counted more tokens than its context holds."""

    def __init__(self, counted: int) -> None:
        self.counted = counted


_decode = msgspec.json.Decoder(_Chunk).decode


def _info_of(settings: LocalSettings) -> ProviderInfo:
    return ProviderInfo(
        name=settings.name,
        model=MODEL_NAME,
        tools=True,
        vision=False,
        schema=True,
        context_tokens=settings.context_tokens,
        demonstration=True,
        local=True,
        probed=False,
        watched=True,
        options=service_options("local"),
    )


class LocalProvider:
    """The built-in demonstration model; `on_status` is called when it loads."""

    def __init__(
        self,
        settings: LocalSettings,
        *,
        on_status: OnStatus = lambda _text: None,
        call_later: CallLater | None = None,
        new_id: MakeId = make_id,
    ) -> None:
        self._settings = settings
        self._info = _info_of(settings)
        self._on_status = on_status
        self._new_id = new_id
        self._busy = asyncio.Lock()
        self._engine: EngineProcess | None = None
        self._timer = IdleTimer(settings.idle_unload_s, self._on_idle, call_later=call_later)
        self._unloading: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def info(self) -> ProviderInfo:
        """What the model can do."""
        return self._info

    @property
    def engine_pid(self) -> int | None:
        """The process that holds the model while it is loaded."""
        engine = self._engine
        return engine.pid if engine is not None and engine.is_running else None

    async def available(self) -> bool:
        """Return whether the model is enabled and its two packages are installed."""
        return self._settings.enabled and not self._closed and is_installed()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call after the earlier ones; closing the iterator stops the generation."""
        constraint = constraint_of(request, name=self._settings.name)
        async with self._busy:
            self._timer.stop()
            try:
                engine = await self._loaded()
                async with aclosing(self._call(engine, request, constraint)) as events:
                    async for event in events:
                        yield event
            finally:
                self._start_timer()

    async def unload(self) -> None:
        """Unload the model once no call is running."""
        async with self._busy:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.stop()
                self._on_status("the demonstration model has left memory")

    async def close(self) -> None:
        """Stop for good."""
        self._closed = True
        self._timer.stop()
        if self._unloading is not None:
            await self._unloading
        await self.unload()

    async def _loaded(self) -> EngineProcess:
        if self._closed:
            raise ProviderUnavailable(f"{self._settings.name}: the gateway is stopping")
        if self._engine is None or not self._engine.is_running:
            self._on_status("loading the demonstration model")
            self._engine = await EngineProcess.start(self._settings)
            self._on_status("the demonstration model is ready")
        return self._engine

    async def _call(
        self, engine: EngineProcess, request: ModelRequest, constraint: Constraint | None
    ) -> AsyncGenerator[ModelEvent, None]:
        wanted = request.max_output_tokens or self._settings.max_output_tokens
        context = self._settings.context_tokens
        output = max(1, min(wanted, self._settings.max_output_tokens, context // 2))
        fitting = self._fitting(request, constraint, room=context - output)
        while True:
            self._tell(fitting.fitted)
            body = _body(request, fitting.fitted, output=output, constraint=constraint)
            answer = self._answer(constraint, enough=self._enough(request, output))
            try:
                async with aclosing(self._run(engine, body, answer)) as events:
                    async for event in events:
                        yield _told(event, fitting.fitted, constraint)
            except _TooLong as error:
                if not fitting.shrink(error.counted):
                    raise self._too_long(error.counted) from None
                continue
            return

    def _enough(self, request: ModelRequest, output: int) -> int | None:
        """Return after how much of `output` an answer ends with its sentence; None: as the caller
        says.

        A caller whose limit is not smaller than the model's own has not asked for a cut there.
        """
        wanted = None if request.is_capped else request.max_output_tokens
        if wanted is not None and wanted < self._settings.max_output_tokens:
            return None
        return output // 2

    def _fitting(
        self, request: ModelRequest, constraint: Constraint | None, *, room: int
    ) -> "PromptFit":
        """Return the first attempt at what is sent; without `cut_history` it is everything, and the
        only one."""
        lines = lines_of(request, told=None if constraint is None else constraint.told)
        allowed = max(1, min(room, self._settings.max_prompt_tokens))
        return PromptFit(lines, allowed=allowed, may_cut=request.cut_history)

    def _too_long(self, counted: int) -> PromptTooLong:
        name, held = self._settings.name, self._settings.context_tokens
        return PromptTooLong(
            f"{name}: {counted} tokens do not fit the demonstration model's context length of {held}"
            " tokens: send fewer or shorter messages, or configure a larger model",
            needed=counted,
            limit=held,
            status=400,
        )

    def _answer(
        self, constraint: Constraint | None, *, enough: int | None
    ) -> FreeAnswer | ConstrainedAnswer:
        if constraint is None:
            return FreeAnswer(enough)
        return ConstrainedAnswer(json_answer=constraint.json_answer, make_id=self._new_id)

    async def _run(
        self,
        engine: EngineProcess,
        body: dict[str, Any],
        answer: FreeAnswer | ConstrainedAnswer,
    ) -> AsyncGenerator[ModelEvent, None]:
        finish, usage = None, None
        try:
            async with aclosing(engine.generate(body)) as chunks:
                async for raw in chunks:
                    chunk = self._read(raw)
                    usage = chunk.usage or usage
                    for choice in chunk.choices:
                        finish = choice.finish_reason or finish
                        for event in answer.feed(choice.delta.content or ""):
                            yield event
                    if answer.is_full:
                        finish, usage = "length", _so_far(chunk.timings)
                        break
        except MalformedAnswer as error:
            raise self._let_go(answer) from error
        except ProviderUnavailable as error:
            if answer.has_begun:
                raise StreamTruncated(f"{error}; the answer is not whole") from error
            raise
        if finish is None or usage is None or not (answer.is_whole or finish == "length"):
            raise StreamTruncated(f"{self._settings.name}: the generation stopped before its end")
        for event in answer.cut() if finish == "length" else ():
            yield event
        yield _end(answer, finish, usage=usage)

    def _read(self, raw: bytes) -> _Chunk:
        chunk = _decode(raw)
        if chunk.error is not None:
            raise self._problem(chunk.error)
        return chunk

    def _let_go(self, answer: FreeAnswer | ConstrainedAnswer) -> ProviderError:
        """Return the error for an engine that does not enforce its grammar."""
        name = self._settings.name
        if answer.has_begun:
            return StreamTruncated(f"{name}: the answer left its form; it is not whole")
        return ProviderRejected(
            f"{name}: the engine cannot enforce a schema of this request on the demonstration "
            "model: simplify the schemas of its tools or of its answer, or configure a larger model"
        )

    def _problem(self, problem: _Problem) -> Exception:
        if problem.type == "exceed_context_size_error":
            return _TooLong(problem.n_prompt_tokens)
        kind: type[ProviderError] = ProviderRejected if problem.code < 500 else ProviderUnavailable
        return kind(f"{self._settings.name}: the engine answered: {problem.message[:300]}")

    def _tell(self, fitted: FittedPrompt) -> None:
        if fitted.dropped or fitted.cut:
            _log.info(
                "the conversation was cut to fit the demonstration model",
                provider=self._settings.name,
                messages_dropped=fitted.dropped,
                text_cut=fitted.cut,
            )

    def _start_timer(self) -> None:
        if self._engine is not None and not self._closed:
            self._timer.start()

    def _on_idle(self) -> None:
        # A call that came in between restarts the timer when it ends.
        if not self._busy.locked():
            self._unloading = asyncio.get_running_loop().create_task(self.unload())


# Any: a JSON object on its way to the engine.
def _body(
    request: ModelRequest, fitted: FittedPrompt, *, output: int, constraint: Constraint | None
) -> dict[str, Any]:
    heat = request.temperature if request.temperature is not None else _TEMPERATURE
    body: dict[str, Any] = {
        "messages": [{"role": line.role, "content": line.content} for line in fitted.lines],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": output,
        "temperature": heat,
        "top_p": request.top_p if request.top_p is not None else _TOP_P,
        "repeat_penalty": 1.1,
        "cache_prompt": True,
        # An answer that was ended early has no token count at its end.
        "timings_per_token": True,
    }
    if constraint is not None:
        body["grammar"] = constraint.grammar
    elif request.stop:
        body["stop"] = list(request.stop)
    return body


def _told(event: ModelEvent, fitted: FittedPrompt, constraint: Constraint | None) -> ModelEvent:
    """Return the end of an answer with what the model was not shown."""
    if not isinstance(event, CallEnd):
        return event
    is_verbatim = event.is_verbatim and constraint is None and not fitted.cut
    is_verbatim = is_verbatim and all(line.is_verbatim for line in fitted.lines)
    return msgspec.structs.replace(event, left_out=fitted.dropped, is_verbatim=is_verbatim)


def _so_far(timings: _Timings | None) -> _Usage:
    """Return the usage of an answer that is ended here."""
    now = timings or _Timings()
    return _Usage(now.cache_n + now.prompt_n, now.predicted_n, _Details(now.cache_n))


def _end(answer: FreeAnswer | ConstrainedAnswer, finish: str, *, usage: _Usage) -> CallEnd:
    counted = Usage(
        usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens
    )
    parts = answer.parts()
    reason: StopReason = "tool_calls" if tool_calls_of(parts) else "end"
    reason = "length" if finish == "length" else reason
    return CallEnd(parts, reason, counted, MODEL_NAME, is_verbatim=answer.is_verbatim)

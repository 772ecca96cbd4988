"""Stage: one model call, walking the plan until a candidate answers.

Every try is a step that is written before it is on the wire. What was shown when the call broke
off or was stopped is kept, and said to be a part.
"""

from contextlib import aclosing

import msgspec
import structlog

from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent, CallFailure, CallStart, FullAnswer, SlotWait
from hermes.calls.model_caller import CallSpec
from hermes.errors import (
    NoCredits,
    NoPlace,
    OverBudget,
    PromptTooLong,
    ProviderError,
    TryLater,
    TurnInterrupted,
)
from hermes.message.chat import ChatMessage, as_read
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.message.reply import Reply
from hermes.pipeline.accounts import (
    ModelContext,
    asker_of,
    key_of,
    note_wait,
    payer_of,
    place_wait_s,
)
from hermes.pipeline.candidates import choose_model, freeze
from hermes.pipeline.exchange import rounds_used
from hermes.pipeline.graph_notes import note_call
from hermes.pipeline.needs import ModelJournal, StoppableContext
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.replies import cut_off, interrupted, model_failed, no_place, not_now, too_long
from hermes.pipeline.streamed_text import ShownModelServices, StreamedText
from hermes.pipeline.turn import Turn
from hermes.ports.provider import ModelRequest, TextDelta
from hermes.ports.steps import Step, StepFacts
from hermes.routing.plan import Candidate

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
_Context = StoppableContext[ShownModelServices, ModelJournal]


async def call_model(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with the model's answer, or the reply that ends it."""
    try:
        turn = await choose_model(turn, ctx)
    except PromptTooLong as error:
        return too_long(turn, error)
    except ProviderError as error:
        return model_failed(turn, str(error))
    call = _Call(turn, ctx)
    try:
        return await call.run()
    except TurnInterrupted:
        return call.so_far(interrupted(call.shown.text, ctx.interrupt.by or ""))
    except PromptTooLong as error:
        call.note_failure(error)
        return call.so_far(too_long(turn, error))
    except ProviderError as error:
        call.note_failure(error)
        text = call.shown.text
        return call.so_far(cut_off(text, str(error)) if text else model_failed(turn, str(error)))
    except NoCredits as error:
        return await no_credits_reply(turn, ctx, error)
    except TryLater as error:
        limit = error.limit if isinstance(error, OverBudget) else None
        ctx.journal.note("model_refused", code=error.code, limit=limit)
        if isinstance(error, NoPlace) and not ctx.journal.begun:
            return no_place(str(error))
        return not_now(turn, error)
    finally:
        ctx.journal.waits_for_place = False
        ctx.journal.spend(call.receipt.take())
        await call.shown.close()


class _Call:
    """The listener of one call: writes each try down, shows the text, keeps the answer."""

    def __init__(self, turn: Turn, ctx: _Context) -> None:
        self.shown = StreamedText(turn, ctx)
        self.receipt = SpendLog()
        self._turn = turn
        self._ctx = ctx
        self._candidate: Candidate | None = None
        self._ordinal = -1
        self._is_open = False

    async def run(self) -> Turn:
        """Return the turn with the answer."""
        turn, ctx = self._turn, self._ctx
        assert turn.plan is not None
        request = await _request(turn, ctx)
        spec = CallSpec(
            call_id=turn.id,
            request=request,
            payer=await payer_of(turn, ctx),
            wait_s=ctx.services.settings.turns.wait_s,
            remembers=turn.agent.settings.cache and turn.retry is None,
            place_s=place_wait_s(turn, ctx),
            asker=asker_of(turn),
        )
        run = ctx.services.calls.run(spec, turn.plan, receipt=self.receipt)
        stoppable = ctx.interrupt.scope()
        async with aclosing(run) as events:
            while True:
                with stoppable:
                    event = await anext(events)
                    if isinstance(event, TextDelta) and event.text:
                        await self.shown.add(event.text)
                if isinstance(event, FullAnswer):
                    return self._answered(event, request)
                await self._hear(event)

    async def _hear(self, event: CallEvent) -> None:
        if isinstance(event, SlotWait):
            await note_wait(self._turn, self._ctx)
        elif isinstance(event, CallStart):
            self._ctx.journal.waits_for_place = False
            self._candidate = event.candidate
            name = f"{event.candidate.provider}:{event.candidate.model}"
            self._ordinal = await self._ctx.journal.start(
                self._turn, "model", name=name, prepared=freeze(self._turn, self._ctx)
            )
            self._is_open = True
        elif isinstance(event, CallFailure):
            self._candidate = event.candidate
            self.note_failure(event.error)
            if self._is_open:
                self._end_failed()

    def _end_failed(self) -> None:
        """End the step of a try that another one follows: it was not lost, and costs once."""
        self._is_open = False
        step = Step(ordinal=self._ordinal, kind="model", state="failed")
        self._ctx.journal.end(self._ordinal, None, step=step)
        self._ctx.journal.spend(self.receipt.take())

    def note_failure(self, error: ProviderError) -> None:
        """Tell the log and the timeline that a candidate failed."""
        candidate = self._candidate
        name = "" if candidate is None else f"{candidate.provider}:{candidate.model}"
        _log.warning("model_failed", message_id=self._turn.id, model=name, problem=str(error))
        self._ctx.journal.note("model_failed", model=name, problem=error.code, status=error.status)

    def _answered(self, event: FullAnswer, request: ModelRequest) -> Turn:
        turn, end = self._turn, event.end
        message = ChatMessage("assistant", _allowed(end.parts, request))
        facts = _facts(event, request, message)
        step = Step(ordinal=self._ordinal, kind="model", state="done", usage=end.usage, facts=facts)
        ended = self._ctx.journal.end(self._ordinal, _encode(message), step=step)
        if end.left_out:
            self._ctx.journal.note("left_out", messages=end.left_out, model=facts.model)
        is_from_memory = event.cached_from is not None
        if is_from_memory:
            self._ctx.journal.note("from_memory", cached_from=event.cached_from)
        return msgspec.structs.replace(
            note_call(turn, ended).plus(message, ordinal=self._ordinal),
            usage=turn.usage.plus(end.usage),
            model=facts.model,
            merged=turn.claimed,
            is_from_memory=turn.is_from_memory or is_from_memory,
        )

    def so_far(self, reply: Reply) -> Reply:
        """Return the reply with the usage of a call that was cut off, as far as it is known."""
        spent = self.receipt.take()
        self._ctx.journal.spend(spent)
        if not spent or self._candidate is None:
            return reply
        return msgspec.structs.replace(
            reply,
            usage=spent[-1].usage,
            model=f"{self._candidate.provider}:{self._candidate.model}",
        )


def _facts(event: FullAnswer, request: ModelRequest, message: ChatMessage) -> StepFacts:
    """Return what the graph has to know about a call."""
    end, limit = event.end, event.max_output_tokens
    return StepFacts(
        model=f"{event.candidate.provider}:{end.model}",
        cached_from=event.cached_from,
        left_out=end.left_out,
        is_verbatim=end.is_verbatim and message.parts == end.parts,
        had_tools=bool(request.tools),
        sampling={} if limit is None else {"max_output_tokens": limit},
    )


def _allowed(parts: tuple[Part, ...], request: ModelRequest) -> tuple[Part, ...]:
    """Drop tool calls that a model made up although it was offered no tools."""
    if request.tools:
        return parts
    return tuple(part for part in parts if not isinstance(part, ToolCallPart))


async def _request(turn: Turn, ctx: ModelContext) -> ModelRequest:
    limit = turn.agent.settings.tool_rounds
    rounds = ctx.services.settings.turns.tool_rounds if limit is None else limit
    key = await key_of(turn, ctx)
    messages, plain_chars = _read(turn.context())
    return ModelRequest(
        model="",
        max_output_tokens=None if key is None else key.max_output_tokens,
        messages=messages,
        system=turn.system,
        tools=turn.tools if rounds_used(turn) < rounds else (),
        reasoning=turn.choices.reasoning,
        cut_history=True,
        # What comes before this message is the same with every call of the session.
        cache_prefix=True,
        plain_chars=plain_chars,
    )


def _read(context: tuple[ChatMessage, ...]) -> tuple[tuple[ChatMessage, ...], int | None]:
    """Return messages as models are given them, and their characters as `_plain_chars` counts."""
    chars = 0
    for message in context:
        parts = message.parts
        if len(parts) != 1 or type(parts[0]) is not TextPart:
            messages = tuple(map(as_read, context))
            return messages, _plain_chars(messages)
        chars += len(parts[0].text)
    # Nearly always: a note never stands alone, so there is none.
    return context, chars


def _plain_chars(messages: tuple[ChatMessage, ...]) -> int | None:
    """Return how many characters messages have that are text and nothing else; None for others."""
    chars = 0
    for message in messages:
        for part in message.parts:
            if type(part) is not TextPart:
                return None
            chars += len(part.text)
    return chars

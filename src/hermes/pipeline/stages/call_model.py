"""Stage: one model call, walking the plan until a candidate answers.

Every try is a step that is written before it is on the wire. What was shown when the call broke
off or was stopped is kept, and said to be a part.
"""

from contextlib import aclosing

import msgspec
import structlog

from hermes.calls.answer_checks import is_callers_empty
from hermes.calls.events import CallEvent, CallFailure, CallStart, FullAnswer, SlotWait
from hermes.calls.model_caller import CallSpec
from hermes.errors import (
    AnswerInvalid,
    NoCredits,
    NoPlace,
    OverBudget,
    PromptTooLong,
    ProviderCooling,
    ProviderError,
    TryLater,
    TurnInterrupted,
)
from hermes.message.chat import ChatMessage
from hermes.message.parts import text_of, tool_calls_of
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
from hermes.pipeline.exchange import (
    continuations,
    has_words,
    is_going_on,
    left_at,
    with_answer,
)
from hermes.pipeline.graph_notes import note_call
from hermes.pipeline.interrupts import TIME_LIMIT
from hermes.pipeline.model_request import allowed_parts, facts_of, request_of
from hermes.pipeline.needs import ModelJournal, StoppableContext
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.replies import (
    cut_off,
    empty_answer,
    model_failed,
    no_model,
    no_place,
    not_now,
    stopped_reply,
    too_long,
)
from hermes.pipeline.streamed_text import ShownModelServices, StreamedText
from hermes.pipeline.try_costs import TryCosts
from hermes.pipeline.turn import Turn
from hermes.ports.provider import CallEnd, ModelRequest, TextDelta
from hermes.ports.steps import Rest, Step, StepFacts
from hermes.routing.plan import Candidate

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
_CUT_JSON = "the answer reached its length limit before it was the whole JSON that its schema wants"
_Context = StoppableContext[ShownModelServices, ModelJournal]


async def call_model(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with the model's answer, or the reply that ends it."""
    try:
        turn = await choose_model(turn, ctx)
    except PromptTooLong as error:
        return too_long(turn, error)
    except ProviderError as error:
        return no_model(turn, str(error))
    call = _Call(turn, ctx)
    try:
        return await call.run()
    except TurnInterrupted:
        if call.is_given_up():
            return await call.dropped()
        return call.so_far(stopped_reply(turn, call.shown.text, by=ctx.interrupt.by or ""))
    except ProviderError as error:
        return await call.failed(error)
    except NoCredits as error:
        return await no_credits_reply(turn, ctx, error)
    except TryLater as error:
        limit = error.limit if isinstance(error, OverBudget) else None
        ctx.journal.note("model_refused", code=error.code, limit=limit)
        if is_going_on(turn):
            return await call.left()
        if isinstance(error, NoPlace) and not ctx.journal.begun:
            return no_place(str(error))
        return call.costs.of_reply(not_now(turn, error))
    finally:
        ctx.interrupt.close_until = None
        ctx.journal.waits_for_place = False
        ctx.journal.spend(call.costs.receipt.take())
        await call.shown.close()


class _Call:
    """The listener of one call: writes each try down, shows the text, keeps the answer."""

    def __init__(self, turn: Turn, ctx: _Context) -> None:
        self.shown = StreamedText(turn, ctx)
        self.costs = TryCosts(turn, ctx.journal)
        self._turn = turn
        self._ctx = ctx
        self._candidate: Candidate | None = None
        self._deployment = ""
        self._ordinal: int | None = None
        self._shown_chars = len(self.shown.text)

    def is_given_up(self) -> bool:
        """Return whether the call ends because a message follows that joins the turn."""
        return self._ctx.interrupt.is_followed and self._ctx.interrupt.by is None

    def _is_left(self) -> bool:
        """Return whether a person of the chat ends the call: what was not written costs nothing."""
        by = self._ctx.interrupt.by
        is_stopped = by is not None and by != TIME_LIMIT and self._turn.event.key is None
        return is_stopped or self.is_given_up()

    async def run(self) -> Turn | Reply:
        """Return the turn with the answer, or the reply to an empty one."""
        turn, ctx = self._turn, self._ctx
        assert turn.plan is not None
        request = await _request(turn, ctx)
        # Who asks again wants another answer.
        is_again = turn.retry is not None or bool(turn.event.replaces)
        spec = CallSpec(
            call_id=turn.id,
            request=request,
            payer=await payer_of(turn, ctx),
            wait_s=ctx.services.settings.turns.wait_s,
            remembers=turn.agent.settings.cache and not (is_again or turn.is_temporary),
            place_s=place_wait_s(turn, ctx),
            asker=asker_of(turn),
            is_given_up=self._is_left,
        )
        run = ctx.services.calls.run(spec, turn.plan, receipt=self.costs.receipt)
        stoppable = ctx.interrupt.scope()
        async with aclosing(run) as events:
            while True:
                with stoppable:
                    event = await anext(events)
                    if isinstance(event, TextDelta) and event.text:
                        if self.shown.previews:
                            ctx.interrupt.close_until = None
                        await self.shown.add(event.text)
                if isinstance(event, FullAnswer):
                    ctx.interrupt.close_until = None
                    return await self._answered(event, request)
                await self._hear(event)

    async def _hear(self, event: CallEvent) -> None:
        if isinstance(event, SlotWait):
            await note_wait(self._turn, self._ctx)
        elif isinstance(event, CallStart):
            self._ctx.journal.waits_for_place = False
            self._candidate, self._deployment = event.candidate, event.deployment
            self._ordinal = await self._ctx.journal.start(
                self._turn,
                "model",
                name=self._name,
                prepared=freeze(self._turn, self._ctx),
                facts=StepFacts(deployment=self._deployment) if self._deployment else None,
            )
        elif isinstance(event, CallFailure):
            self._candidate = event.candidate
            self._note_failure(event.error)
            await self._end_failed(is_callers=event.error.is_callers)

    @property
    def _name(self) -> str:
        candidate = self._candidate
        return "" if candidate is None else f"{candidate.provider}:{candidate.model}"

    async def _end_failed(self, *, is_callers: bool = False) -> None:
        """End a try without an answer; the person pays if they were shown some of it or caused it."""
        shown = len(self.shown.text)
        ordinal, self._ordinal = self._ordinal, None
        is_theirs = is_callers or shown > self._shown_chars
        await self.costs.end_failed(ordinal, payer="person" if is_theirs else "platform")
        self._shown_chars = shown

    async def dropped(self) -> Turn:
        """Return the turn without the call: it is asked again, for the person who went on writing."""
        ordinal, self._ordinal = self._ordinal, None
        await self.costs.end_failed(ordinal, payer="person")
        return self.costs.of_turn(self._turn)

    async def failed(self, error: ProviderError) -> Turn | Reply:
        """Return the end of a call that no candidate answered."""
        self._note_failure(error)
        text = self.shown.text
        if is_going_on(self._turn):
            return await self.left(is_callers=error.is_callers)
        if text:
            return self.so_far(cut_off(text, str(error)))
        await self._end_failed(is_callers=error.is_callers)
        return self.so_far(model_failed(self._turn, error))

    async def left(self, *, is_callers: bool = False) -> Turn:
        """Return the turn with the answer as far as it was written: the rest cannot be had."""
        await self._end_failed(is_callers=is_callers)
        return self.costs.of_turn(left_at(self._turn, self.shown.text))

    def _note_failure(self, error: ProviderError) -> None:
        """Tell the log and the timeline that a candidate failed."""
        name = self._name
        _log.warning("model_failed", message_id=self._turn.id, model=name, problem=str(error))
        told: dict[str, object] = {"model": name, "problem": error.code, "status": error.status}
        if self._deployment and not isinstance(error, ProviderCooling):
            told["deployment"] = self._deployment
        self._ctx.journal.note("model_failed", **told)

    async def _answered(self, event: FullAnswer, request: ModelRequest) -> Turn | Reply:
        turn, end = self._turn, event.end
        if request.schema is not None and end.stop_reason == "length":
            raise AnswerInvalid(_CUT_JSON, answer=text_of(end.parts))
        message = ChatMessage("assistant", allowed_parts(end.parts, request))
        if not has_words(message):
            return await self._empty(event)
        await self.shown.finish(message.text)
        assert self._ordinal is not None
        rest = self._rest(end, request)
        facts = facts_of(event, request, message, rest=rest, deployment=self._deployment)
        step = Step(ordinal=self._ordinal, kind="model", state="done", usage=end.usage, facts=facts)
        ended = self._ctx.journal.end(self._ordinal, _encode(message), step=step)
        if end.left_out:
            self._ctx.journal.note("left_out", messages=end.left_out, model=facts.model)
        is_from_memory = event.cached_from is not None
        if is_from_memory:
            self._ctx.journal.note("from_memory", cached_from=event.cached_from)
        turn = self.costs.of_turn(turn)
        return msgspec.structs.replace(
            with_answer(note_call(turn, ended), message, ordinal=self._ordinal),
            usage=turn.usage.plus(end.usage),
            model=facts.model,
            merged=turn.claimed,
            is_from_memory=turn.is_from_memory or is_from_memory,
        )

    async def _empty(self, event: FullAnswer) -> Turn | Reply:
        """Return the end of a call whose answer has neither text nor tool calls."""
        self._ctx.journal.note("empty_answer", model=self._name, stopped=event.end.stop_reason)
        is_callers = is_callers_empty(event.end)
        if is_going_on(self._turn):
            return await self.left(is_callers=is_callers)
        await self._end_failed(is_callers=is_callers)
        return self.so_far(empty_answer(self._turn, event.end.stop_reason))

    def _rest(self, end: CallEnd, request: ModelRequest) -> Rest:
        """Return what happens to the rest of an answer that reached its length limit."""
        turn, services = self._turn, self._ctx.services
        assert turn.plan is not None
        if end.stop_reason != "length" or tool_calls_of(end.parts):
            return ""
        if services.planner.is_demonstration(turn.plan):
            # It ends its answers itself, at the end of a sentence.
            return ""
        is_callers_limit = request.max_output_tokens is not None and not request.is_capped
        is_asked = continuations(turn) < services.settings.turns.continuations
        return "asked" if is_asked and not is_callers_limit else "left"

    def so_far(self, reply: Reply) -> Reply:
        """Return the reply with the usage of a call that was cut off, as far as it is known."""
        if self.costs.close() and self._candidate is not None:
            reply = msgspec.structs.replace(reply, model=self._name)
        return self.costs.of_reply(reply)


async def _request(turn: Turn, ctx: ModelContext) -> ModelRequest:
    key = await key_of(turn, ctx)
    return request_of(
        turn,
        tool_rounds=ctx.services.settings.turns.tool_rounds,
        most_tokens=None if key is None else key.max_output_tokens,
    )

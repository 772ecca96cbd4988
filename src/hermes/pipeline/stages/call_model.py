"""Stage: one model call, walking the plan until a candidate answers.

Failover is free before the first output; after it, the partial answer is kept and said to be one.
"""

from contextlib import aclosing

import msgspec
import structlog

from hermes import failpoints
from hermes.errors import ProviderError, ProviderTimeout, StreamTruncated, TurnInterrupted
from hermes.message.chat import ChatMessage
from hermes.message.parts import Part, ToolCallPart
from hermes.message.reply import Reply
from hermes.pipeline.candidates import choose_model, freeze
from hermes.pipeline.exchange import rounds_used
from hermes.pipeline.patience import Patience
from hermes.pipeline.replies import cut_off, interrupted, model_failed
from hermes.pipeline.services import TurnContext
from hermes.pipeline.shown import Shown
from hermes.pipeline.turn import Turn, estimate
from hermes.ports.provider import CallEnd, ModelRequest, Provider, TextDelta
from hermes.ports.records import Step
from hermes.routing.plan import Candidate

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


async def call_model(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Return the turn with the model's answer, or the reply that ends it."""
    try:
        turn = await choose_model(turn, ctx)
    except ProviderError as error:
        return model_failed(turn, str(error))
    assert turn.plan is not None
    problem: ProviderError | None = None
    for candidate in turn.plan.candidates:
        shown = Shown(turn, ctx)
        try:
            return await _call(turn, ctx, candidate=candidate, shown=shown)
        except TurnInterrupted:
            reply = interrupted(shown.text, ctx.interrupt.by or "")
            return _so_far(turn, reply, candidate=candidate, text=shown.text)
        except ProviderError as error:
            problem = error
            _log.warning(
                "model_failed", message_id=turn.id, model=candidate.provider, problem=str(error)
            )
            ctx.journal.note("model_failed", model=candidate.provider, problem=error.code)
            if shown.text:
                reply = cut_off(shown.text, str(error))
                return _so_far(turn, reply, candidate=candidate, text=shown.text)
        finally:
            await shown.close()
    return model_failed(turn, str(problem))


def _so_far(turn: Turn, reply: Reply, *, candidate: Candidate, text: str) -> Reply:
    """Return the reply with what a call that was cut off has used, as far as it can be told."""
    if not text:
        return reply
    return msgspec.structs.replace(
        reply,
        usage=estimate(turn, text),
        model=f"{candidate.provider}:{candidate.model}",
    )


async def _call(turn: Turn, ctx: TurnContext, *, candidate: Candidate, shown: Shown) -> Turn:
    services = ctx.services
    provider = services.providers.get(candidate.provider)
    if provider is None:
        raise StreamTruncated(f"provider {candidate.provider} is no longer configured")
    request = _request(turn, ctx, candidate=candidate)
    async with ctx.interrupt.scope():
        await services.limit.take()
    try:
        name = f"{candidate.provider}:{candidate.model}"
        ordinal = await ctx.journal.start(turn, "model", name=name, prepared=freeze(turn, ctx))
        end = await _stream(provider, request, ctx=ctx, shown=shown)
    finally:
        services.limit.release()
    message = ChatMessage("assistant", _allowed(end.parts, request), sampled=True)
    step = Step(ordinal=ordinal, kind="model", state="done", usage=end.usage)
    ctx.journal.end(ordinal, _encode(message), step=step)
    return msgspec.structs.replace(
        turn.plus(message, ordinal=ordinal),
        usage=turn.usage.plus(end.usage),
        model=f"{candidate.provider}:{end.model}",
        merged=turn.claimed,
    )


def _allowed(parts: tuple[Part, ...], request: ModelRequest) -> tuple[Part, ...]:
    """Drop tool calls that a model made up although it was offered no tools."""
    if request.tools:
        return parts
    return tuple(part for part in parts if not isinstance(part, ToolCallPart))


def _request(turn: Turn, ctx: TurnContext, *, candidate: Candidate) -> ModelRequest:
    limit = turn.agent.settings.tool_rounds
    rounds = ctx.services.settings.turns.tool_rounds if limit is None else limit
    provider = ctx.services.settings.providers.get(candidate.provider)
    return ModelRequest(
        model=candidate.model,
        messages=turn.context(),
        system=turn.system,
        tools=turn.tools if rounds_used(turn) < rounds else (),
        max_output_tokens=None if provider is None else provider.max_output_tokens,
    )


async def _stream(
    provider: Provider, request: ModelRequest, *, ctx: TurnContext, shown: Shown
) -> CallEnd:
    limits = ctx.services.settings.turns
    try:
        async with (
            ctx.interrupt.scope(),
            failpoints.outside("model.call"),
            Patience(limits.output_timeout_s, limit_s=limits.call_limit_s) as patience,
            aclosing(provider.stream(request)) as events,
        ):
            async for event in events:
                if isinstance(event, CallEnd):
                    return event
                patience.heard()
                if isinstance(event, TextDelta) and event.text:
                    await shown.add(event.text)
    except TimeoutError:
        raise ProviderTimeout(
            f"{provider.info.name} gave no output for {limits.output_timeout_s:g} s "
            f"(turns.output_timeout_s) or took over {limits.call_limit_s:g} s in all"
        ) from None
    raise StreamTruncated(f"{provider.info.name} ended its stream without an end")

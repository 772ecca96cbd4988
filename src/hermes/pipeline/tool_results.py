"""The end of a tool call: its result written down, shortened for the model, and joined to the turn."""

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.pipeline.exchange import with_result
from hermes.pipeline.graph_notes import note_tool
from hermes.pipeline.needs import HasSettings, StageContext, ToolJournal
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step, StepFacts
from hermes.ports.turns import SHOWN_CHARS, ToolUse
from hermes.tools.result_limit import shortened

_encode = msgspec.json.Encoder().encode


class FinishedCall(msgspec.Struct, frozen=True):
    """One call that was answered: by which step, how, how long that took, and if its tool ran."""

    call: ToolCallPart
    ordinal: int
    result: ToolResultPart
    ms: float = 0.0
    was_run: bool = True


async def take_result(
    turn: Turn, ctx: StageContext[HasSettings, ToolJournal], ran: FinishedCall
) -> Turn:
    """Return the turn with the result of a call, which the next write records."""
    facts = StepFacts(
        ms=ran.ms,
        children=ctx.journal.take_children(ran.ordinal),
        call_id=ran.call.id,
        was_run=ran.was_run,
    )
    limit = ctx.services.settings.tools.max_result_chars
    whole = None
    result = ran.result
    if len(result.text) > limit:
        whole = ctx.journal.output_step(result.name, _encode(result.text))
        facts = msgspec.structs.replace(facts, chars=len(result.text), kept_in=whole.ordinal)
        result = shortened(result, limit=limit, message_id=turn.id, step=whole.ordinal)
    state = Step(
        ordinal=ran.ordinal,
        kind="tool",
        state="failed" if result.failed else "done",
        facts=facts,
    )
    message = ChatMessage("tool", (result,))
    ended = ctx.journal.end(ran.ordinal, _encode(message), step=state)
    if whole is not None:
        await ctx.journal.keep_output(turn, whole)
    turn = note_tool(turn, ran.call.id, ended)
    shown = result.text[:SHOWN_CHARS]
    use = ToolUse(result.name, ran.call.arguments, result.failed, ran.was_run, shown)
    return with_result(turn, message, call=ran.call, use=use, ordinal=ran.ordinal)

"""Subagents: a tool's turn inside a turn, on a lane that contains the parent turn's id."""

from hermes.errors import NotFound, ToolError
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.session_key import child_lane, depth_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn

MAX_DEPTH = 3


def parent_of(event: MessageEvent) -> str:
    """Return the message whose turn started this subagent's."""
    return event.external_id.partition(".")[0]


async def run_child(
    turn: Turn, ctx: TurnContext, *, text: str, agent: str, call: int, ordinal: int
) -> str:
    """Run a subagent's turn to its end and return its reply; `call` counts the turn's tool calls.

    The message's id is made of the parent's turn and the number of the child in it, so that a
    parent which is resumed finds the child that it had started instead of starting another.
    """
    number = ctx.journal.next_child(call)
    services = ctx.services
    if depth_of(turn.lane) >= MAX_DEPTH:
        raise ToolError(f"subagents may be nested {MAX_DEPTH} deep at most")
    try:
        chosen = services.roster.get(agent or turn.agent.key)
    except NotFound as error:
        raise ToolError(str(error)) from error
    event = MessageEvent(
        account=turn.event.account,
        route="child",
        external_id=f"{turn.id}.{number}",
        source=turn.event.source,
        parts=(TextPart(text),),
        at=services.clock.now(),
        agent=chosen.key,
        internal=True,
    )
    lane = child_lane(turn.lane, turn.id, number=number)
    ctx.journal.took_child(ordinal, lane)
    accepted = await services.put_child(event, lane)
    async for progress in services.follow(accepted.message_id):
        if progress.kind == "done" and progress.result is not None:
            return progress.result.text
    raise ToolError("the subagent waits for an approval and gave no answer")

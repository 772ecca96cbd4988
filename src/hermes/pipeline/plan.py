"""The path of a turn, in order: this list is the pipeline.

`PREPARE` computes what the first step freezes. Then `next_stage` alternates model calls and tool
calls until the model has had its last word (an agent with another runtime has its adapter called
instead), and `END` ends the turn in one transaction. A stage that
returns a `Reply` ends the turn early, through the same `END`. Each stage declares what it needs; the
types here say that `TurnContext` has it.
"""

from collections.abc import Awaitable, Callable

from hermes.message.reply import Reply
from hermes.pipeline.exchange import is_answered, pending_call
from hermes.pipeline.services import TurnContext
from hermes.pipeline.stages.answer_command import answer_command
from hermes.pipeline.stages.build_messages import build_messages
from hermes.pipeline.stages.call_adapter import call_adapter
from hermes.pipeline.stages.call_model import call_model
from hermes.pipeline.stages.check_credits import check_credits
from hermes.pipeline.stages.fetch_media import fetch_media
from hermes.pipeline.stages.gate_tools import gate_tools
from hermes.pipeline.stages.join_follow_ups import join_follow_ups
from hermes.pipeline.stages.load_history import load_history
from hermes.pipeline.stages.load_soul import load_soul
from hermes.pipeline.stages.resolve_user import resolve_user
from hermes.pipeline.stages.route_images import route_images
from hermes.pipeline.stages.run_task_commands import run_task_commands
from hermes.pipeline.stages.run_tools import run_tools
from hermes.pipeline.stages.save import save
from hermes.pipeline.stages.see_images import see_images
from hermes.pipeline.stages.use_skill import use_skill
from hermes.pipeline.turn import Turn

Stage = Callable[[Turn, TurnContext], Awaitable[Turn | Reply]]
EndStage = Callable[[Turn, Reply, TurnContext], Awaitable[None]]

PREPARE: tuple[Stage, ...] = (
    join_follow_ups,
    resolve_user,
    answer_command,
    check_credits,
    run_task_commands,
    fetch_media,
    load_history,
    load_soul,
    use_skill,
    route_images,
    build_messages,
    gate_tools,
)

END: EndStage = save


def next_stage(turn: Turn) -> Stage | None:
    """Return the next stage of a prepared turn, or None when only `END` remains."""
    is_native = turn.agent.is_native
    if turn.pending_images is not None and is_native:
        return see_images
    if pending_call(turn) is not None:
        return run_tools
    if is_answered(turn):
        return None
    return call_model if is_native else call_adapter

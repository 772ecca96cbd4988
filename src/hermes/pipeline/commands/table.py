"""Which function does what a command says, by its name; a test holds it against the book."""

from collections.abc import Awaitable, Callable, Mapping

from hermes.message.reply import Reply
from hermes.pipeline.commands.approvals import approve, deny
from hermes.pipeline.commands.choices import choose_model, choose_reasoning
from hermes.pipeline.commands.compact import compact
from hermes.pipeline.commands.credits import tell_credits
from hermes.pipeline.commands.effect import Effect
from hermes.pipeline.commands.help import help_with, whoami
from hermes.pipeline.commands.language import choose_language
from hermes.pipeline.commands.link import link
from hermes.pipeline.commands.memory import tell_memory
from hermes.pipeline.commands.pair import pair
from hermes.pipeline.commands.reload import reload_mcp
from hermes.pipeline.commands.restart import restart_gateway
from hermes.pipeline.commands.rewind import branch, retry, undo
from hermes.pipeline.commands.schedule import tell_schedule
from hermes.pipeline.commands.search import tell_search
from hermes.pipeline.commands.session_work import queue, start_afresh, status, steer, stop
from hermes.pipeline.commands.tasks import start_task
from hermes.pipeline.commands.usage import tell_usage
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn

Tell = Callable[[Turn, TurnContext, str], Awaitable[str]]
ActBeside = Callable[[Turn, TurnContext, str], Awaitable[Effect]]
# One that returns a turn has it go on to the model.
ActInLane = Callable[[Turn, TurnContext, str], Awaitable[Turn | Reply]]


def _replying(tell: Tell) -> ActBeside:
    async def act(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
        return Effect(text=await tell(turn, ctx, argument))

    return act


BESIDE: Mapping[str, ActBeside] = {
    "help": help_with,
    "whoami": whoami,
    "new": start_afresh,
    "stop": stop,
    "status": status,
    "queue": queue,
    "steer": steer,
    "approve": approve,
    "deny": deny,
    "memory": _replying(tell_memory),
    "search": _replying(tell_search),
    "schedule": _replying(tell_schedule),
    "usage": tell_usage,
    "pair": _replying(pair),
    "restart": _replying(restart_gateway),
    "background": start_task,
}
IN_LANE: Mapping[str, ActInLane] = {
    "model": choose_model,
    "reasoning": choose_reasoning,
    "credits": tell_credits,
    "language": choose_language,
    "link": link,
    "undo": undo,
    "retry": retry,
    "branch": branch,
    "compact": compact,
    "reload-mcp": reload_mcp,
}

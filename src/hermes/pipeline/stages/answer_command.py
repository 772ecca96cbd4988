"""Stage: the commands that need no model.

They have their place in the lane: they wait for what runs before them, and most of them end the
turn. The stage decides whether a command may run; what a command needs is the command's affair.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.admission import CommandAccess, refusal_of
from hermes.pipeline.commands.plugin_commands import HasPluginCommands, run_plugged
from hermes.pipeline.commands.prompts import HasPrompts, use_prompt
from hermes.pipeline.commands.table import IN_LANE
from hermes.pipeline.needs import HasCommands, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.cron import CRON_ROUTE
from hermes.sessions.commands import TypedCommand


class CommandHooks(Protocol):
    """Asks hooks whether a command may run."""

    async def refusal(self, written: TypedCommand, turn: Turn, /) -> Reply | None: ...


class CommandServices(HasCommands, HasPluginCommands, HasPrompts, Protocol):
    """What `answer_command` uses: the commands, and who may use them."""

    @property
    def reception(self) -> CommandAccess: ...
    @property
    def hooks(self) -> CommandHooks | None: ...


ContextT = TypeVar("ContextT", bound=StageContext[CommandServices, TimelineWriter])


def command_stage(
    table: Mapping[str, Callable[[Turn, ContextT, str], Awaitable[Turn | Reply]]],
) -> Callable[[Turn, ContextT], Awaitable[Turn | Reply]]:
    """Return the stage that runs the commands of a table, and those of plugins."""

    async def answer_command(turn: Turn, ctx: ContextT) -> Turn | Reply:
        """Return the reply to a command, or its refusal; every other message continues."""
        if turn.event.internal or turn.event.route == CRON_ROUTE:
            # A job can run a skill, and no command: what is one may have changed since it was made.
            return turn
        services = ctx.services
        written = services.commands.read(turn.event.text)
        if written is None or written.spec is None or written.spec.beside:
            return turn
        if written.spec.is_skill:
            # `use_skill` decides: whose conversation it is has to be known.
            return turn
        ctx.journal.note("command", name=written.name)
        refusal = refusal_of(written.spec, turn, services.reception)
        if refusal is None and services.hooks is not None:
            refusal = await services.hooks.refusal(written, turn)
        if refusal is not None:
            return refusal
        act = table.get(written.name)
        if act is None and written.name not in services.plugged:
            return await use_prompt(turn, written, services.mcp)
        if act is None:
            return Reply(parts=(TextPart(await run_plugged(written, turn, services)),))
        return await act(turn, ctx, written.argument)

    return answer_command


answer_command = command_stage(IN_LANE)

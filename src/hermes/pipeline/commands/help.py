"""`/help`, `/whoami`, and the reply to an unknown command."""

from hermes.message.source import Source
from hermes.pipeline.commands.effect import Effect, refused
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.sessions.commands import CommandSpec, TypedCommand
from hermes.similar_words import nearest


async def help_with(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell which commands there are, or all about one of them."""
    source, book = turn.event.source, ctx.services.commands
    if argument:
        word = argument.split(maxsplit=1)[0]
        spec = book.get(word)
        if spec is None or not _may_use(spec, source, ctx):
            return refused(_unknown(word.removeprefix("/"), source, ctx))
        return Effect(text=_all_about(spec))
    lines = [f"- /{spec.name}: {spec.about}" for spec in book if _may_use(spec, source, ctx)]
    intro = "Just write to me. These commands do more; /help COMMAND explains one."
    return Effect(text="\n".join((intro, "", *lines)))


async def whoami(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell a person who they are here."""
    del argument
    return Effect(text=await ctx.services.reception.whoami(turn.event.source, turn.person_id))


def unknown(turn: Turn, ctx: TurnContext, written: TypedCommand) -> Effect:
    """Reply that there is no such command, and suggest a similar one."""
    return refused(_unknown(written.word, turn.event.source, ctx))


def _unknown(word: str, source: Source, ctx: TurnContext) -> str:
    usable = [spec for spec in ctx.services.commands if _may_use(spec, source, ctx)]
    names = [name for spec in usable for name in (spec.name, *spec.aliases)]
    near = nearest(word, names)
    meant = f" Did you mean /{near}?" if near else ""
    return f"I do not know the command /{word[:32]}.{meant} /help lists the commands."


def _all_about(spec: CommandSpec) -> str:
    head = f"/{spec.name} {spec.use}".strip()
    lines = [f"{head}: {spec.about}"]
    if spec.aliases:
        lines.append("Also: " + ", ".join(f"/{word}" for word in spec.aliases))
    if spec.examples:
        lines.append("Examples:")
        lines += [f"  {example}" for example in spec.examples]
    return "\n".join(lines)


def _may_use(spec: CommandSpec, source: Source, ctx: TurnContext) -> bool:
    return ctx.services.reception.may_use(spec.name, source, admins=spec.admins)

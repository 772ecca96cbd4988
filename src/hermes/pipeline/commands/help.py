"""`/help`, `/whoami`, and the reply to an unknown command."""

from collections.abc import Mapping
from typing import Protocol

from hermes.message.source import Source
from hermes.pipeline.admission import CommandAccess
from hermes.pipeline.commands.effect import Effect, refused
from hermes.pipeline.commands.prompts import prompt_command
from hermes.pipeline.needs import HasCommands, StageContext
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.sessions.commands import CommandSpec, TypedCommand
from hermes.similar_words import nearest
from hermes.texts.say import say


class HelpServices(HasCommands, Protocol):
    """The commands, and who may use them."""

    @property
    def reception(self) -> CommandAccess: ...


HelpContext = StageContext[HelpServices, object]


async def help_with(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell which commands there are, or all about one of them."""
    source, book = turn.event.source, ctx.services.commands
    if argument:
        word = argument.split(maxsplit=1)[0]
        spec = book.get(word) or _skills(turn, ctx).get(word.removeprefix("/").lower())
        if spec is None or not _may_use(spec, source, ctx):
            return refused(_unknown(word.removeprefix("/"), source, ctx))
        return Effect(text=_all_about(spec))
    known = (*book, *_skills(turn, ctx).values())
    lines = [f"- /{spec.name}: {say(spec.about)}" for spec in known if _may_use(spec, source, ctx)]
    offers = () if ctx.services.mcp is None else ctx.services.mcp.prompts(source.platform)
    prompts = (prompt_command(offer) for offer in offers)
    lines += [
        f"- /{spec.name}: {say(spec.about)}" for spec in prompts if _may_use(spec, source, ctx)
    ]
    intro = say("Just write to me. These commands do more; /help COMMAND explains one.")
    return Effect(text="\n".join((intro, "", *lines)))


async def whoami(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell a person who they are here."""
    del argument
    return Effect(text=await ctx.services.reception.whoami(turn.event.source, turn.person_id))


def unknown(turn: Turn, ctx: HelpContext, written: TypedCommand) -> Effect:
    """Reply that there is no such command, and suggest a similar one."""
    return refused(_unknown(written.word, turn.event.source, ctx))


def _skills(turn: Turn, ctx: TurnContext) -> Mapping[str, CommandSpec]:
    """Return the commands that run the skills of this conversation, by name."""
    skills, source = ctx.services.skills, turn.event.source
    if skills is None:
        return {}
    is_private = source.chat_type == "dm" and source.thread_id is None
    found = skills.of(turn.agent.settings, source, person_id=turn.person_id, is_private=is_private)
    commands = ((name, skills.command(name)) for name in found.names)
    return {name: spec for name, spec in commands if spec is not None}


def _unknown(word: str, source: Source, ctx: HelpContext) -> str:
    usable = [spec for spec in ctx.services.commands if _may_use(spec, source, ctx)]
    names = [name for spec in usable for name in (spec.name, *spec.aliases)]
    near = nearest(word, names)
    meant = say(" Did you mean /{near}?", near=near) if near else ""
    return say(
        "I do not know the command /{word}.{meant} /help lists the commands.",
        word=word[:32],
        meant=meant,
    )


def _all_about(spec: CommandSpec) -> str:
    head = f"/{spec.name} {spec.use}".strip()
    lines = [f"{head}: {say(spec.about)}"]
    if spec.aliases:
        lines.append("Also: " + ", ".join(f"/{word}" for word in spec.aliases))
    if spec.examples:
        lines.append("Examples:")
        lines += [f"  {example}" for example in spec.examples]
    return "\n".join(lines)


def _may_use(spec: CommandSpec, source: Source, ctx: HelpContext) -> bool:
    return ctx.services.reception.may_use(spec.name, source, admins=spec.admins)

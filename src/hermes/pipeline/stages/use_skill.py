"""Stage: the instructions of the skill that the person runs, with `/NAME` or by the channel's word.

A skill that is not there for this conversation is unknown, whether or not the home has it.
"""

import asyncio
from typing import Protocol

import msgspec
import structlog

from hermes.errors import Refused
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.admission import refusal_of
from hermes.pipeline.commands.help import HelpServices, unknown
from hermes.pipeline.needs import StageContext, TimelineWriter
from hermes.pipeline.stages.answer_command import CommandHooks
from hermes.pipeline.turn import Turn
from hermes.ports.cron import CRON_ROUTE
from hermes.sessions.commands import TypedCommand
from hermes.skills.book import SkillBook
from hermes.texts.say import say, words

_log = structlog.get_logger(__name__)
_UNREADABLE = words(
    "The skill {name} cannot be used now. Whoever runs this gateway finds the reason in its log."
)


class SkillUseServices(HelpServices, Protocol):
    """What `use_skill` uses: the skills, the commands that run them, and who may use those."""

    @property
    def skills(self) -> SkillBook | None: ...
    @property
    def hooks(self) -> CommandHooks | None: ...


_Context = StageContext[SkillUseServices, TimelineWriter]


async def use_skill(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn the instructions of the skill that its message runs."""
    book = ctx.services.skills
    if book is None or turn.retry is not None:
        return turn
    written = _written(turn, ctx)
    if written is not None:
        return await _typed(turn, ctx, book=book, written=written)
    name = turn.event.skill
    if name is None:
        return turn
    if name not in turn.skills:
        return _refused(say("There is no skill {name} here.", name=repr(name[:64])))
    return await _instructed(turn, ctx, book=book, name=name)


def _written(turn: Turn, ctx: _Context) -> TypedCommand | None:
    """Return the command that the message is, if it runs a skill."""
    if turn.event.internal or turn.is_prompt:
        return None
    written = ctx.services.commands.read(turn.event.text)
    if written is None or turn.event.route == CRON_ROUTE:
        # A job may begin with a slash only to run a skill, which may be gone by now.
        return written
    return written if written.spec is not None and written.spec.is_skill else None


async def _typed(
    turn: Turn, ctx: _Context, *, book: SkillBook, written: TypedCommand
) -> Turn | Reply:
    spec = written.spec
    is_theirs = spec is not None and spec.is_skill and spec.name in turn.skills
    if spec is None or not is_theirs or refusal_of(spec, turn, ctx.services.reception) is not None:
        plain = msgspec.structs.replace(written, spec=None)
        return _refused(unknown(turn, ctx, plain).text)
    ctx.journal.note("command", name=written.name)
    if ctx.services.hooks is not None:
        refusal = await ctx.services.hooks.refusal(written, turn)
        if refusal is not None:
            return refusal
    return await _instructed(turn, ctx, book=book, name=written.name)


async def _instructed(turn: Turn, ctx: _Context, *, book: SkillBook, name: str) -> Turn | Reply:
    try:
        said = await asyncio.to_thread(book.instructions, name)
    except (Refused, OSError) as error:
        _log.warning("skill_unreadable", skill=name, message_id=turn.id, problem=str(error))
        return _refused(say(_UNREADABLE, name=name))
    ctx.journal.note("skill", name=name, chars=len(said))
    text = f"With this message the skill {name} is run. Follow its instructions:\n\n{said}"
    return msgspec.structs.replace(turn, instructions=text)


def _refused(text: str) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)

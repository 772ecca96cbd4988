"""Whether whoever wrote is answered at all, and which commands are theirs.

Asked before anything else is done for a message, in its lane or beside it, so that no stranger ever
gets a model's turn or a command.
"""

from typing import Protocol

from hermes.message.event import MessageEvent
from hermes.message.outcome import Outcome
from hermes.message.parts import Part, TextPart
from hermes.message.reply import Reply
from hermes.message.source import Source
from hermes.people.access import Admission
from hermes.people.reception import AccessNotice
from hermes.people.slash_access import where_of
from hermes.pipeline.needs import HasCommands, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.sessions.commands import CommandSpec
from hermes.texts.say import say

_LINK = "link"
_CODE = "forbidden"


class AccessControl(Protocol):
    """Decides who is answered, and what the others receive."""

    async def admit(self, event: MessageEvent) -> Admission: ...
    async def turn_away(
        self, event: MessageEvent, admission: Admission, *, person_id: str, message_id: str
    ) -> AccessNotice: ...
    async def link(
        self, source: Source, argument: str, *, person_id: str, message_id: str
    ) -> AccessNotice: ...


class CommandAccess(Protocol):
    """Decides who may use a command where."""

    def may_use(self, command: str, source: Source, *, admins: bool = False) -> bool: ...


class AdmissionServices(HasCommands, Protocol):
    """Who is answered, and the command that lets a stranger in."""

    @property
    def reception(self) -> AccessControl: ...


_Context = StageContext[AdmissionServices, TimelineWriter]


async def turned_away(turn: Turn, ctx: _Context) -> Reply | None:
    """Return the reply for a sender who is not answered; None for senders who are.

    An unknown sender may bring a code from a known account, which lets them in.
    """
    reception, event = ctx.services.reception, turn.event
    admission = await reception.admit(event)
    if admission.is_in:
        return None
    ctx.journal.note("access", verdict=admission.verdict, rule=admission.rule)
    written = ctx.services.commands.read(event.text)
    if written is not None and written.name == _LINK and written.argument:
        said = await _carried_over(turn, ctx, code=written.argument, verdict=admission.verdict)
        if said is not None:
            return said
    told = await reception.turn_away(event, admission, person_id=turn.person_id, message_id=turn.id)
    return _refused(told)


async def _carried_over(turn: Turn, ctx: _Context, *, code: str, verdict: str) -> Reply | None:
    """Return the answer to an unknown sender's code; None if only a valid code may be answered."""
    source = turn.event.source
    if verdict == "blocked" or source.chat_type != "dm":
        return None
    said = await ctx.services.reception.link(
        source, code, person_id=turn.person_id, message_id=turn.id
    )
    ctx.journal.note("link", result=said.reason)
    if said.joined:
        return Reply(parts=(TextPart(said.text or ""),), reason=said.reason)
    return None if verdict == "ignore" else _refused(said)


def refusal_of(command: CommandSpec, turn: Turn, access: CommandAccess) -> Reply | None:
    """Return the refusal for a sender who may not use a command there; None if they may."""
    source, name = turn.event.source, command.name
    if access.may_use(name, source, admins=command.admins):
        return None
    place = f"access.platforms.{source.platform}.commands"
    missing = "names them no admin" if command.admins else f"does not let them use /{name}"
    text = say("You may not use /{name} here. /help lists what you may.", name=name)
    if command.admins:
        scope = where_of(source).scope
        text = say(
            "You may not use /{name} here: it is for admins. To be one, `{user_id}` has to be in "
            "{place}.{scope}.admins of config.yaml.",
            name=name,
            user_id=source.user_id,
            place=place,
            scope=scope,
        )
    return _refused(AccessNotice(text, f"{place} {missing}"))


def _refused(said: AccessNotice) -> Reply:
    parts: tuple[Part, ...] = () if said.text is None else (TextPart(said.text),)
    return Reply(
        parts=parts,
        outcome=Outcome.REFUSED,
        reason=said.reason,
        code=_CODE,
        silent=said.text is None,
    )

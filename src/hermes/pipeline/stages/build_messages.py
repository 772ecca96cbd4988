"""Stage: the person's message as the model will see it, with what it has to know beside it.

What changes from turn to turn is a note at the end of the message, behind everything that stays.
"""

from typing import Protocol

import msgspec

from hermes.memory.recall import RECALLED, RecalledFacts
from hermes.memory.session_context import place_news
from hermes.memory.soul import CHANGED, changed_lines
from hermes.memory.structural import FactKeys
from hermes.message.chat import ChatMessage, is_unanswered
from hermes.message.parts import NotePart, Part
from hermes.message.reply import Reply
from hermes.pipeline.message_notes import said_parts, told_beside
from hermes.pipeline.needs import StageContext, TimelineWriter
from hermes.pipeline.session_context import ENDED, PlaceServices, ProcessNews, around
from hermes.pipeline.session_skills import SkillServices, skill_news
from hermes.pipeline.turn import Turn
from hermes.ports.memory import Fact
from hermes.ports.work_files import SessionOwner
from hermes.tools.mcp.chat_offers import ChatOffers


class RecallsFacts(Protocol):
    """Finds the facts that a message is about."""

    async def of(self, person_id: str, text: str) -> RecalledFacts: ...


class KnowsFacts(Protocol):
    """Lists what is known of a person, and which keys are always part of a session."""

    @property
    def keys(self) -> FactKeys: ...
    async def of(self, person_id: str) -> tuple[Fact, ...]: ...


class MessageServices(PlaceServices, SkillServices, Protocol):
    """What `build_messages` uses: the session's place, recall and facts."""

    @property
    def recall(self) -> RecallsFacts: ...
    @property
    def facts(self) -> KnowsFacts: ...
    @property
    def process_news(self) -> ProcessNews: ...
    @property
    def mcp(self) -> ChatOffers | None: ...


_Context = StageContext[MessageServices, TimelineWriter]


async def build_messages(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn its user message; in groups it carries the sender's name."""
    if turn.retry is not None:
        # The message stands in the conversation already, with what was told beside it.
        return turn
    parts = said_parts(turn.event, ctx.services.personal_ids)
    beside = (
        *((turn.instructions,) if turn.instructions else ()),
        *await told_beside(turn.event, turn.history),
        *await _ended(turn, ctx),
        *await _attached(turn, ctx),
        *skill_news(turn, ctx.services, notes=_notes),
    )
    if not turn.is_personal:
        return _with_user(turn, parts, sections=(*beside, *_news(turn, ctx)))
    recalled = await ctx.services.recall.of(turn.person_id, turn.event.text)
    if recalled.why not in ("no_facts", "off"):
        ctx.journal.note("recall", why=recalled.why, facts=recalled.ids)
    turn = msgspec.structs.replace(turn, has_recalled=recalled.why == "recalled")
    return _with_user(
        turn, parts, sections=(*beside, *_news(turn, ctx), *await _known(turn, ctx, recalled))
    )


def _with_user(turn: Turn, parts: tuple[Part, ...], *, sections: tuple[str, ...]) -> Turn:
    """Return the turn with its message and the notes beside it."""
    if sections:
        parts = (*parts, NotePart("\n\n" + "\n\n".join(sections)))
    return msgspec.structs.replace(turn, user=ChatMessage("user", parts))


def _news(turn: Turn, ctx: _Context) -> tuple[str, ...]:
    """Return what has changed around the session since the model was last informed."""
    found = around(turn, ctx.services)
    if found is None:
        return ()
    return place_news(turn.event.source, found, blocks=turn.system, notes=_notes(turn))


async def _ended(turn: Turn, ctx: _Context) -> tuple[str, ...]:
    """Return which background processes ended since the model was last told."""
    folder = turn.agent.settings.adapter.folder
    owner = SessionOwner(person_id=turn.person_id, lane=turn.lane, folder=folder)
    lines = await ctx.services.process_news(owner, turn.id)
    return ("\n".join((ENDED, *lines)),) if lines else ()


async def _attached(turn: Turn, ctx: _Context) -> tuple[str, ...]:
    """Return the resources of MCP servers that the person names, read now.

    Models and servers attach nothing: a server could have another one's resources read to it.
    """
    offers, event = ctx.services.mcp, turn.event
    if offers is None or event.internal or turn.is_prompt:
        return ()
    return await offers.attached(event.text, platform=event.source.platform)


async def _known(turn: Turn, ctx: _Context, recalled: RecalledFacts) -> tuple[str, ...]:
    """Return what has changed of what is known of the person, and what was recalled."""
    facts = ctx.services.facts
    changed = changed_lines(
        turn.system, _notes(turn), facts=await facts.of(turn.person_id), keys=facts.keys
    )
    sections = ("\n".join((CHANGED, *changed)),) if changed else ()
    return (*sections, "\n".join((RECALLED, *recalled.lines))) if recalled.lines else sections


def _notes(turn: Turn) -> tuple[str, ...]:
    """Return the notes of this session that the model still sees."""
    return tuple(
        part.text
        for message in turn.history
        if len(message.parts) > 1 and not is_unanswered(message)
        for part in message.parts
        if isinstance(part, NotePart)
    )

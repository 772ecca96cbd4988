"""Stage: the system blocks: the agent's personality, and what the session knows of its person.

The latter is frozen with the first turn: the same bytes until the session starts over. What is
known of a person is used only in direct chats in which nobody else has written.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from hermes.config import Settings
from hermes.memory.session_context import group_block, is_only_news, is_place, place_block
from hermes.memory.soul import dream_block, earlier_block, soul_blocks
from hermes.message.chat import UNANSWERED, ChatMessage
from hermes.message.continuations import is_go_on
from hermes.message.parts import NotePart
from hermes.message.reply import Reply
from hermes.message.session_key import is_shared
from hermes.message.source import Source
from hermes.pipeline.needs import StageContext
from hermes.pipeline.session_context import ChatServices, around, begins_alike, place_of
from hermes.pipeline.session_skills import SkillServices, with_skills
from hermes.pipeline.team_block import TeamRoster, team_block
from hermes.pipeline.turn import Turn
from hermes.ports.dreams import Dream
from hermes.ports.memory import SaidBefore, Soul
from hermes.sessions.commands import CommandBook
from hermes.skills.bindings import is_common_catalogue


class SoulRecords(Protocol):
    """Reads the blocks about a session's person, and what the person wrote elsewhere."""

    async def get(self, lane: str, epoch: int) -> Soul | None: ...
    async def said_before(
        self,
        person_id: str,
        *,
        lane: str,
        epoch: int,
        limit: int,
        is_command: Callable[[str], bool],
    ) -> tuple[SaidBefore, ...]: ...


class DreamRecords(Protocol):
    """The last dream of a person."""

    async def of(self, person_id: str) -> Dream | None: ...


class PersonBlocks(Protocol):
    """Builds the blocks about a person that every agent receives."""

    async def of(self, person_id: str) -> tuple[str, ...]: ...


class HasSouls(Protocol):
    """A store that knows souls and dreams."""

    @property
    def souls(self) -> SoulRecords: ...
    @property
    def dreams(self) -> DreamRecords: ...


class SoulServices(ChatServices, SkillServices, Protocol):
    """What `load_soul` uses: the session's place, the platforms' hints, and what is known."""

    @property
    def store(self) -> HasSouls: ...
    @property
    def souls(self) -> PersonBlocks: ...
    @property
    def roster(self) -> TeamRoster: ...
    @property
    def hints(self) -> Mapping[str, str]: ...
    @property
    def commands(self) -> CommandBook: ...


_Context = StageContext[SoulServices, object]


async def load_soul(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn its system blocks."""
    clock = ctx.services.clock
    started = clock.monotonic()
    turn = await _with_soul(turn, ctx)
    # The channel's words are not the session's: they may change with every message.
    words = (
        _chat_prompt(turn.event.source, ctx.services.settings),
        turn.event.channel_prompt or "",
    )
    turn = msgspec.structs.replace(turn, system=(*turn.system, *filter(None, words)))
    return msgspec.structs.replace(turn, soul_ms=(clock.monotonic() - started) * 1000)


def _chat_prompt(source: Source, settings: Settings) -> str:
    """Return what the settings say of the chat, or of the chat in which a thread is."""
    channel = settings.channels.get(source.platform)
    chats = {} if channel is None else channel.chats
    found = chats.get(source.chat_id) or chats.get(source.parent_chat_id or "")
    return "" if found is None else found.prompt


async def _with_soul(turn: Turn, ctx: _Context) -> Turn:
    team = await team_block(turn, ctx.services.roster)
    personality = (*soul_blocks(turn.agent.settings), *team)
    if turn.event.internal:
        turn, listed = with_skills(turn, ctx.services, is_private=False)
        return msgspec.structs.replace(turn, system=(*personality, *listed))
    hint = ctx.services.hints.get(turn.event.source.platform)
    personality = (
        *personality,
        *group_block(turn.event.source),
        *(() if hint is None else (hint,)),
    )
    turn = msgspec.structs.replace(turn, system=personality)
    # A lane on which nothing was ever said needs no look.
    frozen = await ctx.services.store.souls.get(turn.lane, turn.epoch) if turn.head else None
    if frozen is not None and frozen.shared_from is not None:
        turn, _ = with_skills(turn, ctx.services, is_private=False)
        turn = msgspec.structs.replace(turn, system=(*personality, *frozen.blocks))
        return turn.since(frozen.shared_from)
    if _is_shared(turn, frozen):
        turn, listed = with_skills(turn, ctx.services, is_private=False)
        blocks = (*await _place(turn, ctx), *listed)
        soul = Soul(turn.person_id, blocks, _shared_from(turn, frozen))
        turn = msgspec.structs.replace(turn, system=(*personality, *soul.blocks), soul=soul)
        return turn.since(soul.shared_from or 0)
    turn, listed = with_skills(turn, ctx.services, is_private=True)
    soul = frozen or Soul(turn.person_id, (*await _begin(turn, ctx), *listed))
    return msgspec.structs.replace(
        turn,
        system=(*personality, *soul.blocks),
        soul=soul if frozen is None else None,
        is_personal=not turn.is_temporary,
    )


def _is_shared(turn: Turn, frozen: Soul | None) -> bool:
    """Return whether others read along: in groups, threads, and sessions another person began."""
    if turn.event.source.chat_type != "dm" or turn.event.source.thread_id is not None:
        return True
    if frozen is None:
        # Nobody knows any more who wrote in a session that is older than souls.
        return len(turn.history) > len(turn.event.history)
    return frozen.person_id != turn.person_id


def _shared_from(turn: Turn, frozen: Soul | None) -> int:
    """Return from where others may read: not messages written with one person's facts present."""
    own = len(turn.history) - len(turn.event.history)
    if frozen is None:
        return 0
    has_facts = turn.compaction is not None or any(map(_has_facts, turn.history))
    if all(map(_is_everybodys, frozen.blocks)) and not has_facts:
        return 0
    # Where some messages are gone nobody can count them; the lane's head is never too small.
    return turn.head if turn.start is None else turn.start + own


def _is_everybodys(block: str) -> bool:
    """Return whether a frozen block is not about one person."""
    return is_place(block) or is_common_catalogue(block)


def _has_facts(message: ChatMessage) -> bool:
    """Return whether a note beside a person's message may contain facts about them."""
    return (
        message.role == "user"
        and not is_go_on(message)
        and any(
            isinstance(part, NotePart) and part != UNANSWERED and not is_only_news(part.text)
            for part in message.parts
        )
    )


async def _place(turn: Turn, ctx: _Context) -> tuple[str, ...]:
    """Return the block about its place for a session that begins."""
    found = around(turn, ctx.services)
    if found is None:
        return ()
    place = await place_of(turn, ctx.services)
    return place_block(place, found, is_shared=is_shared(turn.lane))


async def _begin(turn: Turn, ctx: _Context) -> tuple[str, ...]:
    """Return the blocks about its place and its person for a session that begins."""
    services = ctx.services
    if turn.is_temporary:
        return await _place(turn, ctx)
    known = (*await _place(turn, ctx), *await services.souls.of(turn.person_id))
    if begins_alike(turn):
        return known
    dream = dream_block(
        await services.store.dreams.of(turn.person_id), lane=turn.lane, epoch=turn.epoch
    )
    limit = services.settings.memory.earlier_messages
    if not limit:
        return (*known, *dream)
    said = await services.store.souls.said_before(
        turn.person_id,
        lane=turn.lane,
        epoch=turn.epoch,
        limit=limit,
        is_command=lambda text: services.commands.read(text) is not None,
    )
    return (*known, *earlier_block(said, limit=services.settings.memory.value_chars), *dream)

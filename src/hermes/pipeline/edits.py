"""A message that takes the place of an earlier one: what its turn and its commit leave out.

The person has changed what they wrote, or asks it again. Everything from the earlier message on is
left out, as another version of the conversation that the graph keeps.
"""

from typing import Final, Protocol

import msgspec

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.needs import StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.memory import Soul
from hermes.ports.session_history import PastExchange

_MOST: Final = 1_000
_GONE: Final = "The message that this one replaces is no longer part of the conversation. Send it as a new one."
_THEIRS: Final = "The message that this one replaces is somebody else's."


class PastSouls(Protocol):
    """Knows since when several people may see a session."""

    async def get(self, lane: str, epoch: int) -> Soul | None: ...


class ExchangeRecords(Protocol):
    """Reads the exchanges of a session."""

    async def exchanges(
        self, lane: str, *, epoch: int, since: int = 0, limit: int
    ) -> tuple[PastExchange, ...]: ...


class HasPast(Protocol):
    """A store with the past of sessions."""

    @property
    def transcripts(self) -> ExchangeRecords: ...
    @property
    def souls(self) -> PastSouls: ...


class PastServices(Protocol):
    """What going back needs: the past."""

    @property
    def store(self) -> HasPast: ...


_Context = StageContext[PastServices, TimelineWriter]


async def without_replaced(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with the number of messages that it replaces, or its refusal."""
    if not turn.event.replaces:
        return turn
    past = ctx.services.store.transcripts
    since = await shared_from(turn, ctx.services.store.souls)
    found = await past.exchanges(turn.lane, epoch=turn.epoch, since=since, limit=_MOST)
    cut = 0
    for exchange in found:
        cut += exchange.length
        if exchange.message_id != turn.event.replaces:
            continue
        if exchange.person_id != turn.person_id:
            return _refused(_THEIRS)
        ctx.journal.note("replaced", messages=cut)
        return msgspec.structs.replace(turn, cut=cut)
    return _refused(_GONE)


def _refused(text: str) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)


async def shared_from(turn: Turn, souls: PastSouls) -> int:
    """Return where what several people may see begins; 0 if all of it is theirs."""
    soul = await souls.get(turn.lane, turn.epoch)
    if soul is None:
        return 0
    if soul.shared_from is None and soul.person_id != turn.person_id:
        # Nothing that was said here was said to them.
        return turn.head + 1
    return soul.shared_from or 0

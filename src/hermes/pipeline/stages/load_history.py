"""Stage: loads the earlier messages of this session, and of no other."""

from typing import Protocol

from hermes.message.reply import Reply
from hermes.pipeline.edits import ExchangeRecords, PastSouls, without_replaced
from hermes.pipeline.needs import HasSettings, HasToolSets, StageContext, TimelineWriter
from hermes.pipeline.session_keep import Signature, signature_of
from hermes.pipeline.turn import Turn
from hermes.ports.transcripts import VisibleHistory


class HistoryRecords(ExchangeRecords, Protocol):
    """Reads the messages of a session."""

    async def history(
        self,
        lane: str,
        *,
        epoch: int,
        head: int,
        limit: int,
        cut: int = 0,
        compaction: int | None = None,
    ) -> VisibleHistory: ...


class HasHistory(Protocol):
    """A store with the messages of sessions."""

    @property
    def transcripts(self) -> HistoryRecords: ...
    @property
    def souls(self) -> PastSouls: ...


class KeepsSessions(Protocol):
    """Keeps what is ready of a session while the session is used."""

    def use(self, lane: str, signature: Signature, /) -> None: ...


class HasDefaultModel(Protocol):
    """Knows the model that an operator put in the place of `models.default`."""

    @property
    def default_model(self) -> str | None: ...


class HasContextSizes(Protocol):
    """Knows how much the models hold."""

    @property
    def largest_context(self) -> int: ...


class HistoryServices(HasSettings, HasToolSets, Protocol):
    """What `load_history` uses: the transcript, and what is kept ready of sessions."""

    @property
    def store(self) -> HasHistory: ...
    @property
    def session_keep(self) -> KeepsSessions: ...
    @property
    def planner(self) -> HasDefaultModel: ...
    @property
    def calls(self) -> HasContextSizes: ...


# As much as a model with the largest context could hold of a text that is easy to read.
_BYTES_PER_TOKEN = 5
_Context = StageContext[HistoryServices, TimelineWriter]


async def load_history(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn its session's newest entries."""
    use_session(turn, ctx)
    left = await without_replaced(turn, ctx)
    if isinstance(left, Reply):
        return left
    turn = left
    said = await ctx.services.store.transcripts.history(
        turn.lane,
        epoch=turn.epoch,
        head=turn.head,
        limit=history_bytes(ctx.services.calls.largest_context),
        cut=turn.retry or turn.cut,
    )
    return turn.after(said)


def history_bytes(context: int) -> int:
    """Return how many bytes of a session a turn reads, for a context of so many tokens."""
    return context * _BYTES_PER_TOKEN


def use_session(turn: Turn, ctx: _Context) -> None:
    """Say that what is ready of a session is used now; a subagent's lane is none."""
    if turn.event.internal:
        return
    services = ctx.services
    setup = signature_of(turn, services.planner.default_model, tools=services.tool_sets.version)
    services.session_keep.use(turn.lane, setup)

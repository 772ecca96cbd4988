"""Thumbs for answers that the operator passes on: kept with the conversation, used by exports."""

import msgspec
import structlog

from hermes.errors import BadRequest, NotFound
from hermes.graph import Rating
from hermes.ports.clock import Clock
from hermes.ports.ids import IdStore, whole_id
from hermes.ports.session_history import TranscriptStore

MAX_NOTE = 2_000
_log = structlog.get_logger(__name__)


class RatingOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to rate the answer of a call, by its id, or its beginning or end.

    `none` takes the operator's rating back.
    """

    call: str
    rating: Rating
    note: str = ""
    by: str = ""


class RatingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which answer was rated, and how."""

    call: str
    rating: Rating


class RatingOperations:
    """Where orders to rate answers arrive."""

    def __init__(self, transcripts: TranscriptStore, ids: IdStore, *, clock: Clock) -> None:
        self._transcripts = transcripts
        self._ids = ids
        self._clock = clock

    async def rate(self, order: RatingOrder) -> RatingReport:
        """Record a thumb for an answer; the latest of each operator counts."""
        if len(order.note) > MAX_NOTE:
            raise BadRequest(
                f"The note has {len(order.note)} letters; at most {MAX_NOTE} are kept."
            )
        call = order.call
        if not await self._rate(call, order):
            call = await whole_id(self._ids, call, "answer") or ""
            if not call or not await self._rate(call, order):
                raise _unknown(order.call)
        _log.info("answer_rated", call=call, rating=order.rating, by=order.by)
        return RatingReport(call=call, rating=order.rating)

    async def _rate(self, call: str, order: RatingOrder) -> bool:
        return await self._transcripts.rate_call(
            call,
            order.rating,
            actor=f"operator:{order.by}",
            reason=order.note,
            at=self._clock.now(),
        )


def _unknown(call: str) -> NotFound:
    return NotFound(
        f"No answer was written by a call {call[:80]!r}. `hermes graph show SESSION` shows the call "
        "of each answer, as [m_....1 MODEL]; at least four letters of its beginning or end are enough."
    )

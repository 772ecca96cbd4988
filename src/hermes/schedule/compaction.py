"""Sums up the older part of a long conversation, beside the conversation, as a journaled job.

The model is one that routing allows for summaries, else the conversation's own. If none can, the job
waits like any other that failed, and turns leave older messages out without a model.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

import msgspec
import structlog

from hermes.calls.call_charge import SpendLog
from hermes.calls.context_fit import (
    OLD_RESULT_CHARS,
    cut_before,
    last_question,
    message_tokens,
    shorten_results,
)
from hermes.errors import ProviderError, ProviderRejected, Refused
from hermes.memory.summary import (
    read_summary,
    summary_message,
    summary_request,
    text_of_summary,
)
from hermes.message.chat import ChatMessage
from hermes.message.session_key import read_session_key
from hermes.ports.compaction import ASKED, LongConversation, OlderPart
from hermes.ports.memory import Job
from hermes.ports.spend import PLATFORM
from hermes.ports.transcripts import Compaction
from hermes.routing.plan import CallNeeds, Plan, candidate_named
from hermes.schedule.job_services import JobServices, answer_of
from hermes.sessions.compaction_rules import CompactionRules, rules_of

_log = structlog.get_logger(__name__)
_AUTO = "auto"
# What a summarising model needs beside the messages: its instructions and the summary so far.
_BESIDE_TOKENS = 600
_LEAST_PIECE = 500
_BYTES_PER_TOKEN = 5
# Messages as JSON take more tokens than as they were said.
_JSON_SHARE = 0.8


class Compactor:
    """Runs the jobs that sum conversations up."""

    def __init__(self, job_services: JobServices) -> None:
        self._shop = job_services

    async def do(self, job: Job, receipt: SpendLog) -> None:
        """Sum up the older part of a job's conversation and finish the job."""
        shop = self._shop
        rules = rules_of(shop.settings, read_session_key(job.lane).agent)
        is_asked = job.key.endswith(f":{ASKED}")
        part = await shop.compactions.older(
            job,
            lambda found: self._cut(found, rules, person_id=job.person_id, is_asked=is_asked),
            limit=shop.calls.largest_context * _BYTES_PER_TOKEN,
        )
        made = None
        if part is not None:
            room = self._room_of(part.conversation, job.person_id) or 0
            rules = msgspec.structs.replace(rules, summary_tokens=rules.summary_limit(room))
            made = await self._summed_up(part, rules, receipt)
        is_kept = await shop.compactions.finish(
            job,
            made,
            source=b"" if part is None else part.source,
            at=shop.clock.now(),
            spent=receipt.take(),
        )
        _log.info(
            "compacted" if made is not None and is_kept else "not_compacted",
            lane=job.lane,
            messages=0 if made is None else made.stop - made.start,
            model="" if made is None else made.by,
        )

    def _cut(
        self,
        found: LongConversation,
        rules: CompactionRules,
        *,
        person_id: str,
        is_asked: bool,
    ) -> int:
        """Return how many messages are older; the last exchange never is."""
        room = self._room_of(found, person_id)
        if room is None:
            return 0
        sizes = [message_tokens(message) for message in found.messages]
        keep = 0 if is_asked else rules.kept_tokens(room, said=sum(sizes))
        cut = cut_before(found.messages, sizes, sum(sizes) - keep)
        return min(cut, last_question(found.messages))

    def _room_of(self, found: LongConversation, person_id: str) -> int | None:
        """Return the room of the model that answers; None if nobody has, or it cuts by itself."""
        if not found.model:
            return None
        return self._shop.calls.room_of(candidate_named(found.model), person_id)

    async def _summed_up(
        self, part: OlderPart, rules: CompactionRules, receipt: SpendLog
    ) -> Compaction | None:
        """Return the compaction; None if no model may make one. Raises why the last one failed."""
        failure: ProviderError | Refused | None = None
        async with aclosing(self._plans(part, rules)) as plans:
            async for plan in plans:
                try:
                    text, model = await self._ask(part, rules, plan=plan, receipt=receipt)
                except (ProviderError, Refused) as error:
                    _log.warning("summary_failed", problem=str(error))
                    failure = error
                    continue
                count = part.stop - part.start
                message = summary_message(text, count)
                return Compaction(start=part.start, stop=part.stop, message=message, by=model)
        if failure is not None:
            raise failure
        return None

    async def _plans(self, part: OlderPart, rules: CompactionRules) -> AsyncGenerator[Plan, None]:
        """Yield the plans to try: a model for summaries, then the conversation's own."""
        wanted = rules.model or self._shop.settings.models.summaries or _AUTO
        asks = [CallNeeds(capability="summarization", default_model=wanted)]
        if rules.own_model and part.conversation.model:
            asks.append(CallNeeds(default_model=part.conversation.model))
        for ask in asks:
            try:
                plan = await self._shop.planner.plan(ask)
            except (ProviderError, Refused) as error:
                _log.info("no_model_for_summaries", problem=str(error))
                continue
            if not self._shop.planner.is_demonstration(plan):
                yield plan

    async def _ask(
        self, part: OlderPart, rules: CompactionRules, *, plan: Plan, receipt: SpendLog
    ) -> tuple[str, str]:
        """Return the summary by a plan's model, and the model."""
        room = self._shop.calls.room_of(plan.candidates[0], PLATFORM) or 0
        most = max(_LEAST_PIECE, int((room - rules.summary_tokens - _BESIDE_TOKENS) * _JSON_SHARE))
        summary, model = text_of_summary(part.conversation.summary), ""
        for piece in _pieces(part.messages, most):
            request = summary_request(summary, piece, max_tokens=rules.summary_tokens)
            text, model = await answer_of(
                self._shop, request, plan=plan, kind="compact", receipt=receipt
            )
            summary = read_summary(text, max_tokens=rules.summary_tokens)
            if not summary:
                raise ProviderRejected(f"{model} gave no summary of the conversation")
        return summary, model


def _pieces(messages: Sequence[ChatMessage], most: int) -> Iterator[tuple[ChatMessage, ...]]:
    """Yield messages in pieces of about `most` tokens; a longer message is a piece of its own."""
    told = shorten_results(tuple(messages), OLD_RESULT_CHARS, stop=len(messages))
    piece: list[ChatMessage] = []
    size = 0
    for message in told:
        tokens = message_tokens(message)
        if piece and size + tokens > most:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(message)
        size += tokens
    if piece:
        yield tuple(piece)

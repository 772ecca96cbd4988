"""Dreams: from time to time a model summarises what is known of each person with new facts.

They are spread evenly over the day, with a daily limit from the settings, also after an idle time.
Like all jobs they are journaled, and the platform pays.
"""

import structlog

from hermes.calls.call_charge import SpendLog
from hermes.memory.dream import dream_request, facts_for, read_dream
from hermes.ports.memory import Job
from hermes.schedule.workshop import Workshop, ask_model

_DAY_S = 86_400.0
_PEOPLE_AT_ONCE = 500
_MESSAGES = 50
_log = structlog.get_logger(__name__)


class Dreamer:
    """Starts dreams and runs them."""

    def __init__(self, workshop: Workshop) -> None:
        self._shop = workshop
        # Where to continue; a new process starts over, which loses nothing.
        self._after = ""

    async def begin_next(self) -> Job | None:
        """Start the next dream, if it is time and somebody needs one."""
        shop, settings = self._shop, self._shop.settings.memory
        now, last = shop.clock.now(), shop.dreams.last_begun_at()
        if last is not None and now < last + _DAY_S / settings.dreams_a_day:
            return None
        person_id, self._after = shop.dreams.next_person(
            before=now - settings.dream_days * _DAY_S, after=self._after, limit=_PEOPLE_AT_ONCE
        )
        return None if person_id is None else await shop.dreams.begin(person_id, at=now)

    async def do(self, job: Job, receipt: SpendLog) -> None:
        """Summarise what is known of a person and finish the job; without news, ask no model."""
        shop = self._shop
        facts = facts_for(shop.facts.of(job.person_id))
        lately, dream = shop.dreams.lately_said(job, limit=_MESSAGES), None
        if facts or lately.said:
            request = dream_request(facts, lately.said, before=shop.dreams.of(job.person_id))
            model = shop.settings.memory.dream_model
            text = await ask_model(shop, request, kind=job.kind, model=model, receipt=receipt)
            dream = read_dream(text, at=shop.clock.now())
        is_done = await shop.dreams.finish(
            job,
            dream,
            covered=lately.covered,
            seen=[fact.id for fact in facts],
            spent=receipt.take(),
        )
        _log.info(
            "dreamt" if is_done else "dream_outdated",
            person_id=job.person_id,
            insights=0 if dream is None else len(dream.insights),
            gaps=0 if dream is None else len(dream.gaps),
        )

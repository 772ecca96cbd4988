"""What people and operators do with scheduled jobs: create, list, pause, run and remove them.

Implements `ports.cron.Scheduler`; chat commands, the tool and operator actions all use it.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from hermes.config import CronSettings
from hermes.errors import BadRequest, Conflict, Forbidden, NotFound
from hermes.lazy import lazy
from hermes.message.ids import MakeId
from hermes.message.owner import OWNER_CHAT, TERMINAL, WEB_OWNER
from hermes.message.session_key import base_lane, read_session_key
from hermes.message.short_ids import find_short
from hermes.message.source import Source
from hermes.ports.clock import Clock
from hermes.ports.cron import CronJob, CronOrigin, CronTask, NewCronJob, Rule
from hermes.ports.ids import whole_id
from hermes.ports.inbox import AcceptResult
from hermes.ports.store import Store
from hermes.ports.upward import Wake
from hermes.schedule.cron_fields import is_cron, read_cron
from hermes.schedule.cron_rule import least_gap, next_after
from hermes.schedule.cron_run import run_by_hand
from hermes.schedule.cron_text import spoken_rule, spoken_time
from hermes.schedule.cron_zone import find_zone, zone_of
from hermes.sessions.keys import session_key
from hermes.texts.say import say

if TYPE_CHECKING:
    from hermes.schedule.cron_words import empty_schedule, read_words
else:
    empty_schedule = lazy("hermes.schedule.cron_words:empty_schedule")
    read_words = lazy("hermes.schedule.cron_words:read_words")

_FINISHED_KEPT_S: Final = 8 * 86_400.0
_SHOWN_TEXT: Final = 60
_log = structlog.get_logger(__name__)

# Takes the target, who asks, and whether that is an operator; returns it in its one form, or raises
# `Refused` for what cannot be reached.
# The target of a job as it is stored, from what was written; raises `Refused` if it may not be used.
CheckTarget = Callable[[str, CronOrigin, bool], Awaitable[str]]
# Whether a text runs a skill that the conversation of a job has.
RunsSkill = Callable[[str, CronOrigin], Awaitable[bool]]
# The time zone that a person said they live in.
ZoneOf = Callable[[str], Awaitable[str | None]]


class Schedules:
    """The jobs of everyone; `zone` is the gateway's time zone, `zone_of` returns a person's."""

    def __init__(
        self,
        store: Store,
        *,
        settings: CronSettings,
        zone: str,
        zone_of: ZoneOf,
        check_target: CheckTarget,
        runs_skill: RunsSkill,
        wake: Wake | None,
        clock: Clock,
        make_id: MakeId,
    ) -> None:
        self._store = store
        self._settings = settings
        self._zone = zone
        self._zone_of = zone_of
        self._check_target = check_target
        self._runs_skill = runs_skill
        self._wake = wake
        self._clock = clock
        self._make_id = make_id

    async def origin(self, message_id: str) -> CronOrigin:
        """Return who wrote a message and where; raises `Forbidden` inside a scheduled turn."""
        record = await self._store.inbox.get(message_id)
        if record is None or record.event is None:
            raise NotFound(say("The message that asks for a schedule no longer exists."))
        event = record.event
        if event.scheduled is not None:
            raise Forbidden(say("A scheduled job cannot schedule others: only people can."))
        if event.key is not None:
            raise Forbidden(
                say("Programs that call with a key cannot schedule: nobody reads the answer.")
            )
        return CronOrigin(
            person_id=record.person_id,
            source=event.source,
            account=event.account,
            # A subagent's job is its person's, in the conversation that it works for.
            lane=base_lane(record.lane).partition("/")[0],
            agent=event.agent,
        )

    async def add(
        self,
        origin: CronOrigin,
        *,
        when: str,
        text: str,
        to: str = "",
        name: str = "",
        is_operators: bool = False,
    ) -> CronJob:
        """Save a job; raises `BadRequest` that says what was not understood."""
        now = self._clock.now()
        origin = await self._readable(origin)
        text = await self._checked_text(text, origin)
        rule = read_rule(when, zone=await self._zone_for(origin.person_id), now=now)
        next_at = self._checked_next(rule, now=now)
        task = CronTask(
            origin=origin,
            text=text,
            rule=rule,
            words=spoken_rule(rule),
            target=await self._check_target(to, origin, is_operators) if to else "",
            is_operators=is_operators,
        )
        job = await self._store.cron.add(
            NewCronJob(
                id=f"j_{name}" if name else self._make_id("j"),
                task=task,
                at=now,
                next_at=next_at,
                most=self._settings.jobs_per_person,
                forget_before=now - _FINISHED_KEPT_S,
            )
        )
        _log.info("cron_added", job_id=job.id, person_id=job.person_id)
        return job

    async def _readable(self, origin: CronOrigin) -> CronOrigin:
        """Return the origin, or the owner's web chat for the terminal: nobody reads there later."""
        source = origin.source
        if (source.platform, source.user_id) != TERMINAL or source.chat_type != "dm":
            return origin
        platform, user_id = WEB_OWNER
        person = await self._store.people.find(platform, user_id)
        if person is None or person.id != origin.person_id:
            return origin
        chat = Source(platform=platform, chat_id=OWNER_CHAT, user_id=user_id)
        lane = str(session_key(chat, read_session_key(origin.lane).agent))
        return msgspec.structs.replace(origin, source=chat, lane=lane)

    async def of_person(self, person_id: str) -> tuple[CronJob, ...]:
        """Return the jobs of a person."""
        return await self._store.cron.of_person(person_id)

    async def get(
        self, name: str, *, person_id: str | None = None, lane: str | None = None
    ) -> CronJob:
        """Return a job by its id, or by its beginning or end; raises `NotFound`.

        Raises `BadRequest` with the ids if several fit. With a `lane`, jobs of other conversations
        are not named: others read along.
        """
        name = name.strip()
        if person_id is None:
            job = await self._of_anybody(name)
        else:
            job = _own_job(name, await self.of_person(person_id), lane)
        if job is None:
            raise NotFound(
                say(
                    "There is no job {name}: give its id, or at least four letters of the beginning or "
                    "end of it.",
                    name=repr(name[:40]),
                )
            )
        return job

    async def _of_anybody(self, name: str) -> CronJob | None:
        job = await self._store.cron.get(name)
        if job is not None:
            return job
        whole = await whole_id(self._store.ids, name, "job")
        return None if whole is None else await self._store.cron.get(whole)

    async def pause(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Pause a job."""
        job = await self._unfinished(name, person_id=person_id)
        if job.paused_at is None:
            now = self._clock.now()
            self._moved(await self._store.cron.set(job, next_at=job.next_at, paused_at=now))
        return await self.get(job.id)

    async def resume(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Resume a job from now on."""
        job = await self._unfinished(name, person_id=person_id)
        if job.paused_at is not None and job.task is not None:
            next_at = next_after(job.task.rule, self._clock.now())
            if next_at is None:
                raise BadRequest(say("The time of this job is over: remove it, or make a new one."))
            self._moved(await self._store.cron.set(job, next_at=next_at))
        return await self.get(job.id)

    async def run(self, name: str, *, person_id: str | None = None) -> str:
        """Run a job now, in addition to its schedule; return the message's id."""
        job = await self.get(name, person_id=person_id)
        if job.task is None:
            raise NotFound(say("What this job does is gone with its person."))
        run = run_by_hand(job, job.task, now=self._clock.now(), make_id=self._make_id)

        def kept(result: AcceptResult) -> None:
            if self._wake is not None:
                lane, busy = run.message.lane, run.message.busy
                self._wake.arrived(lane, message_id=result.message_id, busy=busy)

        result = await self._store.cron.run(run, kept=kept)
        if result is None:
            raise Conflict(
                say("The job changed meanwhile, or its account is another person's: try again.")
            )
        return result.message_id

    async def remove(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Delete a job."""
        job = await self.get(name, person_id=person_id)
        await self._store.cron.remove(job.id)
        _log.info("cron_removed", job_id=job.id, person_id=job.person_id)
        return job

    def tell(self, job: CronJob) -> str:
        """Return a job in one line, in the local time of its zone."""
        task = job.task
        if task is None:
            return say("{job}: erased", job=job.id)
        text = task.text if len(task.text) <= _SHOWN_TEXT else f"{task.text[:_SHOWN_TEXT]}…"
        pieces = [f"{job.id}: {text!r}, {task.words}", self._state(job, task.rule.zone)]
        if task.target:
            pieces.append(say("to {target}", target=task.target))
        if job.missed:
            pieces.append(say("{count} missed", count=job.missed))
        return ", ".join(pieces)

    def _state(self, job: CronJob, zone: str) -> str:
        if job.paused_at is not None:
            return say("paused ({reason})", reason=job.reason) if job.reason else say("paused")
        if job.next_at is None:
            if not job.outcome:
                return say("done long ago")
            return say("done ({outcome})", outcome=job.outcome)
        return say("next: {time}", time=spoken_time(job.next_at, zone))

    async def output(self, job: CronJob) -> str:
        """Return the whole answer of the last run; raises `NotFound` if none is kept."""
        result = (
            None if job.last_message is None else await self._store.inbox.result(job.last_message)
        )
        if result is None:
            raise NotFound(
                say(
                    "No answer of {id} is kept: it has not run, it still runs, or it ran longer ago than "
                    "messages are kept. What was answered stays in the conversation.",
                    id=job.id,
                )
            )
        return result.text

    async def _zone_for(self, person_id: str) -> str:
        known = await self._zone_of(person_id)
        return (find_zone(known) if known else None) or self._zone

    async def _checked_text(self, text: str, origin: CronOrigin) -> str:
        text = text.strip()
        if not text:
            raise BadRequest(say("The job does nothing: say what I shall do when it is due."))
        if text.startswith("/") and not await self._runs_skill(text, origin):
            raise BadRequest(
                say(
                    "A job is a message to me, not a command: it may begin with '/' only to run a skill "
                    "that this chat has."
                )
            )
        if len(text) > self._settings.text_chars:
            raise BadRequest(
                say(
                    "The job has {count} characters; {most} are allowed (cron.text_chars).",
                    count=len(text),
                    most=self._settings.text_chars,
                )
            )
        return text

    def _checked_next(self, rule: Rule, *, now: float) -> float:
        next_at = next_after(rule, now)
        if next_at is None:
            raise BadRequest(say("That time is over: name one that is to come."))
        gap = least_gap(rule, now)
        if gap is not None and gap < self._settings.least_gap_s:
            raise BadRequest(
                say(
                    "The job would run every {gap} seconds; at least {least} have to lie between "
                    "two runs (cron.least_gap_s).",
                    gap=f"{gap:.0f}",
                    least=self._settings.least_gap_s,
                )
            )
        return next_at

    async def _unfinished(self, name: str, *, person_id: str | None) -> CronJob:
        job = await self.get(name, person_id=person_id)
        if job.next_at is None:
            raise BadRequest(say("{id} has run for the last time.", id=job.id))
        return job

    def _moved(self, is_set: bool) -> None:
        if not is_set:
            raise Conflict(say("The job ran or changed just now: try again."))


def _own_job(name: str, own: Sequence[CronJob], lane: str | None) -> CronJob | None:
    """Return a person's job; one of the conversation in `lane` is meant before any other."""
    here = {job.id: job for job in own if lane is None or _is_of(job, lane)}
    return find_short(name, here) or find_short(
        name, {job.id: job for job in own}, is_listed=lane is None
    )


def _is_of(job: CronJob, lane: str) -> bool:
    return job.task is not None and job.task.origin.lane == lane


_LONGEST: Final = 300
_SET_ZONE: Final = re.compile(r"(?:cron_)?tz=(\S+)\s++(.*)", re.IGNORECASE)
_CRON_ZONE: Final = re.compile(r"((?:\S+\s+){4}\S+|@\w+)\s+(?:in\s+)?\(?([A-Za-z][\w /+-]*)\)?")


def read_rule(text: str, *, zone: str, now: float) -> Rule:
    """Return the rule that a schedule means; `zone` applies if it names none.

    Raises `BadRequest`, which says what was not understood and shows valid forms.
    """
    text = " ".join(text.split())
    if not text:
        raise empty_schedule()
    if len(text) > _LONGEST:
        raise BadRequest(
            say(
                "The schedule has {count} characters; {most} are enough for any.",
                count=len(text),
                most=_LONGEST,
            )
        )
    named = _SET_ZONE.fullmatch(text)
    if named is not None:
        zone, text = zone_of(named[1]), named[2]
    if not is_cron(text):
        return read_words(text, zone=zone, now=now)
    placed = _CRON_ZONE.fullmatch(text)
    if placed is not None:
        return read_cron(placed[1], zone=zone_of(placed[2]))
    return read_cron(text, zone=zone)

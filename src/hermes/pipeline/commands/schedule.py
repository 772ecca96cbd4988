"""`/schedule` in a chat: the person's own jobs, and new ones in their own words."""

from typing import Final

from hermes.errors import Refused
from hermes.message.session_key import base_lane
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.cron import CronJob, Scheduler
from hermes.texts.say import say, words

_USE: Final = words(
    "`/schedule WHEN: WHAT` makes one, such as `/schedule every weekday at 9 in Berlin: "
    "what is on today?`; `/schedule WHEN -> TARGET: WHAT` sends the answer elsewhere. "
    "`/schedule show`, `pause`, `resume`, `run`, `output` or `remove` with an id does "
    "that to one."
)
_VERBS: Final = frozenset({"show", "pause", "resume", "run", "output", "remove"})


async def tell_schedule(turn: Turn, ctx: TurnContext, argument: str) -> str:
    """Return the person's jobs, or do what they say with one; doing it again is harmless."""
    try:
        return await _answer(turn, ctx.services.schedules, argument.strip())
    except Refused as error:
        return str(error)


async def _answer(turn: Turn, schedules: Scheduler, argument: str) -> str:
    if not argument or argument.casefold() == "list":
        return await _list(turn, schedules)
    verb, _, name = argument.partition(" ")
    if verb.casefold() in _VERBS and name.strip() and ": " not in argument:
        return await _do(turn, schedules, verb.casefold(), name=name)
    when, separator, text = argument.partition(": ")
    if not separator:
        return say("I need both, when and what. {use}", use=say(_USE))
    when, _, to = when.partition("->")
    job = await schedules.add(
        await schedules.origin(turn.id),
        when=when,
        text=text,
        to=to.strip(),
        name=turn.id.partition("_")[2],
    )
    return f"Scheduled. {schedules.tell(job)}"


async def _do(turn: Turn, schedules: Scheduler, verb: str, *, name: str) -> str:
    person_id = turn.person_id
    lane = None if _is_private(turn) else base_lane(turn.lane)
    job = await schedules.get(name, person_id=person_id, lane=lane)
    if not _is_told_here(job, turn):
        return say("That job is from another chat: ask me there, or in a direct chat.")
    if verb == "output":
        return await schedules.output(job)
    if verb == "run":
        await schedules.run(job.id, person_id=person_id)
        return say("It runs now.")
    if verb == "remove":
        return say(
            "Removed. {job}",
            job=schedules.tell(await schedules.remove(job.id, person_id=person_id)),
        )
    if verb == "pause":
        job = await schedules.pause(job.id, person_id=person_id)
    elif verb == "resume":
        job = await schedules.resume(job.id, person_id=person_id)
    told = schedules.tell(job)
    return f"{told}\n\n{job.task.text}" if verb == "show" and job.task is not None else told


async def _list(turn: Turn, schedules: Scheduler) -> str:
    jobs = [job for job in await schedules.of_person(turn.person_id) if _is_told_here(job, turn)]
    if not jobs:
        return say("Nothing is scheduled. {use}", use=say(_USE))
    return "\n".join((*map(schedules.tell, jobs), say(_USE)))


def _is_told_here(job: CronJob, turn: Turn) -> bool:
    """Return whether a job may be spoken of: where others read along, only those of this chat."""
    if _is_private(turn):
        return True
    return job.task is not None and job.task.origin.lane == base_lane(turn.lane)


def _is_private(turn: Turn) -> bool:
    source = turn.event.source
    return source.chat_type == "dm" and source.thread_id is None

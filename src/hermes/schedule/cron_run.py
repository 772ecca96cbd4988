"""Builds one run of a scheduled job as a message of its owner: id, text and heading. Pure."""

from typing import Final

from hermes.message.event import MessageEvent, ScheduledRun
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy
from hermes.message.parts import TextPart
from hermes.ports.cron import CRON_ROUTE, CronJob, CronRun, CronTask
from hermes.ports.inbox import NewMessage
from hermes.schedule.cron_rule import MOST_COUNTED, due_between, next_after
from hermes.schedule.cron_text import spoken_time
from hermes.texts.say import say, say_count

LATE_S: Final = 120.0


def due_run(job: CronJob, task: CronTask, *, now: float, make_id: MakeId) -> CronRun:
    """Return the due run of a job: the latest of several instants; the others count as missed."""
    assert job.next_at is not None
    due_at, count = due_between(task.rule, job.next_at, until=now)
    head = _head(task, due_at, first=job.next_at, missed=count - 1, now=now)
    event = _event(job, task, due_at=due_at, head=head, now=now, name=f"{job.id}@{due_at:.0f}")
    return CronRun(
        job_id=job.id,
        person_id=job.person_id,
        expected=job.next_at,
        next_at=next_after(task.rule, max(now, due_at)),
        at=due_at,
        message=_message(event, task, now=now, make_id=make_id),
        missed=count - 1,
    )


def run_by_hand(job: CronJob, task: CronTask, *, now: float, make_id: MakeId) -> CronRun:
    """Return an extra run of a job; its schedule stays unchanged."""
    event = _event(job, task, due_at=now, head="", now=now, name=f"{job.id}+{now:.3f}")
    return CronRun(
        job_id=job.id,
        person_id=job.person_id,
        expected=job.next_at,
        next_at=job.next_at,
        at=now,
        message=_message(event, task, now=now, make_id=make_id),
        by_hand=True,
    )


def _event(
    job: CronJob, task: CronTask, *, due_at: float, head: str, now: float, name: str
) -> MessageEvent:
    origin = task.origin
    return MessageEvent(
        account=origin.account,
        route=CRON_ROUTE,
        external_id=name,
        source=origin.source,
        parts=(TextPart(task.text),),
        at=now,
        agent=origin.agent,
        channel_prompt=(
            "The last message is a scheduled job of this person: they set it up beforehand to be "
            f"done {task.words}, and it is due now. Do what it says and answer with what they are "
            "to read. Nobody is there to answer questions, and nothing can be scheduled now."
        ),
        scheduled=ScheduledRun(
            job=job.id,
            due_at=due_at,
            head=head,
            target=task.target,
            is_operators=task.is_operators,
        ),
    )


def _message(event: MessageEvent, task: CronTask, *, now: float, make_id: MakeId) -> NewMessage:
    return NewMessage(
        id=make_id("m"),
        lane=task.origin.lane,
        event=event,
        # The name alone: an instant is run once, whatever the job says by then.
        identity=event.external_id.encode(),
        received_at=now,
        busy=BusyPolicy.QUEUE,
    )


def _head(task: CronTask, due_at: float, *, first: float, missed: int, now: float) -> str:
    """Return the heading of the reply if a run was late or missed."""
    zone = task.rule.zone
    told = []
    if now - due_at > LATE_S:
        told.append(
            say("This was due {time} and could not run then.", time=spoken_time(due_at, zone))
        )
    if missed:
        since = spoken_time(first, zone)
        if missed >= MOST_COUNTED - 1:
            told.append(
                say(
                    "{count} or more runs were missed before it, since {time}.",
                    count=missed,
                    time=since,
                )
            )
        else:
            told.append(
                say_count(
                    "{count} run was missed before it, since {time}.",
                    "{count} runs were missed before it, since {time}.",
                    missed,
                    time=since,
                )
            )
    return f"({' '.join(told)})" if told else ""

"""`schedule`: jobs that a model creates and manages for the person it talks to.

Only the person's own jobs, and only to their own chats; it is refused inside a scheduled turn.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from hermes.errors import Refused, ToolError
from hermes.ports.cron import Scheduler
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits

INTENT: Final = "reminders"
_ACTIONS: Final = ("add", "list", "pause", "resume", "remove")


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    action: Literal["add", "list", "pause", "resume", "remove"]
    when: Annotated[str, Meta(max_length=300)] = ""
    text: str = ""
    id: Annotated[str, Meta(max_length=100)] = ""


_SPEC: Final = ToolSpec(
    name="schedule",
    description=(
        "Schedule something to be done later or again and again for this person: reminders, reports. "
        "When it is due you are given `text` as a message, and your answer is sent to them here."
    ),
    parameters=msgspec.Raw(
        msgspec.json.encode(
            {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": list(_ACTIONS)},
                    "when": {
                        "type": "string",
                        "description": "For add, in English words or cron syntax, with the city or "
                        "time zone if it was said: 'every weekday at 9 in Berlin', 'tomorrow at "
                        "18:30', 'in 2 hours', '*/15 * * * *'.",
                    },
                    "text": {
                        "type": "string",
                        "description": "For add: what you are to do then, as a message to yourself, "
                        "such as 'Remind them to call Ann'; '/NAME' first runs that skill.",
                    },
                    "id": {"type": "string", "description": "For pause, resume and remove."},
                },
                "required": ["action"],
                "additionalProperties": False,
            }
        )
    ),
)


class Schedule:
    """The tool; implements the tool port."""

    # A job is named by its call, so a repeated call finds the first call's job.
    traits: Final = ToolTraits(idempotent=True, intents=(INTENT,), on_by_default=True)
    spec: Final = _SPEC

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Carry out the action and return the state of the job."""
        try:
            asked = msgspec.json.decode(arguments, type=_Arguments)
            return await self._do(asked, context)
        except msgspec.DecodeError as error:
            raise ToolError(f"schedule: the arguments do not fit: {error}") from error
        except Refused as error:
            raise ToolError(f"schedule: {error}") from error

    async def _do(self, asked: _Arguments, context: ToolContext) -> str:
        scheduler, person_id = self._scheduler, context.person_id
        # Refused for all actions if the turn itself is a scheduled job.
        origin = await scheduler.origin(context.turn_id)
        if asked.action == "add":
            name = f"{context.turn_id.partition('_')[2]}.{context.call}"
            job = await scheduler.add(origin, when=asked.when, text=asked.text, name=name)
            return f"scheduled: {scheduler.tell(job)}"
        own = {
            job.id: job
            for job in await scheduler.of_person(person_id)
            if context.is_private or (job.task is not None and job.task.origin.lane == origin.lane)
        }
        if asked.action == "list":
            return "\n".join(map(scheduler.tell, own.values())) or "nothing is scheduled"
        lane = None if context.is_private else origin.lane
        job = await scheduler.get(asked.id, person_id=person_id, lane=lane)
        if job.id not in own:
            raise ToolError(f"schedule: {asked.id!r} is not a job of this chat")
        change = {
            "pause": scheduler.pause,
            "resume": scheduler.resume,
            "remove": scheduler.remove,
        }[asked.action]
        return f"{asked.action}d: {scheduler.tell(await change(job.id, person_id=person_id))}"

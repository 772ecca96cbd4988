"""Background tasks: turns beside a session, whose replies come into its chat when they are done.

A task has a lane of its own below the session's, and begins without what was said there. It is paid
for like a message; `/stop` leaves it alone. Its commit writes the delivery and tells the session.
"""

from hermes.message.choices import SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.outcome import Outcome
from hermes.message.parts import Part, TextPart
from hermes.message.reply import Reply
from hermes.message.session_key import background_lane, base_lane, is_background, is_task, root_lane
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.channel import Acceptance
from hermes.ports.turns import LaneView, MessageRecord
from hermes.texts.say import say

_ROUTE = "background"
_SHOWN_CHARS = 60
_UNTOLD = (Outcome.REFUSED, Outcome.EXPIRED)


async def put_task(turn: Turn, ctx: TurnContext, text: str) -> Acceptance:
    """Put a task down beside the session of a command; the same command puts it down once."""
    command = turn.event
    event = MessageEvent(
        account=command.account,
        route=_ROUTE,
        # The command's own id: it is what the result answers, and there is one task for it.
        external_id=command.external_id,
        source=command.source,
        parts=(TextPart(text), *(p for p in command.parts if not isinstance(p, TextPart))),
        at=command.at,
        agent=turn.agent.key,
        key=command.key,
    )
    return await ctx.services.put_child(event, lane_of(turn))


def lane_of(turn: Turn) -> str:
    """Return the lane of the task that a command puts down."""
    return background_lane(base_lane(turn.lane), turn.id)


async def tasks_of(services: Services, lane: str) -> tuple[MessageRecord, ...]:
    """Return what goes on beside a session and has not ended: background and delegated tasks."""
    found = await services.store.turns.below(lane)
    return tuple(one for one in found if is_background(one.lane) or is_task(one.lane))


def title_of(text: str) -> str:
    """Return how a task is called: its first words."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1].rstrip()}…"


def under_task(turn: Turn, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return what is delivered of a task: first of all which one it was."""
    return (
        TextPart(say("In the background: {task}", task=title_of(turn.event.text)) + "\n\n"),
        *parts,
    )


def mirrors_of(turn: Turn, reply: Reply) -> tuple[str, ...]:
    """Return the session that is notified when a task ends."""
    if not is_background(turn.lane) or reply.silent or reply.outcome in _UNTOLD:
        return ()
    return (root_lane(turn.lane),)


async def choices_of(view: LaneView, services: Services) -> SessionChoices:
    """Return what the people of a session chose; it holds for its tasks, too."""
    if not is_background(view.lane):
        return view.choices
    return (await services.store.turns.view(root_lane(view.lane))).choices

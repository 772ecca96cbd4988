"""`/stop`, `/new`, `/status` and `/queue`: what is under way in a session."""

import msgspec

from hermes.message.outcome import MessageState
from hermes.message.session_key import base_lane, root_lane, turn_branch
from hermes.pipeline.background import tasks_of, title_of
from hermes.pipeline.commands.effect import Effect
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.turns import LaneView, MessageRecord
from hermes.texts.say import say, say_count, words

_MOST_SHOWN = 10
_SHOWN_CHARS = 80
_NO_PLACE = words("This session waits for a free place to answer {message}.")
_REST_STOPPED = words("Stopped. The rest of the reply is not sent.")
_UNDER_WAY = (MessageState.RUNNING, MessageState.PARKED)


async def stop(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Stop the running turn, and the sending of a reply; waiting messages continue.

    So do background tasks, unless `all` is stopped.
    """
    lane = base_lane(turn.lane)
    running = _under_way(await ctx.services.store.turns.view(lane))
    is_all = argument.lower() == "all"
    tasks = _left(await tasks_of(ctx.services, lane), running)
    sending = await ctx.services.store.outbox.is_sending(lane, target_of(turn.event))
    stopped = bool(running or (is_all and tasks))
    effect = Effect(
        text=say("Stopped.")
        if stopped
        else (say(_REST_STOPPED) if sending else say("Nothing is running.")),
        interrupts=running,
        stops_below=is_all,
        # A reply may begin to be sent before this is committed.
        stops_sending=True,
        text_if_sending=None if stopped or sending else say(_REST_STOPPED),
    )
    if running and ctx.services.settings.busy.stop_suspends:
        text = say("Stopped. Your next message starts a new conversation.")
        effect = msgspec.structs.replace(effect, text=text, reset_lane=lane, end_reason="stopped")
    if tasks and not is_all:
        left = say_count(
            "{count} background task left alone; /stop all stops everything.",
            "{count} background tasks left alone; /stop all stops everything.",
            len(tasks),
        )
        other = effect.text_if_sending and f"{effect.text_if_sending} {left}"
        effect = msgspec.structs.replace(
            effect, text=f"{effect.text} {left}", text_if_sending=other
        )
    return effect


async def start_afresh(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """End the conversation, and what runs in it."""
    del argument
    lane = base_lane(turn.lane)
    running = _under_way(await ctx.services.store.turns.view(lane))
    return Effect(text=say("Started a new conversation."), interrupts=running, reset_lane=lane)


async def status(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell what is under way."""
    del argument
    lane = base_lane(turn.lane)
    view = await ctx.services.store.turns.view(lane)
    running = _running(view)
    waiting = None if running else await _without_place(view, ctx.services)
    said = (await ctx.services.store.sessions.usage(lane)).turns
    lines = [_doing(view, running, said) if waiting is None else say(_NO_PLACE, message=waiting)]
    behind = len(await ctx.services.store.turns.waiting(lane))
    if behind:
        lines.append(
            say_count(
                "{count} message waiting; /queue shows them.",
                "{count} messages waiting; /queue shows them.",
                behind,
            )
        )
    choices = view.choices
    if choices.model is not None:
        lines.append(say("Model: {model}.", model=choices.model))
    if choices.reasoning is not None:
        lines.append(say("Reasoning: {effort}.", effort=choices.reasoning))
    tasks = [
        say("In the background: {task}", task=_task(one))
        for one in await tasks_of(ctx.services, lane)
    ]
    return Effect(text="\n".join((" ".join(lines), *tasks)))


async def queue(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Show what waits; with a text behind it, `/queue` is a message and never comes here."""
    del argument
    waiting = await ctx.services.store.turns.waiting(base_lane(turn.lane))
    if not waiting:
        return Effect(text=say("Nothing is waiting. /queue TEXT queues a message until I am done."))
    shown = [
        f"{number}. {record.event.text[:_SHOWN_CHARS] if record.event else say('(erased)')}"
        for number, record in enumerate(waiting[:_MOST_SHOWN], start=1)
    ]
    more = len(waiting) - len(shown)
    return Effect(
        text="\n".join((*shown, *([say("and {count} more", count=more)] if more else [])))
    )


async def steer(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Report how it is used: with a text behind it, `/steer` is a message and never comes here."""
    del turn, ctx, argument
    return Effect(text=say("Write /steer and what I should know while I work."))


def _left(tasks: tuple[MessageRecord, ...], running: str | None) -> list[MessageRecord]:
    """Return the tasks that go on if a running turn is stopped: not those that it has delegated."""
    return [
        one
        for one in tasks
        if running is None or not one.lane.startswith(turn_branch(root_lane(one.lane), running))
    ]


def _task(record: MessageRecord) -> str:
    what = say("(erased)") if record.event is None else title_of(record.event.text)
    if record.state is MessageState.PARKED:
        return say("{task} (waits for your decision)", task=what)
    return what


def _running(view: LaneView) -> str | None:
    message = view.message
    return message.id if message is not None and message.state in _UNDER_WAY else None


def _under_way(view: LaneView) -> str | None:
    """Return what runs, or what is about to: a message that was just sent, or waits for a place."""
    return None if view.message is None else view.message.id


async def _without_place(view: LaneView, services: Services) -> str | None:
    """Return the message that waits for its first model call, if one does."""
    message = view.message
    if message is None or message.state is not MessageState.NEW:
        return None
    timeline = await services.store.timeline(message.id)
    waits = timeline is not None and timeline.has_waited_for_place
    return message.id if waits else None


def _doing(view: LaneView, running: str | None, said: int) -> str:
    if running is None:
        return say_count(
            "This session is idle; {count} message answered since it began.",
            "This session is idle; {count} messages answered since it began.",
            said,
        )
    if view.waiting_on is not None:
        return say_count(
            "This session is waiting for your decision on {message}; {count} message answered "
            "since it began.",
            "This session is waiting for your decision on {message}; {count} messages answered "
            "since it began.",
            said,
            message=running,
        )
    return say_count(
        "This session is working on {message}; {count} message answered since it began.",
        "This session is working on {message}; {count} messages answered since it began.",
        said,
        message=running,
    )

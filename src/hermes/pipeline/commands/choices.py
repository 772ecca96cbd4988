"""`/model` and `/reasoning`: the choices of a session's people, until a new conversation starts."""

from typing import Final, get_args

import msgspec

from hermes.errors import BadRequest, NotFound, ProviderError
from hermes.message.choices import SessionChoices
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.effort import Effort
from hermes.routing.plan import CallNeeds

_AUTO = "auto"
_OFF = frozenset({"off", "none", "auto"})
_MOST_SHOWN = 20
_LARGE: Final = "large_reasoning"


async def choose_model(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Show which model answers, or choose another one from the next message on."""
    choices = turn.choices
    if not argument:
        return _said(await _tell_models(turn, ctx))
    if argument.lower() == _AUTO:
        chosen = msgspec.structs.replace(choices, model=None)
        return _chosen("The model is chosen for you again.", chosen)
    try:
        plan = await ctx.services.planner.plan(CallNeeds(model=argument, tools=False))
    except (BadRequest, NotFound, ProviderError) as error:
        return Reply(
            parts=(TextPart(f"{str(error).rstrip('.')}. /model shows those that can be chosen."),),
            outcome=Outcome.REFUSED,
        )
    first = plan.candidates[0]
    name = f"{first.provider}:{first.model}"
    chosen = msgspec.structs.replace(choices, model=name)
    text = f"From now on {name} answers here, until /new or /model auto."
    return _chosen(f"{text} {ctx.services.planner.note_on(plan)}".rstrip(), chosen)


async def choose_reasoning(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Show the reasoning effort, or change it from the next message on."""
    word, choices = argument.lower(), turn.choices
    if not word:
        now = choices.reasoning or turn.agent.settings.reasoning or "left to the model"
        model = ", with the model for large tasks" if choices.task == _LARGE else ""
        words = "low, medium, high, large or off"
        return _said(f"Reasoning is {now}{model}. /reasoning {words} changes that.")
    if word in _OFF:
        return _chosen(
            "Reasoning is left to the model again.",
            msgspec.structs.replace(choices, reasoning=None, task=None),
        )
    if word == "large":
        return _choose_large(turn, ctx)
    for effort in get_args(Effort):
        if word == effort:
            chosen = msgspec.structs.replace(choices, reasoning=effort)
            return _chosen(f"Reasoning is {effort} from now on, until /new.", chosen)
    text = f"{argument[:40]!r} is not a level: use low, medium, high, large or off."
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)


def _choose_large(turn: Turn, ctx: TurnContext) -> Reply:
    """Let the route for large tasks choose the model, if there is one."""
    route = ctx.services.settings.routing.task_routes.get(_LARGE)
    if route is None or (route.primary or route.fallback) is None:
        text = f"No model is set for large tasks (routing.task_routes.{_LARGE})."
        return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
    if turn.choices.model is not None:
        text = f"{turn.choices.model} was chosen here: /model auto first, then /reasoning large."
        return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
    text = "From now on the model for large tasks answers here, until /new or /reasoning off."
    return _chosen(text, msgspec.structs.replace(turn.choices, task=_LARGE))


async def _tell_models(turn: Turn, ctx: TurnContext) -> str:
    names = await ctx.services.planner.names()
    now = turn.choices.model
    head = f"{now} answers here." if now else "The model is chosen for each message."
    shown = "\n".join(f"  {name}" for name in names[:_MOST_SHOWN])
    return f"{head} /model NAME chooses one:\n{shown}" if names else head


def _chosen(text: str, choices: SessionChoices) -> Reply:
    return Reply(parts=(TextPart(text),), choices=choices)


def _said(text: str) -> Reply:
    return Reply(parts=(TextPart(text),))

"""`/model` and `/reasoning`: the choices of a session's people, until a new conversation starts."""

from typing import Final, get_args

import msgspec

from hermes.errors import BadRequest, NotFound, ProviderError
from hermes.message.choices import SessionChoices
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.message.session_key import base_lane
from hermes.pipeline.choice_offers import OfferTerms, Option, offer_answers
from hermes.pipeline.questions import asker_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.effort import Effort
from hermes.routing.plan import CallNeeds
from hermes.texts.say import say, words

_AUTO = "auto"
_OFF = frozenset({"off", "none", "auto"})
_MOST_SHOWN = 20
_LARGE: Final = "large_reasoning"


async def choose_model(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Show which model answers, or choose another one from the next message on."""
    choices = turn.choices
    if not argument:
        return await _tell_models(turn, ctx)
    if argument.lower() == _AUTO:
        chosen = msgspec.structs.replace(choices, model=None)
        return _chosen(say("The model is chosen for you again."), chosen)
    try:
        plan = await ctx.services.planner.plan(CallNeeds(model=argument, tools=False))
    except (BadRequest, NotFound, ProviderError) as error:
        return Reply(
            parts=(
                TextPart(
                    say(
                        "{reason}. /model shows those that can be chosen.",
                        reason=str(error).rstrip("."),
                    )
                ),
            ),
            outcome=Outcome.REFUSED,
        )
    first = plan.candidates[0]
    name = f"{first.provider}:{first.model}"
    chosen = msgspec.structs.replace(choices, model=name)
    text = say("From now on {name} answers here, until /new or /model auto.", name=name)
    return _chosen(f"{text} {ctx.services.planner.note_on(plan)}".rstrip(), chosen)


async def choose_reasoning(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Show the reasoning effort, or change it from the next message on."""
    word, choices = argument.lower(), turn.choices
    if not word:
        now = choices.reasoning or turn.agent.settings.reasoning or say("left to the model")
        plain = words(
            "Reasoning is {now}. /reasoning low, medium, high, large or off changes that."
        )
        large = words(
            "Reasoning is {now}, with the model for large tasks. /reasoning low, medium, high, "
            "large or off changes that."
        )
        text = say(large if choices.task == _LARGE else plain, now=now)
        levels = ("low", "medium", "high", "large", "off")
        options = tuple(Option(one.capitalize(), f"/reasoning {one}") for one in levels)
        return _asked(turn, ctx, text, options=options)
    if word in _OFF:
        return _chosen(
            say("Reasoning is left to the model again."),
            msgspec.structs.replace(choices, reasoning=None, task=None),
        )
    if word == "large":
        return _choose_large(turn, ctx)
    for effort in get_args(Effort):
        if word == effort:
            chosen = msgspec.structs.replace(choices, reasoning=effort)
            return _chosen(
                say("Reasoning is {effort} from now on, until /new.", effort=effort), chosen
            )
    text = say(
        "{argument} is not a level: use low, medium, high, large or off.",
        argument=repr(argument[:40]),
    )
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)


def _choose_large(turn: Turn, ctx: TurnContext) -> Reply:
    """Let the route for large tasks choose the model, if there is one."""
    route = ctx.services.settings.routing.task_routes.get(_LARGE)
    if route is None or (route.primary or route.fallback) is None:
        text = say(
            "No model is set for large tasks ({setting}).", setting=f"routing.task_routes.{_LARGE}"
        )
        return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
    if turn.choices.model is not None:
        text = say(
            "{model} was chosen here: /model auto first, then /reasoning large.",
            model=turn.choices.model,
        )
        return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
    text = say("From now on the model for large tasks answers here, until /new or /reasoning off.")
    return _chosen(text, msgspec.structs.replace(turn.choices, task=_LARGE))


async def _tell_models(turn: Turn, ctx: TurnContext) -> Reply:
    names = (await ctx.services.planner.names())[:_MOST_SHOWN]
    now = turn.choices.model
    head = (
        say("{model} answers here.", model=now)
        if now
        else say("The model is chosen for each message.")
    )
    if not names:
        return _said(head)
    shown = "\n".join(f"  {name}" for name in names)
    back = () if now is None else (Option("Automatic", f"/model {_AUTO}"),)
    options = (*back, *(Option(name, f"/model {name}") for name in names if name != now))
    return _asked(
        turn,
        ctx,
        say("{head} /model NAME chooses one:\n{shown}", head=head, shown=shown),
        options=options,
    )


def _asked(turn: Turn, ctx: TurnContext, text: str, *, options: tuple[Option, ...]) -> Reply:
    """Return a question to the person who wrote the command, with answers that can be pressed."""
    services, event = ctx.services, turn.event
    terms = OfferTerms(
        platform=event.source.platform,
        lane=base_lane(turn.lane),
        who=asker_of(event),
        valid_s=services.settings.approvals.expire_after_s,
    )
    asks = offer_answers(text, options, terms=terms, services=services)
    return Reply(parts=asks.parts, offer=asks.offer)


def _chosen(text: str, choices: SessionChoices) -> Reply:
    return Reply(parts=(TextPart(text),), choices=choices)


def _said(text: str) -> Reply:
    return Reply(parts=(TextPart(text),))

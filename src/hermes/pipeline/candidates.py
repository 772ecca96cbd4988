"""Making the routing plan of a turn, and freezing it with everything else."""

import msgspec

from hermes.message.parts import ImagePart
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Prepared, Turn
from hermes.routing.plan import Ask


async def choose_model(turn: Turn, ctx: TurnContext) -> Turn:
    """Give the turn its plan; raises `ProviderUnavailable` when nothing can answer."""
    if turn.plan is not None:
        return turn
    ask = _ask_of(turn, ctx)
    plan = await ctx.services.planner.plan(ask)
    ctx.journal.note(
        "routed",
        wanted=ask.default_model if ask.tier is None else f"tier {ask.tier}",
        candidates=[
            {"model": f"{item.provider}:{item.model}", "rule": item.rule}
            for item in plan.candidates
        ],
        dropped=[{"provider": item.provider, "reason": item.reason} for item in plan.dropped],
    )
    return msgspec.structs.replace(turn, plan=plan)


def _ask_of(turn: Turn, ctx: TurnContext) -> Ask:
    settings = ctx.services.settings
    tier = turn.person.tier if turn.person is not None and settings.routing.by_tier else None
    parts = () if turn.asked is None else turn.asked.parts
    return Ask(
        prompt=turn.event.text,
        default_model=turn.agent.settings.model
        or ctx.services.planner.default_model
        or settings.models.default,
        session_model=turn.choices.model,
        tier=turn.agent.settings.tier or tier,
        tools=bool(turn.tools),
        images=any(isinstance(part, ImagePart) for part in parts)
        and not (turn.sight is not None and turn.sight.blind),
    )


def freeze(turn: Turn, ctx: TurnContext) -> Prepared | None:
    """Return what the first step freezes, or None when it was frozen before."""
    if ctx.journal.begun or turn.plan is None:
        return None
    return Prepared(
        agent=turn.agent.key,
        epoch=turn.epoch,
        head=turn.head,
        history_limit=ctx.services.settings.turns.history_messages,
        system=turn.system,
        user=turn.user,
        tools=tuple(spec.name for spec in turn.tools),
        plan=turn.plan,
        person=turn.person,
        hold=turn.hold,
        soul_ms=turn.soul_ms,
        soul=turn.soul,
        shared_from=turn.shared_from,
        has_recalled=turn.has_recalled,
        shown=len(turn.history),
        tools_digest=ctx.services.store.digest(ctx.services.tool_sets.encoded(turn.tools)),
        sight=turn.sight,
        retry=turn.retry,
        missed=turn.missed,
    )

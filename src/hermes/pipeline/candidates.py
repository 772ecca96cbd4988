"""Making the routing plan of a turn, and freezing it with everything else.

A turn that the demonstration model will answer is made smaller first: that model reads slowly, and
it is too small to know when to call a tool.
"""

import msgspec

from hermes.calls.context_fit import fixed_tokens, message_tokens
from hermes.memory.soul import is_earlier
from hermes.memory.summary import is_summary
from hermes.message.parts import ImagePart
from hermes.pipeline.accounts import ModelContext
from hermes.pipeline.history_fit import fit_history, without_unanswered
from hermes.pipeline.stages.load_history import history_bytes
from hermes.pipeline.turn import PreparedTurn, Turn
from hermes.ports.turns import COMPACTED_HISTORY
from hermes.routing.plan import CallNeeds, Plan
from hermes.tools.gate import only
from hermes.tools.tool_sets import ToolSet

_LONG_CHARS = 6_000
_TOO_SMALL = "this model gets no tools that are on by default"
_BE_SHORT = (
    "{name} is a computer program. Be brief and factual: answer in two or three short sentences."
)


async def choose_model(turn: Turn, ctx: ModelContext) -> Turn:
    """Give the turn its plan; raises `ProviderUnavailable` when nothing can answer."""
    if turn.plan is not None:
        return turn
    planner, given = ctx.services.planner, _given(turn, ctx)
    ask = _ask_of(turn, ctx)
    fewer = msgspec.structs.replace(ask, tools=bool(given)) if turn.tools else ask
    plan, has_fewer = await planner.plan_or(ask, fewer)
    if has_fewer and len(given) < len(turn.tools):
        turn = _with_given_tools(turn, ctx, given)
    if planner.is_demonstration(plan):
        turn = _made_short(turn)
    turn = _fitted(turn, ctx, plan)
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


def _fitted(turn: Turn, ctx: ModelContext, plan: Plan) -> Turn:
    """Return the turn with as much of its history as the first model of its plan holds."""
    room = ctx.services.calls.room_of(plan.candidates[0], turn.person_id)
    fitted = turn if room is None else fit_history(turn, room)
    stop, held = _new_stop(fitted), fitted.compaction
    if held is not None:
        ctx.journal.note(
            COMPACTED_HISTORY,
            messages=held.stop - held.start,
            is_summary=is_summary(held.message),
        )
    if stop is not None:
        ctx.journal.note(
            "left_out",
            messages=stop - turn.base,
            room=room,
            model=plan.candidates[0].model,
        )
    return without_unanswered(fitted)


def _given(turn: Turn, ctx: ModelContext) -> frozenset[str]:
    """Return the names of the turn's tools that are not merely on by default."""
    if not turn.tools:
        return frozenset()
    given = _tool_set(turn, ctx).given
    return frozenset([spec.name for spec in turn.tools if spec.name in given])


def _tool_set(turn: Turn, ctx: ModelContext) -> ToolSet:
    settings, platform = turn.agent.settings, turn.event.source.platform
    has_team, has_skills = bool(settings.delegates), bool(turn.skills)
    return ctx.services.tool_sets.of(
        settings.tools, platform, has_team=has_team, has_skills=has_skills
    )


def _with_given_tools(turn: Turn, ctx: ModelContext, given: frozenset[str]) -> Turn:
    """Return the turn without the tools that are on by default, and note it for `hermes why`."""
    gated = only(given, _tool_set(turn, ctx).tools, rule=_TOO_SMALL)
    ctx.journal.note(
        "gated",
        rule=gated.rule,
        sent=gated.names,
        left_out=gated.left_out,
        saved_tokens=gated.saved_tokens,
    )
    return msgspec.structs.replace(turn, tools=gated.tools)


def _made_short(turn: Turn) -> Turn:
    """Return the turn as the demonstration model gets it: less to read, and a short answer asked for."""
    blocks = tuple(block for block in turn.system if not is_earlier(block))
    note = _BE_SHORT.format(name=turn.agent.settings.name)
    return msgspec.structs.replace(turn, system=(*blocks, note))


def _ask_of(turn: Turn, ctx: ModelContext) -> CallNeeds:
    settings = ctx.services.settings
    tier = turn.person.tier if turn.person is not None and settings.routing.by_tier else None
    parts = () if turn.asked is None else turn.asked.parts
    return CallNeeds(
        prompt=turn.event.text,
        default_model=turn.agent.settings.model
        or ctx.services.planner.default_model
        or settings.models.default,
        session_model=turn.choices.model,
        tier=turn.agent.settings.tier or tier,
        task=turn.event.task or turn.choices.task,
        tools=bool(turn.tools),
        images=any(isinstance(part, ImagePart) for part in parts)
        and not (turn.pending_images is not None and turn.pending_images.blind),
        tokens=_own_tokens(turn),
        agent=turn.agent.key,
    )


def _own_tokens(turn: Turn) -> int:
    """Return the tokens that cannot be left out; 0 for a short message, which any model holds."""
    asked = turn.asked
    if asked is None or len(asked.text) < _LONG_CHARS:
        return 0
    return fixed_tokens(turn.system, turn.tools) + message_tokens(asked)


def _new_stop(turn: Turn) -> int | None:
    """Return before which message of the graph this turn itself leaves out what was said."""
    made = turn.compaction
    return made.stop if made is not None and made.version is None else None


def freeze(turn: Turn, ctx: ModelContext) -> PreparedTurn | None:
    """Return what the first step freezes, or None when it was frozen before."""
    if ctx.journal.begun or turn.plan is None:
        return None
    return PreparedTurn(
        agent=turn.agent.key,
        agent_version=turn.agent.version,
        epoch=turn.epoch,
        head=turn.head,
        history_limit=history_bytes(ctx.services.calls.largest_context),
        compaction=turn.compacted,
        left_out=_new_stop(turn),
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
        pending_images=turn.pending_images,
        retry=turn.retry,
        cut=turn.cut,
        missed=turn.missed,
        skills=turn.skills,
    )

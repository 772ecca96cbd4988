"""Asking providers whether they can be called now, and freezing the routing plan."""

import asyncio

import msgspec

from hermes.errors import ProviderError
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Prepared, Turn
from hermes.ports.provider import Provider
from hermes.routing.plan import Offer, make_plan

_PROBE_S = 2.0


async def choose_model(turn: Turn, ctx: TurnContext) -> Turn:
    """Give the turn its plan; raises `ProviderUnavailable` when nothing can answer."""
    if turn.plan is not None:
        return turn
    services = ctx.services
    wanted = turn.agent.settings.model or services.settings.models.default
    offers = [await _ask(provider) for provider in services.providers.values()]
    plan = make_plan(wanted, offers, offline=services.settings.offline)
    ctx.journal.note(
        "routed",
        wanted=wanted,
        candidates=[
            {"model": f"{item.provider}:{item.model}", "rule": item.rule}
            for item in plan.candidates
        ],
        dropped=[{"provider": item.provider, "reason": item.reason} for item in plan.dropped],
    )
    return msgspec.structs.replace(turn, plan=plan)


async def _ask(provider: Provider) -> Offer:
    try:
        async with asyncio.timeout(_PROBE_S):
            return Offer(provider.info, await provider.available())
    except (TimeoutError, ProviderError):
        return Offer(provider.info, available=False)


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
    )

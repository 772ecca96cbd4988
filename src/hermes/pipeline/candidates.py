"""Asking providers whether they can be called now, and freezing the routing plan."""

import asyncio

import msgspec

from hermes.errors import ProviderError
from hermes.message.parts import ImagePart
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Prepared, Turn
from hermes.ports.provider import Provider
from hermes.routing.decide import make_plan
from hermes.routing.plan import Ask, Offer

_PROBE_S = 2.0


async def choose_model(turn: Turn, ctx: TurnContext) -> Turn:
    """Give the turn its plan; raises `ProviderUnavailable` when nothing can answer."""
    if turn.plan is not None:
        return turn
    services = ctx.services
    ask = _ask_of(turn, ctx)
    offers = [await ask_provider(provider) for provider in services.providers.values()]
    plan = make_plan(ask, offers, policy=services.policy)
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
    parts = () if turn.user is None else turn.user.parts
    return Ask(
        prompt=turn.event.text,
        default_model=turn.agent.settings.model or settings.models.default,
        tier=turn.agent.settings.tier or tier,
        tools=bool(turn.tools),
        images=any(isinstance(part, ImagePart) for part in parts),
    )


async def ask_provider(provider: Provider) -> Offer:
    """Ask a provider whether it can be called now; it has two seconds to say so."""
    try:
        async with asyncio.timeout(_PROBE_S):
            return Offer(provider.info, await provider.available())
    except TimeoutError:
        return Offer(provider.info, available=False, problem=f"no sign of life in {_PROBE_S:g} s")
    except ProviderError as error:
        return Offer(provider.info, available=False, problem=str(error))


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

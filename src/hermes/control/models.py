"""`hermes models` and `hermes route`: what there is to choose from, and what would be chosen.

Both take the offers as values: a running gateway asks its own providers, a command without one
makes them. Nothing here calls a model.
"""

from collections.abc import Sequence

import msgspec

from hermes.config import ProviderSettings, Settings
from hermes.config.variables import variable_for
from hermes.routing.decide import decide
from hermes.routing.fitness import has_ability
from hermes.routing.plan import CallNeeds, DroppedProvider, ProviderOffer
from hermes.routing.policy import policy_of
from hermes.routing.prices import Ability, Price, context_size, price_list, price_of

ABILITIES: tuple[Ability, ...] = ("tools", "vision", "schema", "embeddings")


class ModelLine(msgspec.Struct, frozen=True, kw_only=True):
    """One provider with its model; a `price` of None is unknown, which is not free."""

    provider: str
    model: str
    available: bool
    problem: str | None = None
    local: bool
    demonstration: bool
    chat: bool = True
    abilities: tuple[Ability, ...]
    context_tokens: int
    price: Price | None


class ModelsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every configured model; list prices are of `prices_date`."""

    models: tuple[ModelLine, ...]
    prices_date: str


class RouteCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate of a plan; a `price` of None is unknown, which is not free."""

    provider: str
    model: str
    rule: str
    price: Price | None


class RouteReport(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with what decided it; `problem` says why there is no candidate."""

    candidates: tuple[RouteCandidate, ...]
    dropped: tuple[DroppedProvider, ...]
    complexity: float | None = None
    task: str | None = None
    problem: str | None = None


def models_report(settings: Settings, offers: Sequence[ProviderOffer]) -> ModelsReport:
    """Return every offer with what is known of its model."""
    lines = tuple(_line(offer, settings.providers.get(offer.info.name)) for offer in offers)
    return ModelsReport(models=lines, prices_date=price_list().date.isoformat())


def route_report(
    ask: CallNeeds, offers: Sequence[ProviderOffer], *, settings: Settings
) -> RouteReport:
    """Return the plan that a call of the default agent would get from these offers."""
    decision = decide(_of_default_agent(ask, settings), offers, policy=policy_of(settings))
    infos = {offer.info.name: offer.info for offer in offers}
    return RouteReport(
        candidates=tuple(
            RouteCandidate(
                provider=one.provider,
                model=one.model,
                rule=one.rule,
                price=price_of(
                    infos[one.provider], one.model, settings.providers.get(one.provider)
                ),
            )
            for one in decision.plan.candidates
        ),
        dropped=decision.plan.dropped,
        complexity=None if decision.complexity is None else round(decision.complexity, 3),
        task=decision.task,
        problem=decision.problem,
    )


def _of_default_agent(ask: CallNeeds, settings: Settings) -> CallNeeds:
    """Fill in what was left open; a tier that is asked about counts whatever the default is.

    Summaries have a model of their own, where one is set, and nobody's tier.
    """
    if ask.capability == "summarization" and settings.models.summaries is not None:
        return msgspec.structs.replace(ask, default_model=settings.models.summaries, tier=None)
    if ask.tier is not None:
        return ask
    agent = settings.agents[settings.default_agent]
    model = agent.model or settings.models.default
    return msgspec.structs.replace(ask, default_model=model, tier=agent.tier)


def _line(offer: ProviderOffer, table: ProviderSettings | None) -> ModelLine:
    info = offer.info
    return ModelLine(
        provider=info.name,
        model=info.model,
        available=offer.available,
        problem=None if offer.available else offer.problem or _missing_key(info.name, table),
        local=info.local,
        demonstration=info.demonstration,
        chat=info.chat,
        abilities=tuple(one for one in ABILITIES if has_ability(info, info.model, one)),
        context_tokens=context_size(info, info.model, table),
        price=price_of(info, info.model, table),
    )


def _missing_key(name: str, table: ProviderSettings | None) -> str | None:
    variable = variable_for(("providers", name, "api_key"))
    has_one = table is None or table.api_key is not None or table.oauth_token is not None
    return None if has_one or variable is None else f"no key: set {variable}"

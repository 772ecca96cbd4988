"""`hermes models` and `hermes route`: what there is to choose from, and what would be chosen.

Both take the offers as values: a running gateway asks its own providers, a command without one
makes them. Nothing here calls a model.
"""

from collections.abc import Sequence

import msgspec

from hermes.calls.deployments import DeploymentState
from hermes.config import ProviderSettings, Settings
from hermes.config.variables import variable_for
from hermes.ports.options import USUAL, Option
from hermes.ports.provider import ProviderInfo
from hermes.routing.decide import decide
from hermes.routing.fitness import has_ability
from hermes.routing.model_facts import FactSource, ModelFacts
from hermes.routing.plan import CallNeeds, DroppedProvider, ProviderOffer
from hermes.routing.policy import policy_of
from hermes.routing.prices import Ability, Price, price_list

ABILITIES: tuple[Ability, ...] = ("tools", "vision", "schema", "embeddings")


class ModelLine(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a provider; a `price` of None is unknown, which is not free.

    `is_own` is the model that answers if only the provider is named, `is_configured` says that the
    settings name it; without it only the service's own list does. `listed_at` is when the service
    listed this model itself (seconds since 1970), None if it never did. `resting` are the deployments
    that are left alone because they failed; with `is_cooling` these are all of them. `options` are
    the options of a request that the model has beside the usual ones.
    """

    provider: str
    model: str
    available: bool
    problem: str | None = None
    local: bool
    demonstration: bool
    chat: bool = True
    abilities: tuple[Ability, ...]
    context_tokens: int
    context_source: FactSource = "provider"
    price: Price | None
    is_own: bool = True
    is_configured: bool = True
    listed_at: float | None = None
    resting: tuple[DeploymentState, ...] = ()
    is_cooling: bool = False
    options: tuple[Option, ...] = ()


class ListedService(msgspec.Struct, frozen=True, kw_only=True):
    """A provider whose service listed so many models itself, and when (seconds since 1970)."""

    provider: str
    at: float
    models: int


class ModelsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every configured model, and those that services list; list prices are of `prices_date`."""

    models: tuple[ModelLine, ...]
    prices_date: str
    lists: tuple[ListedService, ...] = ()


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


def models_report(
    settings: Settings,
    offers: Sequence[ProviderOffer],
    facts: ModelFacts | None = None,
    *,
    resting: Sequence[DeploymentState] = (),
) -> ModelsReport:
    """Return every configured model of every offer, with what is known of it.

    Models that only the service's own list names come after them.
    """
    facts = facts or ModelFacts(settings.providers)
    lines = [
        _line(offer, model, table=settings.providers.get(offer.info.name), facts=facts)
        for offer in offers
        for model in _models_of(offer.info, facts)
    ]
    if resting:
        lines = [_with_resting(line, resting) for line in lines]
    return ModelsReport(
        models=tuple(lines),
        prices_date=price_list().date.isoformat(),
        lists=tuple(
            ListedService(provider=name, at=one.at, models=len(one.models))
            for name, one in facts.lists.items()
        ),
    )


def _with_resting(line: ModelLine, resting: Sequence[DeploymentState]) -> ModelLine:
    own = [one for one in resting if (one.provider, one.model) == (line.provider, line.model)]
    return msgspec.structs.replace(line, resting=tuple(own)) if own else line


def with_bare_names(lines: Sequence[ModelLine]) -> list[ModelLine]:
    """Return the lines whose model can be asked for by its name alone: the first of each name.

    A demonstration model is not asked for that way, and a name with a colon may mean a provider.
    """
    named: dict[str, ModelLine] = {}
    for line in lines:
        if line.model and ":" not in line.model and not line.demonstration:
            named.setdefault(line.model, line)
    return list(named.values())


def _models_of(info: ProviderInfo, facts: ModelFacts) -> tuple[str, ...]:
    configured = facts.models_of(info)
    return tuple(dict.fromkeys((*configured, *facts.listed_by(info.name))))


def route_report(
    ask: CallNeeds,
    offers: Sequence[ProviderOffer],
    *,
    settings: Settings,
    facts: ModelFacts | None = None,
) -> RouteReport:
    """Return the plan that a call of the default agent would get from these offers."""
    facts = facts or ModelFacts(settings.providers)
    policy = policy_of(settings, facts)
    decision = decide(_of_default_agent(ask, settings), offers, policy=policy)
    infos = {offer.info.name: offer.info for offer in offers}
    return RouteReport(
        candidates=tuple(
            RouteCandidate(
                provider=one.provider,
                model=one.model,
                rule=one.rule,
                price=facts.price_of(infos[one.provider], one.model),
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
    if ask.capability == "summarization":
        named, usual = ask.model or settings.models.summaries, settings.models.default
        return msgspec.structs.replace(ask, model=named, default_model=usual, tier=None)
    if ask.tier is not None:
        return ask
    agent = settings.agents[settings.default_agent]
    model = agent.model or settings.models.default
    return msgspec.structs.replace(ask, default_model=model, tier=agent.tier)


def _line(
    offer: ProviderOffer, model: str, *, table: ProviderSettings | None, facts: ModelFacts
) -> ModelLine:
    info = offer.info
    size = facts.context_size(info, model)
    listed = facts.lists.get(info.name)
    return ModelLine(
        provider=info.name,
        model=model,
        available=offer.available,
        problem=None if offer.available else offer.problem or _missing_key(info.name, table),
        local=info.local,
        demonstration=info.demonstration,
        chat=info.chat,
        abilities=tuple(one for one in ABILITIES if has_ability(info, model, one)),
        context_tokens=size.tokens,
        context_source=size.source,
        price=facts.price_of(info, model),
        is_own=model == info.model,
        is_configured=facts.serves(info, model),
        is_cooling=model in offer.cooling,
        listed_at=listed.at if listed is not None and model in listed.models else None,
        options=tuple(sorted(info.options.of(model) - USUAL)),
    )


def _missing_key(name: str, table: ProviderSettings | None) -> str | None:
    variable = variable_for(("providers", name, "api_key"))
    has_one = table is None or table.has_credential
    return None if has_one or variable is None else f"no key: set {variable}"

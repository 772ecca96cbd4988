"""Asks providers whether they can be called now, and makes the plan of a call."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from hermes.calls.agent_providers import providers_of
from hermes.errors import BadRequest, NotFound, PromptTooLong, ProviderError, ProviderUnavailable
from hermes.ports.options import Option
from hermes.ports.provider import Provider
from hermes.routing.catalogue import note_on
from hermes.routing.decide import AUTO, decide
from hermes.routing.fitness import has_ability, lacks_options, option_words
from hermes.routing.plan import CallNeeds, Candidate, CoolingPeriod, Plan, ProviderOffer
from hermes.routing.policy import Policy

_PROBE_S = 2.0
# Returns the models of a provider that an agent does not call now because they failed.
FindCooling = Callable[[str, str], Mapping[str, CoolingPeriod]]


def _nothing_cools(_provider: str, _agent: str) -> Mapping[str, CoolingPeriod]:
    return {}


class Planner:
    """Makes plans over the configured providers."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        policy: Policy,
        cooling: FindCooling = _nothing_cools,
    ) -> None:
        self._providers = providers
        self.policy = policy
        self._cooling = cooling
        # Takes the place of `models.default`, if an operator swapped it.
        self.default_model: str | None = None

    async def plan(self, ask: CallNeeds) -> Plan:
        """Return the plan of a call; raises `ProviderUnavailable` if no model can serve it.

        If the call names a model, it raises `NotFound` if no provider has it, and `BadRequest` if
        the model lacks what the call needs.
        """
        return self._planned(ask, await self._offers_for(ask))

    def _planned(self, ask: CallNeeds, offers: Sequence[ProviderOffer]) -> Plan:
        decision = decide(ask, offers, policy=self.policy)
        if decision.problem is None:
            return decision.plan
        if decision.is_unknown and ask.model is not None:
            raise NotFound(decision.problem)
        if ask.options and not decide(_without_options(ask), offers, policy=self.policy).problem:
            raise BadRequest(_nobody_has(ask, offers))
        if decision.is_unfit:
            raise BadRequest(decision.problem)
        if decision.most_tokens:
            raise PromptTooLong(decision.problem, needed=ask.tokens, limit=decision.most_tokens)
        raise ProviderUnavailable(decision.problem)

    async def plan_or(self, ask: CallNeeds, smaller: CallNeeds) -> tuple[Plan, bool]:
        """Return the plan of a call, and whether it is the plan of `smaller`.

        `smaller` is planned if only the demonstration model, or no model at all, can serve `ask`. A
        call with pictures that no model can serve still raises: its pictures can be described.
        """
        offers = await self._offers_for(ask)
        plan = decide(ask, offers, policy=self.policy).plan
        if not plan.candidates and ask.images:
            return self._planned(ask, offers), False
        if plan.candidates and not self.is_demonstration(plan):
            return plan, False
        return self._planned(smaller, offers), True

    def is_demonstration(self, plan: Plan) -> bool:
        """Return whether a plan tries the demonstration model first."""
        first = plan.candidates[0].provider
        # Not a generator, which costs more than the few providers.
        return first in [one.info.name for one in self._talking() if one.info.demonstration]

    def sees(self, plan: Plan) -> bool:
        """Return whether the first model of a plan can read pictures."""
        first = plan.candidates[0]
        return any(
            one.info.name == first.provider and has_ability(one.info, first.model, "vision")
            for one in self._talking()
        )

    def options_of(self, candidate: Candidate) -> frozenset[Option]:
        """Return the options that a candidate has."""
        one = self._providers.get(candidate.provider)
        return frozenset() if one is None else one.info.options.of(candidate.model)

    def note_on(self, plan: Plan) -> str:
        """Return a warning about the first model of a plan if it is unknown."""
        first = plan.candidates[0]
        info = self._providers[first.provider].info
        return note_on(first.model, info, self.policy.providers.get(first.provider))

    async def offers(self, agent: str = "") -> list[ProviderOffer]:
        """Ask every provider that an agent may call at once; return the offers in their order."""
        return await self._offers(tuple(providers_of(self._providers, agent).values()), agent)

    async def names(self) -> list[str]:
        """Return `provider:model` of every configured model that can be called now."""
        facts = self.policy.facts
        return [
            f"{offer.info.name}:{model}"
            for offer in await self.offers()
            if offer.available and offer.info.chat
            for model in facts.models_of(offer.info)
        ]

    def _talking(self, agent: str = "") -> list[Provider]:
        """Return the providers that answer; those that only make embeddings need not be asked."""
        return [one for one in providers_of(self._providers, agent).values() if one.info.chat]

    async def _offers_for(self, ask: CallNeeds) -> list[ProviderOffer]:
        if ask.capability == "embeddings":
            return await self.offers(ask.agent)
        return await self._offers(self._talking(ask.agent), ask.agent)

    async def _offers(self, providers: Sequence[Provider], agent: str) -> list[ProviderOffer]:
        offers = await _offers(providers)
        for place, offer in enumerate(offers):
            if cooling := self._cooling(offer.info.name, agent):
                offers[place] = msgspec.structs.replace(offer, cooling=cooling)
        return offers


def _without_options(ask: CallNeeds) -> CallNeeds:
    return msgspec.structs.replace(ask, options=())


def _nobody_has(ask: CallNeeds, offers: Sequence[ProviderOffer]) -> str:
    """Return which options cannot be honoured, and the models that could."""
    name = ask.model or AUTO
    who = "no model that may answer has" if name == AUTO else f"{name[:80]!r} does not have"
    able = [
        f"{one.info.name}:{one.info.model}"
        for one in offers
        if one.available and lacks_options(one.info, one.info.model, ask.options) is None
    ]
    # What every model has is not the reason.
    rare = tuple(
        one
        for one in ask.options
        if any(lacks_options(offer.info, offer.info.model, (one,)) for offer in offers)
    )
    instead = f"ask for {' or '.join(able)}" if able else "no configured model has it"
    return f"{who} {option_words(rare or ask.options)}; leave it out, or {instead}."


async def _offers(providers: Sequence[Provider]) -> list[ProviderOffer]:
    infos = [one.info for one in providers]
    slow = len([info for info in infos if info.probed])
    if slow > 1:
        return list(await asyncio.gather(*(ask_provider(one) for one in providers)))
    if slow == 0:
        # Every call asks, and most have only such providers.
        return [
            ProviderOffer(info, await one.available())
            for one, info in zip(providers, infos, strict=True)
        ]
    return [await ask_provider(one) for one in providers]


async def ask_provider(provider: Provider) -> ProviderOffer:
    """Ask a provider whether it can be called now; it has two seconds to answer."""
    if not provider.info.probed:
        return ProviderOffer(provider.info, await provider.available())
    try:
        async with asyncio.timeout(_PROBE_S):
            return ProviderOffer(provider.info, await provider.available())
    except TimeoutError:
        return ProviderOffer(
            provider.info, available=False, problem=f"no response in {_PROBE_S:g} s"
        )
    except ProviderError as error:
        return ProviderOffer(provider.info, available=False, problem=str(error))

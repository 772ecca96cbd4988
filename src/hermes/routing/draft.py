"""A plan under construction: collects candidates and reasons, and resolves names."""

from collections.abc import Sequence

from hermes.config.entries import LOCAL
from hermes.config.variables import variable_for
from hermes.routing.fitness import AT_HOME, needs_of, reason_unfit
from hermes.routing.plan import CallNeeds, Candidate, DroppedProvider, Plan, ProviderOffer
from hermes.routing.policy import Policy
from hermes.routing.prices import is_service, known_model

Found = list[tuple[ProviderOffer, str]]
"""Offers with the model that is meant at each; an empty one is the provider's own."""


class PlanDraft:
    """One decision in progress; the first rule that names a model adds or drops it."""

    __slots__ = (
        "_candidates",
        "_cooling",
        "_decided",
        "_dropped",
        "_is_picky",
        "_needs",
        "ask",
        "by_name",
        "complexity",
        "demonstrations",
        "local",
        "offers",
        "policy",
        "task",
    )

    def __init__(self, ask: CallNeeds, offers: Sequence[ProviderOffer], *, policy: Policy) -> None:
        self.ask = ask
        self.policy = policy
        self.offers: list[ProviderOffer] = []
        self.demonstrations: list[ProviderOffer] = []
        self.local: list[ProviderOffer] = []
        self.by_name: dict[str, ProviderOffer] = {}
        self.complexity: float | None = None
        self.task: str | None = None
        self._needs = needs_of(ask)
        # Most calls need nothing that only some models have.
        self._is_picky = (
            bool(self._needs or ask.options or ask.tokens)
            or policy.offline
            or ask.capability in AT_HOME
        )
        self._candidates: list[Candidate] = []
        self._cooling: list[Candidate] = []
        self._decided: set[tuple[str, str]] = set()
        self._dropped: dict[str, str] = {}
        for offer in offers:
            info = offer.info
            self.by_name[info.name] = offer
            if not info.chat and ask.capability != "embeddings":
                continue
            if info.demonstration:
                self.demonstrations.append(offer)
                continue
            self.offers.append(offer)
            if info.local:
                self.local.append(offer)

    @property
    def is_empty(self) -> bool:
        """Whether there is no candidate yet, not even one that is left alone for a while."""
        return not (self._candidates or self._cooling)

    def add(self, offer: ProviderOffer, rule: str, *, model: str = "") -> None:
        """Add a model to the plan if it can serve the call, else record why not."""
        info = offer.info
        name = info.name
        model = model or info.model
        if (name, model) in self._decided:
            return
        self._decided.add((name, model))
        if self._is_picky or not (offer.available and info.chat):
            needs, policy = self._needs, self.policy
            reason = reason_unfit(offer, model, ask=self.ask, needs=needs, policy=policy)
            if reason is not None:
                self._dropped.setdefault(name, reason)
                return
        if offer.cooling and model in offer.cooling:
            self._cooling.append(Candidate(name, model, rule))
            self._dropped.setdefault(name, offer.cooling[model].words)
            return
        self._candidates.append(Candidate(name, model, rule))

    def add_target(self, target: str, rule: str) -> None:
        """Add every model that a target refers to, or record that there is none."""
        found = self.find(target)
        for offer, model in found:
            self.add(offer, rule, model=model)
        if not found:
            self.drop(target, self._nobody(target))

    def unnamed(self) -> list[ProviderOffer]:
        """Return the offers whose own model no rule has named yet."""
        decided = self._decided
        return [one for one in self.offers if (one.info.name, one.info.model) not in decided]

    def drop(self, name: str, reason: str) -> None:
        """Record why something is not tried, unless a reason is recorded already."""
        self._dropped.setdefault(name, reason)

    @property
    def dropped(self) -> tuple[DroppedProvider, ...]:
        """What is not tried so far, with its reason."""
        return tuple(DroppedProvider(*item) for item in self._dropped.items())

    def find(self, target: str) -> Found:
        """Return the models that a target of a chain or a task route refers to, in order.

        `local` is any model on this machine, even if a provider has that name; a target never
        refers to the demonstration model.
        """
        if target == LOCAL:
            return [(offer, "") for offer in self.local]
        found = self.find_named(self.policy.models.get(target, target))
        return [] if found and found[0][0].info.demonstration else found

    def find_named(self, name: str) -> Found:
        """Return the models behind a provider, an alias, `provider:model` or a model id."""
        asked, _, model = name.partition(":")
        offer = self.by_name.get(self.policy.provider_of(asked))
        if offer is not None:
            return [(offer, model)]
        facts = self.policy.facts
        own = [offer for offer in self.offers if facts.serves(offer.info, name)]
        if not own and facts.lists:
            own = [offer for offer in self.offers if name in facts.listed_by(offer.info.name)]
        known = None if own else known_model(name)
        if known is not None:
            kind_of = self.policy.kind_of
            named = [(offer, offer.info.name) for offer in self.offers]
            own = [offer for offer, by in named if is_service(known, by, kind_of(by))]
        return [(offer, name) for offer in own]

    def _nobody(self, target: str) -> str:
        if target == LOCAL:
            return "no model on this machine is configured"
        model = self.policy.models.get(target, target)
        known = known_model(model)
        variable = known and variable_for(("providers", known.service, "api_key"))
        return f"no provider serves {model}" + (f"; set {variable}" if variable else "")

    def finish(self, otherwise: str) -> Plan:
        """Return the plan; providers that no rule named are dropped with the reason `otherwise`."""
        for offer in self.unnamed():
            self.drop(offer.info.name, otherwise)
        if not self._candidates:
            # Better a service that failed lately than none: the call waits for it, or says until when.
            self._candidates = self._cooling
        if not self._dropped:
            return Plan(tuple(self._candidates))
        taken = {candidate.provider for candidate in self._candidates}
        dropped = [DroppedProvider(*item) for item in self._dropped.items() if item[0] not in taken]
        return Plan(tuple(self._candidates), tuple(dropped))

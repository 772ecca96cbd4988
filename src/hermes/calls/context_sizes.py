"""How many tokens the models of this gateway hold, and what their services taught about it.

A service that refuses a prompt as too long tells that its model holds less than was believed; that
is remembered in memory until the process ends.
"""

from collections.abc import Mapping

from hermes.ports.provider import Provider
from hermes.routing.model_facts import ModelFacts
from hermes.routing.plan import Candidate
from hermes.routing.prices import undated

_UNKNOWN = 8_192
# What is left of a size that a service refused.
_LESS = 0.6
_LEAST = 1_024
_MOST_LEARNT = 1_000


class ContextSizes:
    """The context sizes of candidates, in tokens."""

    def __init__(self, providers: Mapping[str, Provider], facts: ModelFacts) -> None:
        self._providers = providers
        self._facts = facts
        self._learnt: dict[tuple[str, str], int] = {}

    def of(self, candidate: Candidate) -> int:
        """Return how many tokens a candidate holds."""
        name, model = candidate.provider, candidate.model
        provider = self._providers.get(name)
        if provider is None:
            return _UNKNOWN
        info = provider.info
        if undated(model) == undated(info.model):
            # Services answer with the dated name of the model that they were asked for.
            model = info.model
        size = self._facts.context_of(info, model)
        return min(size, self._learnt.get((name, model), size)) if self._learnt else size

    def learn(self, candidate: Candidate, refused: int) -> None:
        """Remember that a prompt of about `refused` tokens was too long for a candidate."""
        if len(self._learnt) < _MOST_LEARNT:
            held = max(_LEAST, min(int(refused * _LESS), int(self.of(candidate) * _LESS)))
            self._learnt[candidate.provider, candidate.model] = held

    @property
    def largest(self) -> int:
        """The largest context of a configured model."""
        sizes = [
            self._facts.context_of(one.info, model)
            for one in self._providers.values()
            if one.info.chat
            for model in self._facts.models_of(one.info)
        ]
        return max(sizes, default=_UNKNOWN)

"""How many tokens the models of this gateway hold, and what their services taught about it.

A service that refuses a prompt as too long tells that its model holds less than was believed. That is
remembered in memory, and only for the person whose prompt it was: nobody can make a model small for
others.
"""

from collections.abc import Iterable, Mapping

import structlog

from hermes.ports.model_lists import ServiceList
from hermes.ports.provider import Provider, ProviderInfo
from hermes.routing.model_facts import ModelFacts
from hermes.routing.plan import Candidate
from hermes.routing.prices import undated

_log = structlog.get_logger(__name__)
_UNKNOWN = 8_192
# What is left of a size that a service refused.
_LESS = 0.6
_LEAST = 2_048
_MOST_LEARNT = 1_000


class ContextSizes:
    """The context sizes of candidates, in tokens."""

    def __init__(self, providers: Mapping[str, Provider], facts: ModelFacts) -> None:
        self._providers = providers
        self._facts = facts
        self._learnt: dict[tuple[str, str, str], int] = {}
        self._known: tuple[list[ProviderInfo], Mapping[str, ServiceList]] | None = None
        self._largest = _UNKNOWN

    def of(self, candidate: Candidate, person_id: str) -> int:
        """Return how many tokens a candidate holds, by what its service told this person."""
        provider = self._providers.get(candidate.provider)
        if provider is None:
            return _UNKNOWN
        info, model = provider.info, candidate.model
        if undated(model) == undated(info.model):
            # Services answer with the dated name of the model that they were asked for.
            model = info.model
        size = self._facts.context_of(info, model)
        return (
            min(size, self._learnt.get(_key(candidate, person_id), size)) if self._learnt else size
        )

    def learn(self, candidate: Candidate, refused: int, *, person_id: str) -> None:
        """Remember that a person's prompt of about `refused` tokens was too long for a candidate.

        A prompt that is larger than what is known by now teaches nothing: it was sent before.
        """
        key, believed = _key(candidate, person_id), self.of(candidate, person_id)
        now = max(_LEAST, int(refused * _LESS))
        if refused > believed or now >= believed:
            return
        if len(self._learnt) >= _MOST_LEARNT and key not in self._learnt:
            del self._learnt[next(iter(self._learnt))]
        self._learnt[key] = now
        name = f"{candidate.provider}:{candidate.model}"
        _log.warning("context_learnt", model=name, refused=refused, believed=believed, now=now)

    @property
    def largest(self) -> int:
        """The largest context of a configured model; every turn asks for it."""
        known = [one.info for one in self._providers.values()], self._facts.lists
        if known != self._known:
            self._known, self._largest = known, self._largest_of(known[0])
        return self._largest

    def _largest_of(self, infos: Iterable[ProviderInfo]) -> int:
        sizes = [
            self._facts.context_of(info, model)
            for info in infos
            if info.chat
            for model in self._facts.models_of(info)
        ]
        return max(sizes, default=_UNKNOWN)


def _key(candidate: Candidate, person_id: str) -> tuple[str, str, str]:
    return candidate.provider, undated(candidate.model), person_id

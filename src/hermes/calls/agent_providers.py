"""The model services of a gateway, as each agent may call them: some have keys of their own.

Between the stored secrets, which decide who has which key, and the planner and the calls, which ask
for the services of an agent. What is replaced here counts from the next call on.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping

import msgspec

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.ports.provider import ModelEvent, ModelRequest, Provider, ProviderInfo

_NO_AGENTS: Mapping[str, Mapping[str, Provider]] = {}


class AgentProviders(Mapping[str, Provider]):
    """The providers by name as everybody has them; `of` returns those of one agent.

    `version` changes with every replacement.
    """

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._shared = providers
        self._own = _NO_AGENTS
        self.version = 0

    def __getitem__(self, name: str) -> Provider:
        return self._shared[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)

    def of(self, agent: str) -> Mapping[str, Provider]:
        """Return the providers of an agent, all of them."""
        return self._own.get(agent, self._shared)

    def replace(
        self, shared: Mapping[str, Provider], own: Mapping[str, Mapping[str, Provider]]
    ) -> None:
        """Use these from now on; `own` are the providers of single agents that differ."""
        self._shared = shared
        self._own = {agent: {**shared, **theirs} for agent, theirs in own.items()}
        self.version += 1


def providers_of(providers: Mapping[str, Provider], agent: str) -> Mapping[str, Provider]:
    """Return the providers that an agent calls."""
    return providers.of(agent) if isinstance(providers, AgentProviders) else providers


class HiddenProvider:
    """A provider that an agent must not call; routing leaves it out with the reason."""

    def __init__(self, info: ProviderInfo, problem: str) -> None:
        # Whoever is asked may answer with a problem.
        self.info = msgspec.structs.replace(info, probed=True, embeddings=False)
        self._problem = problem

    async def available(self) -> bool:
        """Raise the reason."""
        raise ProviderUnavailable(self._problem)

    async def stream(self, _request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Raise the reason: a plan from before may still name the provider."""
        for event in self._nothing():
            yield event

    def _nothing(self) -> Iterator[ModelEvent]:
        raise ProviderRejected(f"{self.info.name}: {self._problem}")

    async def close(self) -> None:
        """Release nothing."""

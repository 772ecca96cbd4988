"""The model services of a home, asked whether they can be called; for the running gateway and for
commands while none runs.
"""

import asyncio
from collections.abc import Mapping

from hermes.app.adapters import make_client, make_providers, make_registry
from hermes.calls.planner import ask_provider
from hermes.config import Loaded
from hermes.control.status import ProviderStatus
from hermes.ports.provider import Provider
from hermes.routing.plan import ProviderOffer


async def ask_all(providers: Mapping[str, Provider]) -> list[ProviderOffer]:
    """Ask every provider at once, in their order."""
    return list(await asyncio.gather(*(ask_provider(one) for one in providers.values())))


async def provider_states(providers: Mapping[str, Provider]) -> tuple[ProviderStatus, ...]:
    """Return how every provider stands, in their order."""
    return tuple(
        [
            ProviderStatus(
                name=one.info.name,
                model=one.info.model,
                available=await one.available(),
                demonstration=one.info.demonstration,
            )
            for one in providers.values()
        ]
    )


async def offers(loaded: Loaded) -> list[ProviderOffer]:
    """Make the configured providers, ask them, and close them again."""
    settings = loaded.settings
    client = make_client(settings)
    try:
        registry = make_registry(settings, home=loaded.home, on_status=_ignore)
        providers = make_providers(settings, registry, client=client)
        try:
            return await ask_all(providers)
        finally:
            await asyncio.gather(*(provider.close() for provider in providers.values()))
    finally:
        await client.close()


def _ignore(_: str) -> None:
    """Nobody watches: a model that is only asked about is not loaded."""

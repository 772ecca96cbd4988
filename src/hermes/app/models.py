"""Checks whether the model services of a home can be called, for commands without a gateway."""

from hermes.app.adapters import add_providers, make_client, make_registry
from hermes.app.lifecycle import stop_all
from hermes.config import LoadedConfig
from hermes.control.gateway_reports import ask_all
from hermes.ports.provider import Provider
from hermes.routing.plan import ProviderOffer


async def offers(loaded: LoadedConfig) -> list[ProviderOffer]:
    """Build the configured providers, ask them, and close them again."""
    settings = loaded.settings
    client = make_client(settings)
    try:
        registry = make_registry(settings, home=loaded.home, on_status=_ignore)
        providers: dict[str, Provider] = {}
        try:
            add_providers(providers, settings, registry=registry, client=client)
            return await ask_all(providers)
        finally:
            await stop_all(provider.close() for provider in providers.values())
    finally:
        await client.close()


def _ignore(_: str) -> None:
    """Nothing to report: a model that is only checked is not loaded."""

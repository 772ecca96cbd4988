"""The model services of a home, asked whether they can be called, for commands while no gateway runs."""

from hermes.app.adapters import add_providers, make_client, make_registry
from hermes.app.lifecycle import stop_all
from hermes.config import LoadedConfig
from hermes.control.gateway_reports import ask_all
from hermes.ports.provider import Provider
from hermes.routing.plan import ProviderOffer


async def offers(loaded: LoadedConfig) -> list[ProviderOffer]:
    """Make the configured providers, ask them, and close them again."""
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
    """Nobody watches: a model that is only asked about is not loaded."""

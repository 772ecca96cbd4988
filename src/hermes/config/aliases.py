"""Resolves the other names of providers to a provider; pure.

Part of config, because the checks at start and the routing policy must resolve a name alike.
"""

from collections.abc import Mapping

from hermes.config.model_settings import AliasSettings, Credential, ProviderSettings

Providers = Mapping[str, ProviderSettings]
Aliases = Mapping[str, AliasSettings]


def alias_path(name: str, providers: Providers, *, aliases: Aliases) -> tuple[str, ...]:
    """Return the names from `name` to where they lead; a cycle ends with a name it had before.

    A provider's own name always means that provider.
    """
    path = [name]
    while path[-1] not in providers and path[-1] in aliases:
        following = aliases[path[-1]].provider
        if following is None:
            break
        path.append(following)
        if following in path[:-1]:
            break
    return tuple(path)


def is_cycle(path: tuple[str, ...]) -> bool:
    """Return whether a path came back to one of its own names."""
    return path[-1] in path[:-1]


def provider_meant(name: str, providers: Providers, *, aliases: Aliases) -> str:
    """Return the provider behind a name; a name that leads nowhere is returned as it ends.

    The first alias on the way that names a credential picks, among the enabled providers of the
    same kind, the first that has it; if none has it, the provider at the end stays.
    """
    path = alias_path(name, providers, aliases=aliases)
    end = path[-1]
    provider = providers.get(end)
    wants = [aliases[step].credential for step in path[:-1] if aliases[step].credential != "any"]
    if provider is None or not wants or has_credential(provider, wants[0]):
        return end
    for other, table in providers.items():
        if table.enabled and table.kind == provider.kind and has_credential(table, wants[0]):
            return other
    return end


def has_credential(provider: ProviderSettings, credential: Credential) -> bool:
    """Return whether a provider is configured with a credential."""
    if credential == "oauth_token":
        return provider.oauth_token is not None
    if credential == "api_key":
        return provider.has_key
    return True

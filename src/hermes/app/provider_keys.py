"""Gives stored secrets to the model services: to all calls, and to those of single agents.

A change makes only the services anew whose credentials it changes; calls that run keep the old one.
"""

from collections.abc import Callable, Mapping

import structlog

from hermes.agents.secrets import Secrets
from hermes.calls.agent_providers import AgentProviders, HiddenProvider
from hermes.calls.deployments import DeployedProvider, Deployment
from hermes.config import ProviderSettings
from hermes.config.provider_keys import CredentialField, credential_of, with_credentials
from hermes.errors import ConfigurationError
from hermes.ports.provider import Provider
from hermes.ports.secrets import EVERY_AGENT

_log = structlog.get_logger(__name__)
Make = Callable[[str, ProviderSettings], Provider]
# The agent, the provider and its credentials.
_Name = tuple[str, str, tuple[tuple[str, str], ...]]
_Made = Mapping[_Name, Provider]
# The stored credentials of one provider, by field.
_Given = Mapping[CredentialField, str]


class ProviderKeys:
    """Makes providers with stored credentials; `tables` are all that could be called with a key.

    `configured` are those that were made from the configuration alone.
    """

    def __init__(
        self,
        tables: Mapping[str, ProviderSettings],
        providers: AgentProviders,
        *,
        make: Make,
        secrets: Secrets,
    ) -> None:
        self._tables = tables
        self._providers = providers
        self._configured = dict(providers)
        self._make = make
        self._secrets = secrets
        self._made: dict[_Name, Provider] = {}
        # Providers whose key was replaced: a call that runs may still use them.
        self._replaced: list[Provider] = []

    def apply(self) -> None:
        """Use the stored secrets as they are now."""
        before, self._made = self._made, {}
        shared = self._shared(before)
        own = {agent: self._own(agent, shared, before) for agent in self._secrets.agents()}
        self._replaced += [one for key, one in before.items() if key not in self._made]
        self._providers.replace(shared, {agent: theirs for agent, theirs in own.items() if theirs})

    async def close(self) -> None:
        """Release what the providers with stored keys hold."""
        for one in (*self._replaced, *self._made.values()):
            await one.close()

    def _shared(self, before: _Made) -> dict[str, Provider]:
        """Return the providers of every agent, in the order of the tables."""
        given = self._given(EVERY_AGENT)
        named = given.keys() | {
            name for agent in self._secrets.agents() for name in self._given(agent)
        }
        shared = {
            name: self._one(name, table, given.get(name, {}), before=before)
            for name, table in self._tables.items()
            if table.enabled and (name in self._configured or name in named)
        }
        return {**shared, **{n: one for n, one in self._configured.items() if n not in shared}}

    def _own(
        self, agent: str, shared: Mapping[str, Provider], before: _Made
    ) -> dict[str, Provider]:
        """Return the providers that an agent calls with its own key, or must not call."""
        return {
            name: self._of_agent(agent, name, given, shared=shared[name], before=before)
            for name, given in self._given(agent).items()
            if name in shared
        }

    def _one(
        self,
        name: str,
        table: ProviderSettings,
        given: _Given,
        *,
        before: _Made,
    ) -> Provider:
        """Return a provider as every agent calls it; without a stored key as it is configured."""
        if not given and name in self._configured:
            return self._configured[name]
        try:
            return self._kept(EVERY_AGENT, name, table, given=given, before=before)
        except ConfigurationError as error:
            _log.error("secret_unusable", provider=name, problem=str(error))
            return self._configured.get(name) or self._make(name, table)

    def _of_agent(
        self,
        agent: str,
        name: str,
        given: _Given,
        *,
        shared: Provider,
        before: _Made,
    ) -> Provider:
        # Its deployments have keys of the gateway.
        shares = with_credentials(self._tables[name], self._given(EVERY_AGENT).get(name, {}))
        table = with_credentials(shares.model_copy(update={"deployments": {}}), given)
        if not table.has_credential:
            return HiddenProvider(
                shared.info, f"the agent {agent} hides its key by an empty secret"
            )
        try:
            made = self._kept(agent, name, table, given=given, before=before)
        except ConfigurationError as error:
            _log.error("secret_unusable", provider=name, agent=agent, problem=str(error))
            return HiddenProvider(shared.info, f"the secret of the agent {agent} is unusable")
        return DeployedProvider([Deployment(f"agent {agent}", 1, made)])

    def _kept(
        self,
        agent: str,
        name: str,
        table: ProviderSettings,
        *,
        given: _Given,
        before: _Made,
    ) -> Provider:
        """Return the provider of these credentials, the one from before if they are the same."""
        own = with_credentials(table, given)
        secret = tuple(
            (field, value.get_secret_value())
            for field, value in (("api_key", own.api_key), ("oauth_token", own.oauth_token))
            if value is not None
        )
        key = (agent, name, secret)
        made = before.get(key) or self._make(name, own)
        self._made[key] = made
        return made

    def _given(self, agent: str) -> dict[str, dict[CredentialField, str]]:
        """Return the stored credentials of an agent by provider."""
        given: dict[str, dict[CredentialField, str]] = {}
        for name, value in self._secrets.of(agent).items():
            found = credential_of(name, self._tables)
            if found is not None:
                given.setdefault(found[0], {})[found[1]] = value
        return given

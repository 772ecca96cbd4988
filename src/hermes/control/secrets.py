"""Secrets as operators set, list and delete them; nobody reads a value back.

A global secret is the owner's, because all model calls of the gateway may use it; one of a single
agent only concerns that agent's own calls and tools.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import msgspec
import structlog

from hermes.config.provider_keys import credential_of, is_credential, is_platform_variable
from hermes.errors import BadRequest, NotFound
from hermes.ports.clock import Clock
from hermes.ports.secrets import EVERY_AGENT, SecretStore, StoredSecret

_log = structlog.get_logger(__name__)
MOST_SECRETS: Final = 1_000
_MOST_BYTES = 65_536
# Values of fewer characters are not masked: they would mask ordinary words.
_SHORTEST_MASKED = 8
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
# Uses the secrets as they are now.
Apply = Callable[[], Awaitable[None]]


def check_name(name: str) -> None:
    """Raise `BadRequest` if a secret cannot have this name."""
    # The name is not repeated: it may be the value, given in the wrong place.
    if not _NAME.fullmatch(name):
        raise BadRequest(
            "The name (`key`) of a secret is up to 64 capital letters, digits and _, such as "
            "GITHUB_TOKEN or ANTHROPIC_API_KEY."
        )


async def apply_nothing() -> None:
    """Do nothing: no gateway runs that could use secrets."""


class NewSecret(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A global secret: its name, which is that of the variable that it stands for, and its value."""

    key: str
    value: str
    by: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.key!r}, value=****)"


class NewAgentSecret(NewSecret, frozen=True, kw_only=True, omit_defaults=True):
    """A secret of one agent; an empty value hides the global one from it."""

    id: str

    def __repr__(self) -> str:
        return NewSecret.__repr__(self)


class SecretEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A global secret to delete."""

    key: str
    by: str = ""


class AgentSecretEnd(SecretEnd, frozen=True, kw_only=True, omit_defaults=True):
    """A secret of an agent to delete."""

    id: str


class AgentSecretsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent whose secrets to list."""

    id: str


class SecretLine(msgspec.Struct, frozen=True, kw_only=True):
    """A secret without its value; `hash` changes with the value, and tells nothing about it.

    `agent` is empty for a global one. One that `hides` is an agent's empty value. `used_by` are the
    model services and MCP servers that it is for; tools may use any.
    """

    key: str
    agent: str
    hash: str
    set_at: float
    set_by: str
    hides: bool
    used_by: tuple[str, ...] = ()


class SecretsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets by name."""

    secrets: tuple[SecretLine, ...] = ()


class SetSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that is set now; `note` says what may surprise about it."""

    secret: SecretLine
    note: str = ""


class DroppedSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that is deleted now."""

    key: str
    agent: str = EVERY_AGENT


class SecretOperations:
    """Sets, lists and deletes secrets.

    `agents` returns the key of an agent by any of its names, or None. `providers` are the model services that a secret can
    be the key of, `servers` returns the MCP servers whose settings contain a name.
    """

    def __init__(
        self,
        store: SecretStore,
        *,
        agents: Callable[[str], Awaitable[str | None]],
        providers: Iterable[str],
        servers: Mapping[str, tuple[str, ...]],
        clock: Clock,
        apply: Apply = apply_nothing,
    ) -> None:
        self._store = store
        self._agents = agents
        self._providers = tuple(providers)
        self._servers = servers
        self._clock = clock
        self._apply = apply

    async def list(self) -> SecretsReport:
        """Return the global secrets."""
        return await self._listed(EVERY_AGENT)

    async def list_of_agent(self, ask: AgentSecretsAsk) -> SecretsReport:
        """Return the secrets of an agent."""
        return await self._listed(await self._agent(ask.id))

    async def set(self, new: NewSecret) -> SetSecret:
        """Set a global secret; model calls, MCP servers and tools use it at once."""
        if not new.value:
            raise BadRequest(
                "The value is empty. Delete a global secret with `hermes secrets delete`; an empty value "
                "only hides it from one agent."
            )
        return await self._put(new, EVERY_AGENT)

    async def set_of_agent(self, new: NewAgentSecret) -> SetSecret:
        """Set a secret of an agent, which comes before the global one; an empty value hides that."""
        return await self._put(new, await self._agent(new.id))

    async def delete(self, end: SecretEnd) -> DroppedSecret:
        """Delete a global secret."""
        return await self._drop(end, EVERY_AGENT)

    async def delete_of_agent(self, end: AgentSecretEnd) -> DroppedSecret:
        """Delete a secret of an agent; from then on the global one counts for it again."""
        return await self._drop(end, await self._agent(end.id))

    async def _listed(self, agent: str) -> SecretsReport:
        return SecretsReport(secrets=tuple(map(self._line, await self._store.list(agent))))

    async def _put(self, new: NewSecret, agent: str) -> SetSecret:
        self._check(new)
        kept = await self._store.put(
            new.key,
            new.value,
            agent=agent,
            at=self._clock.now(),
            by=new.by,
            most=MOST_SECRETS,
        )
        _log.info("secret_set", name=kept.name, agent=agent, hash=kept.hash, by=new.by)
        await self._apply()
        return SetSecret(secret=self._line(kept), note=_note(new))

    async def _drop(self, end: SecretEnd, agent: str) -> DroppedSecret:
        if not await self._store.drop(end.key, agent=agent):
            whose = f"the agent {agent}" if agent else "the gateway"
            raise NotFound(
                f"There is no secret {end.key[:64]!r} of {whose}: `hermes secrets list` shows those "
                "that are set."
            )
        _log.info("secret_deleted", name=end.key, agent=agent, by=end.by)
        await self._apply()
        return DroppedSecret(key=end.key, agent=agent)

    async def _agent(self, name: str) -> str:
        key = await self._agents(name)
        if key is None:
            raise NotFound(
                f"There is no agent {name[:64]!r}: `hermes agents list` shows those that there are."
            )
        return key

    def _check(self, new: NewSecret) -> None:
        check_name(new.key)
        if len(new.value.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            raise BadRequest(f"The value has more than {_MOST_BYTES:,} bytes.")
        if "\0" in new.value or not _is_text(new.value):
            raise BadRequest("The value contains a character that no variable can have.")
        meant = credential_of(new.key, self._providers)
        if meant is not None and new.value and not is_credential(new.value):
            raise BadRequest(
                f"The value contains a space, a line break or a letter that is not ASCII, and the key "
                f"of {meant[0]} is one word: copy it again without anything around it."
            )

    def _line(self, secret: StoredSecret) -> SecretLine:
        return SecretLine(
            key=secret.name,
            agent=secret.agent,
            hash=secret.hash,
            set_at=secret.set_at,
            set_by=secret.set_by,
            hides=not secret.hash,
            used_by=tuple(self._users(secret)),
        )

    def _users(self, secret: StoredSecret) -> Iterable[str]:
        meant = credential_of(secret.name, self._providers)
        if meant is not None:
            yield f"provider {meant[0]}"
        # A server works for every agent, so only global secrets reach it.
        if secret.agent == EVERY_AGENT:
            yield from (f"MCP server {name}" for name in self._servers.get(secret.name, ()))


def _is_text(value: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _note(new: NewSecret) -> str:
    if is_platform_variable(new.key):
        return (
            "Chat platforms do not read secrets: their tokens are in .env, config.yaml or the "
            "environment."
        )
    if not new.value:
        return ""
    if len(new.value) < _SHORTEST_MASKED:
        return f"A value of fewer than {_SHORTEST_MASKED} characters is not masked in logs and results."
    return ""

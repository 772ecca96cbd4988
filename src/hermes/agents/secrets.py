"""The stored secrets of this process, decrypted: what model services, MCP servers and tools ask for.

They are in memory for as long as the process runs, because their values are masked everywhere. A
change is used here before its order returns, and in other processes on the store when they hear of it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import msgspec
import structlog

from hermes.agents.secret_mask import SecretMask
from hermes.errors import HermesError
from hermes.ports.feed import ChangeFeed
from hermes.ports.secrets import EVERY_AGENT, GRANTS_OWNER, SecretStore, SecretValues

_log = structlog.get_logger(__name__)
# Values that were replaced are still masked: a call that uses the old key may fail with it in its error.
_MOST_RETIRED = 200
_RETRY_S = 5.0
# What is secret in a grant of OAuth.
_TOKENS = ("access_token", "refresh_token", "client_secret")
Variable = Callable[[str], str | None]
Changed = Callable[[], None]
Followed = Callable[[], Awaitable[None]]


def _no_variable(_name: str) -> str | None:
    return None


class Secrets:
    """Reads secrets; `variable` is what the environment and `.env` say, where nothing is stored."""

    def __init__(
        self,
        store: SecretStore,
        *,
        feed: ChangeFeed,
        mask: SecretMask | None = None,
        variable: Variable = _no_variable,
    ) -> None:
        self.mask = mask or SecretMask()
        self._store = store
        self._feed = feed
        self._variable = variable
        self._values: SecretValues = {}
        self._retired: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._listeners: list[Changed] = []
        self._followers: list[Followed] = []
        # How many changes were heard of, and with which of them the values were read.
        self._changes = 1
        self._used = 0
        self._changed = asyncio.Event()
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        feed.on("secrets", self._hear)

    def get(self, name: str, *, agent: str | None) -> str | None:
        """Return the value for an agent, or for the gateway itself.

        The agent's own value counts first, and hides all others if it is empty; then the global one,
        then the variable of the process.
        """
        own = None if agent is None else self._values.get((agent, name))
        if own is not None:
            return own or None
        stored = self._values.get((EVERY_AGENT, name))
        return stored or self._variable(name)

    def of(self, agent: str) -> Mapping[str, str]:
        """Return what is stored for an agent, or for every agent, by name."""
        return {name: value for (owner, name), value in self._values.items() if owner == agent}

    def agents(self) -> tuple[str, ...]:
        """Return the agents that have secrets of their own."""
        owners = {owner for owner, _ in self._values}
        return tuple(sorted(one for one in owners if one and not one.startswith(GRANTS_OWNER)))

    def on_change(self, listener: Changed) -> None:
        """Call a function after every change of the values; it must not wait."""
        self._listeners.append(listener)

    def follow(self, follower: Followed) -> None:
        """Await a function some time after every change of the values."""
        self._followers.append(follower)

    async def refresh(self) -> None:
        """Read the values again if they have changed."""
        async with self._reading:
            while self._used != self._changes:
                changes = self._changes
                values = await self._store.values()
                self._retire(values)
                # Off the event loop: a thousand values take a tenth of a second. They are used when
                # they are masked.
                named = (*self._retired, *masked_pairs(values))
                await asyncio.to_thread(self.mask.use, named)
                self._used, self._values = changes, values
                for listener in self._listeners:
                    listener()

    def start(self) -> None:
        """Follow changes from now on, also those of other processes."""
        self._task = asyncio.create_task(self._watch(), name="secrets")

    async def stop(self) -> None:
        """Follow no more changes."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _hear(self, _agent: str) -> None:
        self._changes += 1
        self._changed.set()

    def _retire(self, values: SecretValues) -> None:
        """Go on masking what these values replace."""
        gone = self._values.items() - values.items()
        for (_, name), value in gone:
            self._retired[name, value] = None
        while len(self._retired) > _MOST_RETIRED:
            self._retired.popitem(last=False)

    async def _watch(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.refresh()
                for follower in self._followers:
                    await follower()
            except HermesError as error:
                _log.warning("secrets_not_followed", problem=str(error))
                self._changed.set()
                await asyncio.sleep(_RETRY_S)


def mask_of(values: SecretValues) -> SecretMask:
    """Return the mask of values that were read without a `Secrets`, as commands read them."""
    mask = SecretMask()
    mask.use(masked_pairs(values))
    return mask


def masked_pairs(values: SecretValues) -> Iterator[tuple[str, str]]:
    """Yield values as a mask takes them, with their names; of what OAuth has granted, each token."""
    for (owner, name), value in values.items():
        if owner.startswith(GRANTS_OWNER):
            given = msgspec.json.decode(value, type=dict[str, Any])
            yield from ((name, given[token]) for token in _TOKENS if given.get(token))
        else:
            yield name, value

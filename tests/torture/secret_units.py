"""The units of secrets, for `store_kills`."""

from collections.abc import Awaitable, Callable

from hermes.ports.secrets import EVERY_AGENT
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

TABLES = {"secrets": "agent, name, hash, set_at"}
_AGENT = "w_1"


async def prepare_secrets(store: Store, clock: ManualClock) -> None:
    """Keep a secret of every agent, and two of one."""
    await _set(store, "CRM_KEY", "the first value", agent=EVERY_AGENT)
    await _set(store, "CRM_KEY", "of one agent", agent=_AGENT)
    await _set(store, "SHOP_KEY", "of one agent as well", agent=_AGENT)


async def _set(store: Store, name: str, value: str, *, agent: str) -> None:
    await store.secrets.put(name, value, agent=agent, at=1.0, by="olga", most=9)


async def _put(store: Store, clock: ManualClock) -> None:
    await _set(store, "CRM_KEY", "the second value", agent=EVERY_AGENT)


async def _replace(store: Store, clock: ManualClock) -> None:
    await store.secrets.replace(
        "CRM_KEY", "renewed", before="of one agent", agent=_AGENT, at=2.0, by="olga"
    )


async def _drop(store: Store, clock: ManualClock) -> None:
    await store.secrets.drop("SHOP_KEY", agent=_AGENT)


async def _erase(store: Store, clock: ManualClock) -> None:
    await store.secrets.erase(_AGENT)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.put_secret": _put,
    "store.replace_secret": _replace,
    "store.drop_secret": _drop,
    "store.erase_secrets": _erase,
}

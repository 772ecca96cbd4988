"""The units of agents that are made while the gateway runs, for `store_kills`."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from hermes.errors import Conflict
from hermes.ports.agents import AgentRecord, AgentVersion
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

TABLES = {
    "agents": "id, name, state, version, changed_at, delete_at",
    "agent_versions": "agent_id, number, author, note",
}


def _agent(agent_id: str, name: str) -> AgentRecord:
    return AgentRecord(
        id=agent_id,
        name=name,
        state="provisioning",
        version=1,
        document=b"{}",
        author="olga",
        created_at=1.0,
        changed_at=1.0,
    )


async def prepare_agents(store: Store, clock: ManualClock) -> None:
    """Keep an agent that is checked, one that failed, and one that is to be deleted."""
    for agent_id, name in (("w_1", "one"), ("w_2", "two"), ("w_3", "three")):
        await store.agents.add(_agent(agent_id, name), note="", most=9)
    await store.agents.set_state("w_2", "failed", while_in=("provisioning",), at=2.0)
    await store.agents.set_state(
        "w_3", "deleting", while_in=("provisioning",), at=2.0, delete_at=3.0
    )


async def _add(store: Store, clock: ManualClock) -> None:
    # It is done again after a kill, when it may be there.
    with suppress(Conflict):
        await store.agents.add(_agent("w_4", "four"), note="", most=9)


async def _change(store: Store, clock: ManualClock) -> None:
    version = AgentVersion(number=2, document=b"{}", author="olga", at=3.0)
    with suppress(Conflict):
        await store.agents.change("w_1", version, name="uno", state="ready", keep=1)


async def _set_state(store: Store, clock: ManualClock) -> None:
    await store.agents.set_state("w_1", "ready", while_in=("provisioning",), at=3.0)


async def _check_again(store: Store, clock: ManualClock) -> None:
    await store.agents.check_failed_again(3.0)


async def _remove(store: Store, clock: ManualClock) -> None:
    await store.agents.remove("w_3", now=4.0)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.add_agent": _add,
    "store.change_agent": _change,
    "store.set_agent_state": _set_state,
    "store.check_agents_again": _check_again,
    "store.remove_agent": _remove,
}

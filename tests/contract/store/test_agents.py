"""Agents that are made while the gateway runs: names, versions, states, and their end."""

from pathlib import Path

import msgspec
import pytest

from hermes.errors import Conflict, TooLarge
from hermes.ports.agents import AgentRecord, AgentVersion
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import open_store, opened, raw_bytes

pytestmark = pytest.mark.req("M8")
MANY = 100


def agent(agent_id: str = "w_1", name: str = "helper", **fields: object) -> AgentRecord:
    made = AgentRecord(
        id=agent_id,
        name=name,
        state="provisioning",
        version=1,
        document=b'{"role":"a clerk"}',
        author="token:t_1",
        created_at=1.0,
        changed_at=1.0,
    )
    return msgspec.structs.replace(made, **fields)


def version(number: int, document: bytes = b"{}", note: str = "") -> AgentVersion:
    return AgentVersion(number=number, document=document, author="cli", at=float(number), note=note)


async def add(store: Store, *agents: AgentRecord) -> None:
    for one in agents:
        await store.agents.add(one, note="", most=MANY)


async def test_an_agent_is_found_by_id_and_name_also_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await add(store, agent())
        before = [await store.agents.find(name) for name in ("w_1", "helper", "other", "")]

    async with opened(tmp_path) as store:
        after = [await store.agents.find(name) for name in ("w_1", "helper", "other", "")]

    assert before == after == [agent(), agent(), None, None]


async def test_what_an_agent_says_is_not_readable_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await add(store, agent(document=b'{"system_prompt":"Canary-words"}'))

    assert b"Canary-words" not in raw_bytes(tmp_path)


async def test_a_name_belongs_to_one_agent(store: Store) -> None:
    await add(store, agent(), agent("w_2", "other"))

    with pytest.raises(Conflict, match="'helper' already"):
        await add(store, agent("w_3"))
    with pytest.raises(Conflict, match="'helper' already"):
        await store.agents.change("w_2", version(2), name="helper", state="ready", keep=9)

    found = await store.agents.find("w_2")
    assert found is not None
    assert (found.name, found.version) == ("other", 1)
    assert await store.agents.find("w_3") is None


async def test_no_more_agents_are_kept_than_may_be(store: Store) -> None:
    await store.agents.add(agent(), note="", most=1)

    with pytest.raises(TooLarge, match=r"workspaces\.max_count"):
        await store.agents.add(agent("w_2", "other"), note="", most=1)


async def test_changes_are_versions_and_the_oldest_go(store: Store) -> None:
    await add(store, agent())
    for number in (2, 3, 4):
        await store.agents.change(
            "w_1",
            version(number, b'{"n":%d}' % number, note=f"n{number}"),
            name="renamed",
            state="ready",
            keep=2,
        )

    found = await store.agents.find("renamed")
    assert found is not None
    assert (found.version, found.document) == (4, b'{"n":4}')
    assert [one.number for one in await store.agents.versions("w_1", limit=9)] == [4, 3]
    assert [one.number for one in await store.agents.versions("w_1", before=4, limit=9)] == [3]
    assert await store.agents.version("w_1", 3) == version(3, b'{"n":3}', note="n3")
    assert await store.agents.version("w_1", 1) is None
    assert await store.agents.find("helper") is None


async def test_of_two_changes_at_once_one_is_told(store: Store) -> None:
    await add(store, agent())
    await store.agents.change("w_1", version(2), name="helper", state="ready", keep=9)

    with pytest.raises(Conflict, match="somebody else"):
        await store.agents.change("w_1", version(2), name="helper", state="ready", keep=9)

    assert len(await store.agents.versions("w_1", limit=9)) == 2


async def test_a_state_changes_only_from_the_expected_one(store: Store) -> None:
    await add(store, agent())

    of_old = await store.agents.set_state(
        "w_1", "ready", while_in=("provisioning",), version=2, at=2.0
    )
    first = await store.agents.set_state(
        "w_1", "failed", while_in=("provisioning",), at=3.0, reason="x"
    )
    second = await store.agents.set_state("w_1", "ready", while_in=("provisioning",), at=4.0)

    assert (of_old, first, second) == (False, True, False)
    assert await store.agents.find("w_1") == agent(state="failed", reason="x", changed_at=3.0)
    assert await store.agents.check_failed_again(5.0) == 1
    assert await store.agents.find("w_1") == agent(changed_at=5.0)


async def test_what_waits_for_the_gateway_is_found_and_nothing_else(store: Store) -> None:
    names = {"w_1": "a", "w_2": "b", "w_3": "c", "w_4": "d"}
    await add(store, *(agent(one, name) for one, name in names.items()))
    await store.agents.set_state("w_2", "ready", while_in=("provisioning",), at=2.0)
    for one, delete_at in (("w_3", 10.0), ("w_4", 11.0)):
        await store.agents.set_state(
            one, "deleting", while_in=("provisioning",), at=2.0, delete_at=delete_at
        )

    found = await store.agents.unfinished(10.0, limit=9)

    assert [one.id for one in found] == ["w_1", "w_3"]
    assert await store.agents.counts() == {"provisioning": 1, "ready": 1, "deleting": 2}


async def test_an_agent_goes_with_its_versions_when_its_time_has_come(store: Store) -> None:
    await add(store, agent())
    early = await store.agents.remove("w_1", now=99.0)
    await store.agents.set_state(
        "w_1", "deleting", while_in=("provisioning",), at=2.0, delete_at=10.0
    )

    removed = [await store.agents.remove("w_1", now=now) for now in (9.0, 10.0, 11.0)]

    assert (early, removed) == (False, [False, True, False])
    assert await store.agents.find("helper") is None
    assert await store.agents.versions("w_1", limit=9) == ()
    await add(store, agent("w_2"))


async def test_agents_are_listed_by_name(store: Store) -> None:
    await add(store, agent("w_1", "b"), agent("w_2", "a"), agent("w_3", "c"))
    await store.agents.set_state("w_3", "ready", while_in=("provisioning",), at=2.0)

    first = await store.agents.page(limit=2)
    rest = await store.agents.page(after="b", limit=2)
    ready = await store.agents.page(limit=9, state="ready")

    assert [[one.id for one in page] for page in (first, rest, ready)] == [
        ["w_2", "w_1"],
        ["w_3"],
        ["w_3"],
    ]


async def test_another_process_hears_of_changes(tmp_path: Path) -> None:
    options, clock = Options(alone=False), ManualClock()
    here = await open_store(tmp_path, clock=clock, options=options)
    there = await open_store(tmp_path, clock=clock, options=options)
    heard: list[str] = []
    there.feed.on("agents", heard.append)
    await add(here, agent())
    before = await there.agents.find("helper")

    await here.agents.set_state("w_1", "stopped", while_in=("provisioning",), at=2.0)
    await there.feed.catch_up()
    after = await there.agents.find("helper")
    await here.close()
    await there.close()

    assert before is not None
    assert after is not None
    assert (before.state, after.state, heard) == ("provisioning", "stopped", ["w_1", "w_1"])

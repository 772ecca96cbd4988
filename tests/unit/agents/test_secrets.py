"""Which of several values counts for an agent, and when a change is used."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.agents.secrets import Secrets
from hermes.ports.store import Store
from tests.stores.opening import opened

VARIABLES = {"TOKEN": "from-the-environment", "HOME_TOKEN": "only-there"}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


def secrets_in(store: Store) -> Secrets:
    return Secrets(store.secrets, feed=store.feed, variable=VARIABLES.get)


async def put(store: Store, name: str, value: str, agent: str = "") -> None:
    await store.secrets.put(name, value, agent=agent, at=1.0, by="olga", most=100)


@pytest.mark.req("M9")
async def test_the_agents_own_value_counts_then_the_global_one_then_the_variable(
    store: Store,
) -> None:
    await put(store, "TOKEN", "global-value")
    await put(store, "TOKEN", "coach-value", "coach")
    await put(store, "TOKEN", "", "hidden")
    secrets = secrets_in(store)
    await secrets.refresh()

    found = {agent: secrets.get("TOKEN", agent=agent) for agent in ("coach", "other", "hidden")}

    assert found == {"coach": "coach-value", "other": "global-value", "hidden": None}
    assert secrets.get("TOKEN", agent=None) == "global-value"
    assert secrets.get("HOME_TOKEN", agent="coach") == "only-there"
    assert secrets.get("NOWHERE", agent="coach") is None


@pytest.mark.req("M9")
async def test_an_empty_value_hides_a_variable_too(store: Store) -> None:
    await put(store, "TOKEN", "", "coach")
    secrets = secrets_in(store)
    await secrets.refresh()

    assert secrets.get("TOKEN", agent="coach") is None
    assert secrets.get("TOKEN", agent="other") == "from-the-environment"


@pytest.mark.req("M9")
async def test_a_change_is_used_after_a_refresh_and_its_listeners_are_called_once(
    store: Store,
) -> None:
    secrets, calls = secrets_in(store), list[str | None]()
    secrets.on_change(lambda: calls.append(secrets.get("TOKEN", agent=None)))
    await secrets.refresh()

    await put(store, "TOKEN", "first-value")
    await secrets.refresh()
    await secrets.refresh()
    await store.secrets.drop("TOKEN", agent="")
    await secrets.refresh()

    assert calls == ["from-the-environment", "first-value", "from-the-environment"]


@pytest.mark.req("M9", "W35")
async def test_a_replaced_value_is_still_masked(store: Store) -> None:
    secrets = secrets_in(store)
    await put(store, "TOKEN", "first-value")
    await secrets.refresh()

    await put(store, "TOKEN", "second-value")
    await secrets.refresh()
    await store.secrets.drop("TOKEN", agent="")
    await secrets.refresh()

    assert secrets.mask.text("first-value second-value") == "[secret TOKEN] [secret TOKEN]"


@pytest.mark.req("M9")
async def test_followers_are_awaited_after_a_change(store: Store) -> None:
    secrets, seen = secrets_in(store), list[str | None]()

    async def follow() -> None:
        seen.append(secrets.get("TOKEN", agent=None))
        followed.set()

    followed = asyncio.Event()
    secrets.follow(follow)
    secrets.start()
    try:
        await put(store, "TOKEN", "first-value")
        await followed.wait()
    finally:
        await secrets.stop()

    assert seen[-1] == "first-value"

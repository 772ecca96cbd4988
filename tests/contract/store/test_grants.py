"""Tokens of MCP servers on a store that several nodes share: one renews, and the others take the result.

Two stores on one file are two nodes here, as in `test_fleet`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from hermes.ports.secrets import GRANTS_OWNER
from hermes.ports.store import Store
from hermes.tools.mcp.connection import LinkLost
from hermes.tools.mcp.grants import Grant, StoredGrants
from hermes.tools.mcp.oauth_wire import OAuthTokens
from tests.contract.store.test_fleet import LEASE_S, Nodes
from tests.unit.tools.mcp.test_oauth_tokens import (
    Issuer,
    grant_of,
    issuer_runs,
    sent,
    tokens_of,
)

pytestmark = pytest.mark.req("W37")
Sleep = Callable[[float], Awaitable[None]]


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for store in made.opened:
        await store.close()


async def never(_delay_s: float) -> None:
    raise AssertionError("nobody has to wait")


def grants_of(store: Store, nodes: Nodes, sleep: Sleep = never) -> StoredGrants:
    return StoredGrants(store.secrets, fleet=store.fleet, clock=nodes.clock, sleep=sleep)


def tokens(grants: StoredGrants, issuer: Issuer) -> OAuthTokens:
    return tokens_of(grants, issuer.url)


async def test_two_nodes_at_once_use_a_refresh_token_once(nodes: Nodes) -> None:
    one, two = await nodes.join("one"), await nodes.join("two")
    async with issuer_runs() as issuer:
        # The issuer answers the first once the second waits.
        issuer.during.clear()

        async def wait(_delay_s: float) -> None:
            issuer.during.set()
            await first

        await grants_of(one, nodes).save("tickets", grant_of(issuer.url))
        ours, theirs = (
            tokens(grants_of(one, nodes), issuer),
            tokens(grants_of(two, nodes, wait), issuer),
        )
        first = asyncio.create_task(ours.prepare())
        await asyncio.wait_for(issuer.heard.wait(), 10)
        await theirs.prepare()

        assert issuer.asked == ["r0"]
        assert [await sent(ours), await sent(theirs)] == ["Bearer a1", "Bearer a1"]
        assert await two.fleet.claim("anything") is not None


async def test_two_links_of_one_process_use_a_refresh_token_once(nodes: Nodes) -> None:
    one = await nodes.join("one")
    async with issuer_runs() as issuer:
        grants = grants_of(one, nodes)
        await grants.save("tickets", grant_of(issuer.url))
        old, new = tokens(grants, issuer), tokens(grants, issuer)
        await asyncio.gather(old.prepare(), new.prepare())

        assert issuer.asked == ["r0"]
        assert [await sent(old), await sent(new)] == ["Bearer a1", "Bearer a1"]


async def test_the_renewal_of_a_node_that_died_is_taken_over(nodes: Nodes) -> None:
    one, two = await nodes.join("one"), await nodes.join("two")

    async def bury(_delay_s: float) -> None:
        nodes.clock.advance(LEASE_S + 1)
        await two.fleet.beat()
        await two.fleet.bury("one")

    async with issuer_runs() as issuer:
        held = grants_of(one, nodes).renewing("tickets")
        await held.__aenter__()
        grants = grants_of(two, nodes, bury)
        await grants.save("tickets", grant_of(issuer.url))
        await tokens(grants, issuer).prepare()

        assert issuer.asked == ["r0"]
        kept = await grants.load("tickets")
        assert kept is not None
        assert kept.access_token == "a1"


async def test_nobody_waits_for_another_node_without_end(nodes: Nodes) -> None:
    one, two = await nodes.join("one"), await nodes.join("two")

    async def pass_time(delay_s: float) -> None:
        nodes.clock.advance(60)

    async with issuer_runs() as issuer, grants_of(one, nodes).renewing("tickets"):
        grants = grants_of(two, nodes, pass_time)
        await grants.save("tickets", grant_of(issuer.url))
        with pytest.raises(LinkLost, match="another node renews its tokens"):
            await tokens(grants, issuer).prepare()

        assert issuer.asked == []


async def test_a_login_between_the_look_and_the_write_is_not_overwritten(nodes: Nodes) -> None:
    one = await nodes.join("one")
    grants = grants_of(one, nodes)
    before, login = grant_of("https://a.example"), grant_of("https://b.example")
    after = Grant(client_id="hermes", access_token="a1")
    await grants.save("tickets", before)
    assert await grants.replace("tickets", after, before=before)
    await grants.save("tickets", login)

    assert not await grants.replace("tickets", after, before=before)
    assert await grants.load("tickets") == login
    # A look that is older than the write of somebody else finds nothing to replace, either.
    seen = (await one.secrets.values())[GRANTS_OWNER + "tickets", "OAUTH_GRANT"]
    await grants.save("tickets", after)
    assert not await one.secrets.replace(
        "OAUTH_GRANT", "{}", before=seen, agent=GRANTS_OWNER + "tickets", at=0.0, by="oauth"
    )
    assert await grants.load("tickets") == after


async def test_the_secrets_of_operators_take_no_room_from_tokens(nodes: Nodes) -> None:
    one = await nodes.join("one")
    for number in range(20):
        await one.secrets.put(f"KEY_{number}", "value", agent="", at=0.0, by="op", most=1_000)
    grants = grants_of(one, nodes)
    await grants.save("tickets", grant_of("https://a.example"))

    assert await grants.load("tickets") == grant_of("https://a.example")

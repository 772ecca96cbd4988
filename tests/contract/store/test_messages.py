"""Operators list messages by any filter, in pages whose work is bounded."""

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.ports.messages import Ending, MessageFilter, MessageLine
from hermes.ports.store import Store
from tests.stores.opening import opened, tables

# One of each kind of row, which is told apart by the remainder of its number.
_MESSAGES = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO inbox (id, account, platform, route, external_id, digest, lane, control, busy, person_id,
    body, state, outcome, received_at, done_at)
SELECT 'm_' || substr('00000' || i, -5), 'default',
    CASE WHEN i % 2 = 0 THEN 'telegram' ELSE 'rest' END, 'api', 'x' || i, x'00', 'lane', i % 11 = 0,
    'queue', CASE WHEN i % 3 = 0 THEN 'p_ann' ELSE 'p_bob' END, 0,
    CASE WHEN i % 7 = 0 THEN 'new' ELSE 'done' END,
    CASE WHEN i % 7 = 0 THEN NULL WHEN i % 5 = 0 THEN 'failed' ELSE 'answered' END,
    1000.0 + i, CASE WHEN i % 7 = 0 THEN NULL ELSE 1001.0 + i END
FROM n
"""
_TURNS = """
INSERT INTO interactions (message_id, person_id, agent, platform, llm_backend, llm_cache_hit,
    soul_load_ms, semantic_recall_used, tools, tool_exec_ms, tokens_in, tokens_out, cost_usd,
    platform_tokens, platform_cost_usd, at, unpriced)
SELECT id, person_id, CASE WHEN seq % 4 = 0 THEN 'helper' ELSE 'main' END, platform,
    CASE WHEN seq % 6 = 0 THEN 'house:big' ELSE 'house:small' END, 0, 0.0, 0, '', 0.0, 10, 5,
    CASE WHEN seq % 9 = 0 THEN 2.0 WHEN seq % 8 = 0 THEN 0.2 WHEN seq % 4 = 0 THEN 0.02 ELSE 0.001 END,
    0, 0.0, done_at, seq % 13 = 0
FROM inbox WHERE state = 'done' AND control = 0
"""
_COUNT = 400


def fill(folder: Path, *, count: int) -> None:
    with tables(folder) as opened_tables:
        opened_tables.execute(_MESSAGES, (count,))
        opened_tables.execute(_TURNS)


@pytest.fixture
async def full(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path):
        pass
    fill(tmp_path, count=_COUNT)
    async with opened(tmp_path) as store:
        yield store


async def listed(
    store: Store, wanted: MessageFilter, *, limit: int = 40
) -> tuple[MessageLine, ...]:
    """Return everything that fits, over all pages."""
    found: list[MessageLine] = []
    before = None
    while True:
        page = await store.messages.page(wanted, before=before, limit=limit)
        found += page.messages
        before = page.next
        if before is None:
            return tuple(found)


def fits(line: MessageLine, wanted: MessageFilter) -> bool:
    """Say the filter once more, plainly."""
    asked = (
        (wanted.person_id, line.person_id),
        (wanted.platform, line.platform),
        (wanted.agent, line.agent),
        (wanted.model, line.model),
        (wanted.outcome, line.outcome or "open"),
    )
    number = int(line.id[2:])
    cost = (
        2.0 if number % 9 == 0 else 0.2 if number % 8 == 0 else 0.02 if number % 4 == 0 else 0.001
    )
    return (
        all(not want or want == has for want, has in asked)
        and (wanted.least_usd is None or (line.agent is not None and cost >= wanted.least_usd))
        and (wanted.since is None or line.at >= wanted.since)
        and (wanted.until is None or line.at <= wanted.until)
    )


@pytest.mark.req("A32")
async def test_a_message_is_listed_with_what_its_turn_took(full: Store) -> None:
    page = await full.messages.page(MessageFilter(), before=None, limit=2)

    assert [msgspec.to_builtins(line) for line in page.messages] == [
        {
            "id": "m_00400",
            "at": 1400.0,
            "person_id": "p_bob",
            "platform": "telegram",
            "lane": "lane",
            "state": "done",
            "outcome": "failed",
            "done_at": 1401.0,
            "agent": "helper",
            "model": "house:small",
            "tokens_in": 10,
            "tokens_out": 5,
            "cost_usd": 0.2,
        },
        {
            "id": "m_00399",
            "at": 1399.0,
            "person_id": "p_ann",
            "platform": "rest",
            "lane": "lane",
            "state": "new",
        },
    ]
    assert page.next == "n.399"


@pytest.mark.req("A32")
@pytest.mark.parametrize("least_usd", [None, 0.001, 0.01, 0.15, 1.5])
async def test_every_combination_of_filters_finds_what_fits_newest_first(
    full: Store, least_usd: float | None
) -> None:
    everything = await listed(full, MessageFilter(), limit=1_000)
    endings: tuple[Ending | None, ...] = (None, "failed", "open")
    chosen = product(("", "p_ann"), ("", "rest"), ("", "helper"), ("", "house:big"), endings)
    filters = [
        MessageFilter(
            person_id=person, platform=platform, agent=agent, model=model, outcome=outcome,
            least_usd=least_usd, since=since, until=until,
        )
        for person, platform, agent, model, outcome in chosen
        for since, until in ((None, None), (1100.5, 1300.0))
    ]  # fmt: skip

    found = {one: await listed(full, one) for one in filters}

    assert len(everything) == _COUNT - _COUNT // 11
    assert found == {one: tuple(line for line in everything if fits(line, one)) for one in filters}


@pytest.mark.req("A32")
async def test_a_page_ends_when_enough_was_looked_at_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path):
        pass
    fill(tmp_path, count=10_000)
    async with opened(tmp_path) as store:
        # Some 6,000 messages are Bob's; of none did this model answer the turn.
        wanted = MessageFilter(person_id="p_bob", model="house:big")
        first = await store.messages.page(wanted, before=None, limit=5)
        rest = await store.messages.page(wanted, before=first.next, limit=5)

    assert first.messages == rest.messages == ()
    assert first.next == "n.3392"
    assert first.searched_to == 1_000.0 + 3_392
    assert (rest.next, rest.searched_to) == (None, None)


@pytest.mark.req("A32")
async def test_a_turn_whose_message_was_forgotten_is_not_listed(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    fill(tmp_path, count=50)
    with tables(tmp_path) as opened_tables:
        opened_tables.execute("DELETE FROM inbox WHERE seq <= 20 OR seq = 40")
    async with opened(tmp_path) as store:
        found = await listed(store, MessageFilter(agent="helper"), limit=1)

    assert [line.id for line in found] == ["m_00048", "m_00036", "m_00032", "m_00024"]


@pytest.mark.req("A32")
@pytest.mark.parametrize("place", ["", "n.", "n.x", "i.m_1", "n.-1", "z" * 200])
async def test_a_place_of_another_list_is_refused(full: Store, place: str) -> None:
    with pytest.raises(BadRequest, match="is no place in this list"):
        await full.messages.page(MessageFilter(), before=place, limit=1)


@pytest.mark.req("A32")
async def test_an_empty_store_has_no_messages(store: Store) -> None:
    wanted = MessageFilter(since=1.0, until=2.0)

    page = await store.messages.page(wanted, before=None, limit=1)

    assert (page.messages, page.next) == ((), None)

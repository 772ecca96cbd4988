"""The audit log: begun before an order, ended after it, bounded; and what else operators change."""

import msgspec
import pytest

from hermes.ports.audit import AuditLimits, AuditRow
from hermes.ports.store import Store

LIMITS = AuditLimits(retention_s=100.0, most_rows=3)
ROW = AuditRow(
    id="a_1", at=1_000.0, actor="local:olga", role="owner", action="users.block", targets=("p_1",)
)


def row(number: int, *, at: float = 1_000.0, **more: str) -> AuditRow:
    return msgspec.structs.replace(ROW, id=f"a_{number}", at=at, **more)


async def kept(store: Store) -> list[str]:
    page = await store.audit.page(since=0.0, actor="", action="", limit=100)
    return [one.id for one in page]


@pytest.mark.req("J20")
async def test_what_has_begun_stays_begun_until_it_is_ended_and_ends_once(
    store: Store,
) -> None:
    await store.audit.begin(ROW, limits=LIMITS)
    (begun,) = await store.audit.page(since=0.0, actor="", action="", limit=10)

    await store.audit.end("a_1", "refused", code="not_found", targets=("p_1", "p_2"), at=1_001.0)
    await store.audit.end("a_1", "ok", code="", targets=(), at=1_002.0)

    (ended,) = await store.audit.page(since=0.0, actor="", action="", limit=10)
    assert begun == ROW
    assert ended == msgspec.structs.replace(
        ROW, state="refused", code="not_found", targets=("p_1", "p_2"), ended_at=1_001.0
    )


async def test_the_newest_so_many_are_kept_and_nothing_that_is_too_old(store: Store) -> None:
    for number in range(5):
        await store.audit.begin(row(number, at=1_000.0 + number), limits=LIMITS)
    newest = await kept(store)

    await store.audit.begin(row(9, at=1_103.5), limits=LIMITS)

    assert newest == ["a_4", "a_3", "a_2"]
    assert await kept(store) == ["a_9", "a_4"]


async def test_a_page_is_narrowed_by_time_actor_and_order(store: Store) -> None:
    limits = AuditLimits()
    await store.audit.begin(row(1), limits=limits)
    await store.audit.begin(row(2, at=2_000.0), limits=limits)
    await store.audit.begin(row(3, actor="token:t_1"), limits=limits)
    await store.audit.begin(row(4, action="keys.create"), limits=limits)

    async def ids(since: float = 0.0, actor: str = "", action: str = "") -> list[str]:
        page = await store.audit.page(since=since, actor=actor, action=action, limit=10)
        return [one.id for one in page]

    assert await ids(since=1_500.0) == ["a_2"]
    assert await ids(actor="token:t_1") == ["a_3"]
    assert await ids(action="keys.create") == ["a_4"]
    assert await ids() == ["a_4", "a_3", "a_2", "a_1"]


@pytest.mark.req("W35")
async def test_a_revoked_token_takes_its_sessions_along_and_leaves_the_others(
    store: Store,
) -> None:
    mine, other = b"m" * 32, b"o" * 32
    await store.access.add("token", mine, label="ci", expires_at=None, role="operator")
    await store.access.add("token", other, label="mine", expires_at=None)
    await store.access.add("session", b"s" * 32, label="token", expires_at=None, parent=mine)
    found = await store.access.find("token", mine, now=1.0)
    assert found is not None
    assert (found.role, found.label) == ("operator", "ci")

    assert await store.access.revoke(found.id)

    assert await store.access.find("token", mine, now=1.0) is None
    assert await store.access.find("session", b"s" * 32, now=1.0) is None
    assert [one.label for one in await store.access.list("token")] == ["mine"]
    assert not await store.access.revoke(found.id)

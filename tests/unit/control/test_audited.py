"""How an order is run: the role is checked, it is on record before it is done, and its end after."""

import asyncio
from hashlib import sha256

import msgspec
import pytest

from hermes.control.audited import AuditedActions
from hermes.control.graph_access import GraphOperations, GraphsOrder
from hermes.control.order import Actor, local_actor
from hermes.control.orders import GATEWAY_STATUS, GRAPHS_SHOW, USERS_BLOCK
from hermes.errors import BadRequest, Forbidden, NotFound, StorageFull, StoreError
from hermes.ports.audit import AuditLimits, AuditRow
from hermes.testing.audit import MemoryAudit
from hermes.testing.manual_time import ManualClock

OWNER = local_actor("olga")
VIEWER = Actor("token", "t_1", "viewer")
KNOWN = {("telegram", "4711"): "p_ann"}


class Request(msgspec.Struct, frozen=True):
    user: str = "telegram:4711"
    reason: str = "words"


REQUEST = Request()


async def person_of(platform: str, user_id: str) -> str | None:
    return KNOWN.get((platform, user_id))


class Record:
    """Runs orders over a log in memory, and counts what is done."""

    def __init__(self, audit: MemoryAudit | None = None) -> None:
        self.audit = audit or MemoryAudit()
        self.clock = ManualClock()
        self.done = 0
        self.ids = iter(range(1_000))
        self.audited = AuditedActions(
            self.audit,
            person_of=person_of,
            digest=lambda content: sha256(content).digest(),
            clock=self.clock,
            make_id=lambda prefix: f"{prefix}_{next(self.ids)}",
            limits=AuditLimits(),
        )

    async def block(
        self, actor: Actor, request: object = REQUEST, *, error: Exception | None = None
    ) -> None:
        async def work() -> None:
            assert [row.state for row in self.audit.rows][-1] == "started"
            self.done += 1
            if error is not None:
                raise error

        await self.audited.act(actor, USERS_BLOCK, work=work, request=request)

    def rows(self) -> list[tuple[str, str, str, tuple[str, ...]]]:
        return [(row.actor, row.state, row.code, row.targets) for row in self.audit.rows]


@pytest.mark.req("W7")
async def test_an_order_is_on_record_before_it_is_done_and_its_end_after_it() -> None:
    record = Record()

    await record.block(OWNER)

    assert record.rows() == [("local:olga", "ok", "", ("p_ann",))]


@pytest.mark.req("W7")
async def test_too_little_a_role_is_refused_on_record_and_nothing_is_done() -> None:
    record = Record()

    with pytest.raises(Forbidden, match=r"users\.block needs the role operator"):
        await record.block(VIEWER)

    assert record.done == 0
    assert record.rows() == [("token:t_1", "refused", "forbidden", ("p_ann",))]


async def test_the_same_refusal_is_on_record_once_a_minute() -> None:
    record = Record()
    for seconds in (0.0, 30.0, 29.0, 2.0):
        record.clock.advance(seconds)
        with pytest.raises(Forbidden):
            await record.block(VIEWER)

    assert len(record.rows()) == 2


async def test_what_was_refused_and_what_failed_are_told_apart() -> None:
    record = Record()
    for error in (NotFound("nobody"), StoreError("the disk"), RuntimeError("a defect")):
        with pytest.raises(type(error)):
            await record.block(OWNER, error=error)

    assert [row[1:3] for row in record.rows()] == [
        ("refused", "not_found"),
        ("failed", StoreError.code),
        ("failed", "internal"),
    ]


async def test_what_was_cut_off_stays_begun() -> None:
    record = Record()

    with pytest.raises(asyncio.CancelledError):
        await record.audited.act(OWNER, USERS_BLOCK, work=_cut_off, request=Request())

    assert record.rows() == [("local:olga", "started", "", ("p_ann",))]


async def _cut_off() -> None:
    raise asyncio.CancelledError


@pytest.mark.req("J24")
@pytest.mark.parametrize(
    "name", ["telegram:815", "4711", "Ann Smith", "hermes_AbCdEfGh", "discord:@ann"]
)
async def test_who_is_unknown_is_only_recognisable(name: str) -> None:
    record = Record()

    await record.block(OWNER, Request(user=name))
    await record.block(OWNER, Request(user=name))

    first, second = (row[3] for row in record.rows())
    assert first == second
    assert name not in str(first)
    assert "#" in first[0]


async def test_looking_is_not_on_record() -> None:
    record = Record()

    async def look() -> str:
        return "connected"

    assert await record.audited.act(VIEWER, GATEWAY_STATUS, work=look) == "connected"
    assert record.rows() == []


class FullAudit(MemoryAudit):
    """A log on a disk that is full."""

    async def begin(self, row: AuditRow, *, limits: AuditLimits) -> None:
        raise StorageFull("the disk is full")


async def test_what_cannot_go_on_record_is_not_done() -> None:
    record = Record(FullAudit())

    with pytest.raises(StorageFull):
        await record.block(OWNER)

    assert record.done == 0


@pytest.mark.req("W7")
async def test_an_order_with_a_huge_list_makes_a_small_row() -> None:
    record = Record()
    people = ("p_ann", "p_ann", *(f"p_{number}" for number in range(100_000)))

    with pytest.raises(BadRequest, match="At most 20 people"):
        await record.audited.act(
            OWNER,
            GRAPHS_SHOW,
            work=lambda: GraphOperations().show(GraphsOrder(people=people)),
            request=GraphsOrder(people=people),
        )

    (row,) = record.audit.rows
    assert (row.state, len(row.targets), row.targets[:2]) == ("refused", 32, ("p_ann", "p_0"))

"""What a turn costs does not grow with the store: plans along indexes, views without reads."""

import asyncio
import re
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import apsw
import pytest

from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.inbox import NewMessage
from hermes.ports.steps import Lease
from hermes.ports.turns import Begin, Commit, TurnResult
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import make_store_keys
from hermes.store.sqlite.store import SqliteStore, StoreOptions
from hermes.testing.manual_time import ManualClock

PACKAGE = resources.files("hermes.store.sqlite")
TOPICS = (
    "access",
    "answers",
    "approvals",
    "channel_state",
    "cron",
    "inbox",
    "keys",
    "outbox",
    "overheard",
    "pairing",
    "people",
    "sends",
    "sessions",
    "spend",
    "transcripts",
    "turns",
    "upkeep",
    "users",
    "vectors",
    "wallet",
)
# Read at start, by an operator's command, or along an index that holds only what is open.
MAY_SCAN = {
    "access.revoke": "a few credentials",
    "access.root": "a chain of a few credentials",
    "access.trim": "a few credentials",
    "answers.count": "counted by the page, bounded by what is kept",
    "answers.of_person": "an erasure",
    "answers.oldest": "along the index of their age, as far as the surplus",
    "approvals.orphans": "at start, open approvals only",
    "approvals.overdue": "open approvals only",
    "cron.page": "`hermes cron list`",
    "inbox.by_external": "`hermes why`",
    "inbox.open_shares": "at start, open messages only",
    "keys.list": "`hermes keys list`",
    "outbox.count_waiting": "open replies only",
    "outbox.expire": "open replies only",
    "outbox.has_expired": "open replies only",
    "outbox.on_the_wire": "at start, open replies only",
    "outbox.recover": "at start, open replies only",
    "pairing.trim_requests": "at most three new ones an hour and platform are kept",
    "pairing.waiting": "as above",
    "people.forget_caller_keys": "an erasure",
    "people.forget_writing": "an erasure",
    "people.keys": "a key rotation",
    "sends.lanes_of_late": "the 500 newest messages of a person, at most",
    "sessions.any_old_writers": "up to the first row",
    "transcripts.sessions": "the list of all platforms, asked for by nobody yet",
    "turns.lanes_with_work": "at start, open messages only",
    "turns.unclaim_orphans": "at start",
    "upkeep.counts": "`hermes status`, open messages only",
    "upkeep.delivery_counts": "`hermes status`",
    "upkeep.old_messages": "up to the first young message only",
    "upkeep.old_sends": "up to the first young delivery only",
    "upkeep.void_leases": "at start",
    "users.any_blocked": "the first entry of an index",
    "users.move_keys": "a channel of /v1 that is linked",
    "users.page_active": "along the index of who was let in, as far as the page",
    "users.page_all": "the newest people, as far as the page",
    "users.page_blocked": "along the index of the blocked, as far as the page",
    "users.page_erased": "along the index of the erased, as far as the page",
    "users.page_guest": "the newest people, as far as the page",
    "users.paired": "along the index of who was let in",
    "wallet.audit_balances": "`hermes credits audit`, in a thread of its own",
    "wallet.audit_captures": "as above",
    "wallet.audit_holds": "as above",
    "wallet.audit_people": "as above",
    "wallet.audit_refunds": "as above",
    "wallet.audit_repeated": "as above",
    "wallet.audit_signs": "as above",
    "wallet.poorest": "`hermes credits list`, in a thread of its own",
    "wallet.totals": "`hermes credits audit`",
}
LANE = "agent:main:rest:dm:ann"


def new_message(text: str, *, lane: str = LANE) -> NewMessage:
    event = MessageEvent(
        account="default",
        route="api",
        external_id=make_id("x"),
        source=Source(platform="rest", chat_id="ann", user_id="ann"),
        parts=(TextPart(text),),
        at=1.0,
    )
    return NewMessage(
        id=make_id("m"), lane=lane, event=event, identity=text.encode(), received_at=1.0
    )


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(
        tmp_path / "hermes.db",
        key_file=make_store_keys(),
        clock=ManualClock(),
        make_id=make_id,
        options=StoreOptions(),
    )
    yield opened
    await opened.close()


async def accept(store: SqliteStore, message: NewMessage) -> None:
    await store.inbox.accept(message, kept=lambda _: None)


@pytest.mark.parametrize("topic", TOPICS)
def test_no_query_reads_a_whole_table(topic: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute(PACKAGE.joinpath("schema.sql").read_text())
    scans = set()
    for name, sql in load(topic).items():
        bindings = [None] * len(set(re.findall(r"\?(\d+)", sql)))
        plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]
        if any(re.match(r"SCAN (?!CONSTANT ROW|json_each)", step) for step in plan):
            scans.add(f"{topic}.{name}")

    assert scans == {name for name in MAY_SCAN if name.startswith(f"{topic}.")}


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("messages", "SEARCH inbox USING INDEX inbox_lane (lane=? AND seq<?)"),
        ("graphs", "SEARCH graphs USING INDEX graphs_session (<expr>=? AND rowid<?)"),
        ("first_graph", "SEARCH graphs USING INDEX graphs_session (<expr>=?)"),
        ("sessions_of_platform", "SEARCH inbox USING INDEX inbox_lane (lane=?)"),
    ],
)
def test_a_conversation_is_found_without_reading_others(name: str, step: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute(PACKAGE.joinpath("schema.sql").read_text())
    sql = load("transcripts")[name]
    bindings = [None] * len(set(re.findall(r"\?(\d+)", sql)))

    plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]

    assert step in plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


@pytest.mark.req("J21")
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("person_total", "SEARCH spend USING PRIMARY KEY (day=? AND person_id=?)"),
        ("key_total", "SEARCH spend USING INDEX spend_key (key_id=? AND day>? AND day<?)"),
        ("agent_total", "SEARCH spend_days USING PRIMARY KEY (day>? AND day<?)"),
        ("platform_total", "SEARCH spend_days USING PRIMARY KEY (day>? AND day<?)"),
    ],
)
def test_what_one_took_is_found_without_reading_what_others_took(name: str, step: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute(PACKAGE.joinpath("schema.sql").read_text())
    sql = load("spend")[name]
    bindings = [None] * len(set(re.findall(r"\?(\d+)", sql)))

    plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]

    assert plan[0] == step


@pytest.mark.req("J4")
async def test_the_view_after_an_accept_is_what_a_read_finds(store: SqliteStore) -> None:
    await accept(store, new_message("hello"))

    without_reading = await store.turns.view(LANE)
    read = await store.turns.view(LANE)

    assert without_reading.message is not None
    assert without_reading == read


@pytest.mark.req("J4")
async def test_a_view_is_no_longer_handed_out_after_the_next_transaction(
    store: SqliteStore,
) -> None:
    message = new_message("hello")
    await accept(store, message)
    await begin(store, message)

    view = await store.turns.view(LANE)

    assert view.fence == 1
    assert view.message is not None
    assert view.message.state == "running"


async def begin(store: SqliteStore, message: NewMessage) -> Lease:
    return await store.turns.begin(
        Begin(
            lane=message.lane,
            owner="w",
            fence=0,
            expires=9_999.0,
            message_id=message.id,
            person_id="",
            at=1.0,
        )
    )


async def end_of(
    store: SqliteStore, message: NewMessage, *, reset_lane: str | None = None
) -> Commit:
    record = await store.inbox.get(message.id)
    assert record is not None
    return Commit(
        message_id=message.id,
        person_id=record.person_id,
        outcome=Outcome.ANSWERED,
        result=TurnResult(text=""),
        at=1.0,
        epoch=0,
        reset_lane=reset_lane,
    )


@pytest.mark.req("J4", "J6")
async def test_a_reset_in_the_same_transaction_is_seen(store: SqliteStore) -> None:
    command = new_message("/new", lane=f"{LANE}#control")
    await accept(store, command)
    lease = await begin(store, command)
    reset = await end_of(store, command, reset_lane=LANE)

    await asyncio.gather(accept(store, new_message("hello")), store.turns.commit(lease, reset))

    assert (await store.turns.view(LANE)).epoch == 1


@pytest.mark.req("J4")
async def test_the_view_after_a_commit_is_what_a_read_finds(store: SqliteStore) -> None:
    message = new_message("hello")
    await accept(store, message)
    lease = await begin(store, message)

    await store.turns.commit(lease, await end_of(store, message))
    without_reading = await store.turns.view(LANE)
    read = await store.turns.view(LANE)

    assert without_reading.message is None
    assert without_reading == read


@pytest.mark.req("J4")
@pytest.mark.parametrize("accept_first", [True, False])
async def test_a_message_beside_a_commit_is_found_next(
    store: SqliteStore, accept_first: bool
) -> None:
    message, following = new_message("hello"), new_message("and then?")
    await accept(store, message)
    lease = await begin(store, message)
    beside = [accept(store, following), store.turns.commit(lease, await end_of(store, message))]

    await asyncio.gather(*(beside if accept_first else reversed(beside)))

    found = (await store.turns.view(LANE)).message
    assert found is not None
    assert found.id == following.id

"""What a turn costs does not grow with the store: plans along indexes."""

import re
from importlib import resources

import apsw
import pytest

from hermes.store.sql.queries import load

pytestmark = pytest.mark.sqlite_only

PACKAGE = resources.files("hermes.store.sqlite")
TOPICS = (
    "access",
    "agents",
    "answers",
    "approvals",
    "channel_state",
    "cron",
    "feed",
    "fleet",
    "inbox",
    "keys",
    "messages",
    "outbox",
    "overheard",
    "pairing",
    "people",
    "responses",
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
    "agents.check_failed_again": "at start",
    "agents.count": "when an agent is made",
    "agents.counts": "`hermes status`",
    "answers.count": "counted by the page, bounded by what is kept",
    "answers.count_of": "only when too many are kept, and then for some of the next thousand",
    "answers.fullest": "as above",
    "answers.of_person": "an erasure",
    "answers.oldest": "along the index of their age, as far as the surplus",
    "answers.oldest_of": "as above; for a person over their share",
    "approvals.open": "`hermes approvals`; open approvals only",
    "approvals.overdue": "open approvals only",
    "cron.page": "`hermes cron list`",
    "feed.trim": "bounded by what is kept of the journal",
    "fleet.forget_buried": "a few nodes, at start",
    "fleet.free_claims": "a few claims, when a node is dead",
    "fleet.free_lanes": "at start, or when a node is dead",
    "fleet.others": "a few nodes, at start",
    "fleet.silent": "a few nodes",
    "inbox.open_shares": "at start, open messages only",
    "keys.list": "`hermes keys list`",
    "messages.by_open": "open messages only",
    "messages.last": "up to the first row",
    "outbox.count_waiting": "open replies only",
    "outbox.expire": "open replies only",
    "outbox.has_expired": "open replies only",
    "outbox.on_the_wire": "at start, open replies only",
    "outbox.recover": "at start, open replies only",
    "pairing.trim_requests": "at most three new ones an hour and platform are kept",
    "pairing.waiting": "as above",
    "pairing.waiting_elsewhere": "as above",
    "people.forget_caller_keys": "an erasure",
    "people.forget_writing": "an erasure",
    "people.keys": "a key rotation",
    "responses.chain": "one conversation, of a bounded length",
    "sends.lanes_of_late": "the 500 newest messages of a person, at most",
    "sessions.any_old_writers": "up to the first row",
    "transcripts.sessions": "the list of all platforms, asked for by nobody yet",
    "turns.lanes_with_work": "at start, open messages only",
    "turns.unclaim_orphans": "at start",
    "upkeep.counts": "`hermes status`, open messages only",
    "upkeep.delivery_counts": "`hermes status`",
    "upkeep.old_messages": "up to the first young message only",
    "upkeep.old_sends": "up to the first young delivery only",
    "users.any_blocked": "the first entry of an index",
    "users.move_keys": "a channel of /v1 that is linked",
    "users.page_active": "along the index of who was let in, as far as the page",
    "users.page_all": "the newest people, as far as the page",
    "users.page_blocked": "along the index of the blocked, as far as the page",
    "users.page_erased": "along the index of the erased, as far as the page",
    "users.page_guest": "the newest people, as far as the page",
    "users.silent": "every ten minutes, and once for each erasure, if people are erased after some days",
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


@pytest.mark.parametrize("topic", TOPICS)
def test_no_query_reads_a_whole_table(topic: str) -> None:
    db = apsw.Connection(":memory:")
    db.create_scalar_function("hermes_now", lambda *_: 1.0, 0)
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


@pytest.mark.req("W2", "A23")
def test_the_last_traffic_is_asked_along_indexes_only() -> None:
    db = apsw.Connection(":memory:")
    db.execute(PACKAGE.joinpath("schema.sql").read_text())
    queries = load("operating")

    plans = [
        str(row[3])
        for name in ("last_in", "last_out")
        for row in db.execute(f"EXPLAIN QUERY PLAN {queries[name]}", ("push",))
    ]

    assert [one for one in plans if one.startswith("SCAN") and "used" not in one] == []

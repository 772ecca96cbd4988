"""Kills inside the units that no conversation reaches: erasing, upkeep, keys, spending, the cache.

A program of its own, so that it can fork: `python -m tests.torture.store_kills FOLDER SEEDS`
kills a fresh process at each failpoint with each seed, opens the store again, and compares it with
what it was before the unit and what it is after it. It prints how many kills there were.
"""

import asyncio
import hashlib
import os
import random
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from hermes import failpoints
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.ports.access import NewSession
from hermes.ports.channel import Target
from hermes.ports.dreams import DREAM, Dream
from hermes.ports.keys import CallerKey, KeptAnswer
from hermes.ports.memory import EXTRACT, Fact, FactChange, NewJob
from hermes.ports.sends import NewSend
from hermes.ports.sessions import SessionUndo
from hermes.ports.spend import PLATFORM, Account, CallLine, KillSwitch, SpendEntry
from hermes.ports.store import Store
from hermes.ports.turns import Interaction
from hermes.ports.vectors import Page, VectorEntry
from hermes.ports.wallet import NewGrant, NewReferral, NewRefund
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import copy_store, new_keys, open_store, opened_tables
from tests.torture import (
    agent_units,
    call_units,
    channel_units,
    compaction_units,
    cron_units,
    directory_units,
    fleet_units,
    operator_units,
    people_units,
    preview_units,
    pruning_units,
    question_units,
    replay_units,
    response_units,
    secret_units,
    sign_in_units,
    task_units,
)
from tests.torture.store_rig import Ids, accept, answer

OLD_KEY = new_keys()
NEW_KEY = new_keys(OLD_KEY)
# With other nodes, so that what they have to hear of is written too.
SYNCED = Options(synchronous="FULL", alone=False)
SESSION = "agent:main:rest:dm:eve"
WEEK_S = 7 * 86_400.0
_TABLES = {
    "person_keys": "person_id",
    "blobs": "id, person_id, graph, name IS NULL",
    "inbox": "id, state, outcome, done_at",
    "steps": "message_id, ordinal, state",
    "graphs": "*",
    "refs": "graph, branch, length, version, calls",
    "moves": "graph, branch, number",
    "chunks": "graph, length(data)",
    "calls": "graph, number, id",
    "links": "graph, number",
    "holds": "message_id",
    "ledger": "message_id, kind, amount",
    "wallets": "person_id, balance, is_limited, code IS NULL, referred_by, referred",
    "outbox": "id, state, failure, more, fresh, vanish_s",
    "events": "message_id, kind",
    "credentials": "kind, label, used_at, seen_at, parent, role, user_id",
    # Whose "always" it is stands there as a digest by a key of the database's own.
    "meta": "CASE WHEN key LIKE 'always:%' THEN 'always' ELSE key END,"
    " CASE key WHEN 'kill_switch' THEN value END",
    "spend": "*",
    "spend_days": "*",
    "turn_counts": "*",
    "caller_keys": "id, user_id, person_id, revoked_at, store_responses, read_history",
    "facts": "id, person_id, at",
    "vector_pages": "person_id, model, number, count",
    "vectors_wanted": "*",
    "souls": "lane, epoch, person_id, shared_from",
    "dreams": "person_id, at",
    "jobs": "key, person_id, due_at, attempts, touched, covered, failure",
    "kept_answers": "digest, person_id, body, at, expires_at",
    **agent_units.TABLES,
    **secret_units.TABLES,
    **task_units.TABLES,
    **people_units.TABLES,
    **question_units.TABLES,
    **cron_units.TABLES,
    **operator_units.TABLES,
    **directory_units.TABLES,
    **channel_units.TABLES,
    **fleet_units.TABLES,
    **preview_units.TABLES,
    **response_units.TABLES,
    **call_units.TABLES,
    **replay_units.TABLES,
    "outbox_more": "*",
    "feed": "kind, key",
}

Act = Callable[[Store, ManualClock], Awaitable[object]]
Picture = dict[str, list[object]]


async def _erase(store: Store, clock: ManualClock) -> None:
    person = await store.people.find("rest", "ann")
    if person is not None:
        await store.people.erase(person.id, at=clock.now())


async def _undo(store: Store, clock: ManualClock) -> None:
    await store.sessions.undo(
        SessionUndo(lane="dee", epoch=0, head=1, cut=1, actor="local:olga", at=clock.now())
    )


async def _tidy_counts(store: Store, clock: ManualClock) -> None:
    await store.activity.tidy(clock.now() + WEEK_S)


async def _consent(store: Store, clock: ManualClock) -> None:
    person = await store.people.find("rest", "ann")
    if person is not None:
        await store.people.set_consent(person.id, may_train=True, at=clock.now())


async def _speak(store: Store, clock: ManualClock) -> None:
    person = await store.people.find("rest", "ann")
    if person is not None:
        await store.people.set_language(person.id, "de")


async def _abandon(store: Store, clock: ManualClock) -> None:
    await store.turns.abandon("m_waiting", Outcome.REFUSED)


async def _rotate(store: Store, clock: ManualClock) -> None:
    await store.rotate_keys()


async def _purge(store: Store, clock: ManualClock) -> None:
    await store.purge(clock.now() + WEEK_S, limit=100)


async def _expire(store: Store, clock: ManualClock) -> None:
    await store.outbox.expire(clock.now() + WEEK_S, served=("rest",), at=clock.now())


async def _use(store: Store, clock: ManualClock) -> None:
    link, session = (hashlib.sha256(name).digest() for name in (b"code", b"session"))
    now = clock.now()
    new = NewSession(digest=session, label="new", now=now, expires_at=now + WEEK_S)
    await store.access.use_link("signin", link, new)


async def _spend(store: Store, clock: ManualClock) -> None:
    account = Account(person_id="p_0001", agent="main", channel="v1", key="k_ann")
    spent = SpendEntry(
        day="2026-11-15", account=account, model="m", usage=Usage(10, 5, cost_usd=0.5)
    )
    line = CallLine(id="c_2", at=clock.now(), data={})
    await store.spend.add([spent, spent], lines=[line])


async def _stop_models(store: Store, clock: ManualClock) -> None:
    await store.spend.set_kill_switch(KillSwitch(is_on=True, at=clock.now(), by="ops"))


async def _add_key(store: Store, clock: ManualClock) -> None:
    if await store.keys.find(_digest("k_new")) is None:
        await _make_key(store, "k_new", user="newcomer")


async def _revoke(store: Store, clock: ManualClock) -> None:
    await store.keys.revoke("k_ann", at=clock.now())


async def _remember(store: Store, clock: ManualClock) -> None:
    person = await store.people.find("v1", "ann")
    assert person is not None
    await store.answers.put(_answer("second", person.id, at=clock.now() + 1), keep=1, each=1)


async def _forget(store: Store, clock: ManualClock) -> None:
    await store.answers.forget(before=clock.now() + 2 * WEEK_S)


async def _grant(store: Store, clock: ManualClock) -> None:
    person = await store.people.find("rest", "ann")
    assert person is not None
    grant = NewGrant(id="g_1", person_id=person.id, amount=7, at=clock.now(), reason="a test")
    await store.wallets.grant(grant)


async def _refund(store: Store, clock: ManualClock) -> None:
    await store.wallets.refund(NewRefund(message_id="m_old0", at=clock.now()))


async def _refer(store: Store, clock: ManualClock) -> None:
    person, other = await store.people.find("rest", "ann"), await store.people.find("rest", "dee")
    assert person is not None
    assert other is not None
    referral = NewReferral(
        person_id=person.id, referred_by=other.id, bonus=3, most=1, at=clock.now()
    )
    await store.wallets.refer(referral)


async def _learn(store: Store, clock: ManualClock) -> None:
    person_id = await _ann(store)
    put = (_fact("f_new", person_id), _fact("f_old", person_id))
    await store.facts.change(person_id, lambda _: FactChange(put=put))


async def _keep_vectors(store: Store, clock: ManualClock) -> None:
    person_id = await _ann(store)
    facts = await store.vectors.waiting(person_id, limit=9)
    page = Page.of([VectorEntry(fact.id, (1.0, 2.0)) for fact in facts], "words:1")
    await store.vectors.keep(person_id, page, facts=facts)


async def _renew_vectors(store: Store, clock: ManualClock) -> None:
    await store.vectors.renew(await _ann(store))


async def _finish_job(store: Store, clock: ManualClock) -> None:
    person_id = await _ann(store)
    jobs = await store.jobs.due(clock.now() + WEEK_S, limit=1, kinds=(EXTRACT,))
    change = FactChange(put=(_fact("f_job", person_id),))
    for job in jobs:
        await store.jobs.finish(job, lambda _: change, covered=1, spent=())


async def _put_off_job(store: Store, clock: ManualClock) -> None:
    for job in await store.jobs.due(clock.now() + WEEK_S, limit=1, kinds=(EXTRACT,)):
        await store.jobs.put_off(job, due_at=None, reason="no model", spent=())


async def _send(store: Store, clock: ManualClock) -> None:
    send = NewSend(
        id="o_sent",
        message_id="m_waiting",
        person_id=await _ann(store),
        target=Target(platform="rest", account="a", chat_id="eve"),
        parts=(TextPart("hello"),),
        state=DeliveryState.PENDING,
        at=clock.now(),
        mirrors=(SESSION, "agent:main:rest:dm:nobody"),
    )
    await store.sends.put(send, kept=lambda _lanes: None)


async def _begin_dream(store: Store, clock: ManualClock) -> None:
    await store.dreams.begin(await _ann(store), at=clock.now())


async def _finish_dream(store: Store, clock: ManualClock) -> None:
    for job in await store.jobs.due(clock.now() + WEEK_S, limit=9, kinds=(DREAM,)):
        dream = Dream(at=clock.now(), insights=("runs",))
        account = Account(person_id=PLATFORM, channel=DREAM)
        spent = SpendEntry(day="2026-11-15", account=account, model="m", usage=Usage(10, 5))
        await store.dreams.finish(job, dream, covered=1, seen=("f_old",), spent=[spent])


async def _ann(store: Store) -> str:
    person = await store.people.find("v1", "ann")
    assert person is not None
    return person.id


def _fact(name: str, person_id: str) -> Fact:
    return Fact(
        id=name, person_id=person_id, key=name, value="x", source="m_1", at=1.0, updated_at=1.0
    )


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


async def _make_key(store: Store, name: str, *, user: str) -> CallerKey:
    key = CallerKey(id=name, label="", user=user, person_id="", hint="", created_at=1.0)
    return await store.keys.add(key, digest=_digest(name), user=user)


def _answer(name: str, person_id: str, *, at: float) -> KeptAnswer:
    return KeptAnswer(
        digest=_digest(name),
        person_id=person_id,
        agent="main",
        model="m",
        call_id="c_1",
        body=b"{}",
        usage=Usage(10, 5),
        stop_reason="end",
        at=at,
        expires_at=at + WEEK_S,
    )


async def _end_session(store: Store, clock: ManualClock) -> None:
    await store.sessions.end("dee", epoch=0, reason="idle", at=clock.now())


UNITS: dict[str, Act] = {
    "store.end_session": _end_session,
    "store.erase": _erase,
    "store.undo": _undo,
    "store.tidy_counts": _tidy_counts,
    "store.consent": _consent,
    "store.set_language": _speak,
    "store.abandon": _abandon,
    "store.rotate": _rotate,
    "store.purge": _purge,
    "store.expire_deliveries": _expire,
    "store.use_credential": _use,
    "store.add_spend": _spend,
    "store.set_kill_switch": _stop_models,
    "store.add_key": _add_key,
    "store.revoke_key": _revoke,
    "store.put_answer": _remember,
    "store.forget_answers": _forget,
    "store.change_facts": _learn,
    "store.keep_vectors": _keep_vectors,
    "store.renew_vectors": _renew_vectors,
    "store.finish_job": _finish_job,
    "store.put_off_job": _put_off_job,
    "store.begin_dream": _begin_dream,
    "store.finish_dream": _finish_dream,
    "store.send": _send,
    "store.grant_credits": _grant,
    "store.refund_credits": _refund,
    "store.refer": _refer,
    **people_units.UNITS,
    **question_units.UNITS,
    **cron_units.UNITS,
    **operator_units.UNITS,
    **agent_units.UNITS,
    **secret_units.UNITS,
    **sign_in_units.UNITS,
    **task_units.UNITS,
    **pruning_units.UNITS,
    **compaction_units.UNITS,
    **directory_units.UNITS,
    **channel_units.UNITS,
    **fleet_units.UNITS,
    **preview_units.UNITS,
    **response_units.UNITS,
    **call_units.UNITS,
    **replay_units.UNITS,
}
SIDES = ("before", "after")
POINTS = tuple(f"{name}.{side}" for name in UNITS for side in SIDES)


async def _fill(folder: Path, seed: int) -> None:
    """Make the store as it is before the unit."""
    clock = ManualClock()
    store = await open_store(folder, key_file=OLD_KEY, clock=clock, make_id=Ids(), options=SYNCED)
    chance = random.Random(seed)
    for number in range(chance.randint(1, 4)):
        await answer(store, f"old{number}", user=chance.choice(("ann", "bob")), clock=clock)
    counted = Interaction(agent="main", platform="gone")
    await answer(store, "unserved", user="dee", clock=clock, platform="gone", interaction=counted)
    await accept(store, "waiting", user="ann", clock=clock)
    await accept(store, "there", user=SESSION, clock=clock)
    digest = hashlib.sha256(b"code").digest()
    await store.access.add("signin", digest, label="link", expires_at=clock.now() + WEEK_S)
    key = await _make_key(store, "k_ann", user="ann")
    record = await store.inbox.get("m_waiting")
    assert record is not None
    for person_id in (record.person_id, key.person_id):
        await store.answers.put(_answer("first", person_id, at=clock.now()), keep=10, each=10)
    await store.spend.add([], lines=[CallLine(id="c_1", at=clock.now(), data={})])
    old = FactChange(put=(_fact("f_old", key.person_id),))
    await store.facts.change(key.person_id, lambda _: old)
    await _keep_vectors(store, clock)
    late = FactChange(put=(_fact("f_late", key.person_id),))
    await store.facts.change(key.person_id, lambda _: late)
    job = NewJob(
        kind="extract",
        key="extract:1",
        lane="lane",
        epoch=0,
        person_id=key.person_id,
        due_at=1.0,
        latest_at=1.0,
    )
    await call_units.prepare_calls(store, clock)
    await pruning_units.prepare_old(store, clock)
    await compaction_units.prepare_long(store, clock)
    await directory_units.prepare_chats(store, clock)
    await channel_units.prepare_state(store, clock)
    await agent_units.prepare_agents(store, clock)
    await secret_units.prepare_secrets(store, clock)
    await task_units.prepare_pushes(store, clock)
    await answer(store, "learnt", user="eve", clock=clock, job=job)
    # Before this process is a node: the one that ends the replay is none.
    await replay_units.prepare_replays(store, clock)
    await fleet_units.prepare_nodes(store, clock)
    await people_units.prepare_people(store, clock)
    await people_units.prepare_erased(store, clock)
    await question_units.prepare_question(store, clock)
    await store.dreams.begin(key.person_id, at=clock.now())
    await cron_units.prepare_jobs(store, clock)
    await operator_units.prepare_orders(store, clock)
    await preview_units.prepare_preview(store, clock)
    await response_units.prepare_responses(store, clock)
    await sign_in_units.prepare_sign_ins(store, clock)
    await store.close()


async def _act(folder: Path, unit: str, *, seed: int, armed: str = "") -> None:
    """Do the unit, with neighbours in the same commit, dying where it is armed."""
    clock = ManualClock()
    store = await open_store(
        folder, key_file=NEW_KEY, clock=clock, make_id=_later_ids(), options=SYNCED
    )
    failpoints.arm_from(armed)
    # They are committed together with the first unit; a rotation seals again before it.
    count = 0 if unit == "store.rotate" else seed % 3
    neighbours = [accept(store, f"near{number}", user="cy", clock=clock) for number in range(count)]
    await asyncio.gather(UNITS[unit](store, clock), *neighbours)
    await store.close()


def _later_ids() -> Ids:
    ids = Ids()
    for _ in range(100):
        ids("skipped")
    return ids


def _picture(folder: Path) -> Picture:
    """Return what the store holds, without what is random; and which key wraps the data keys."""
    with opened_tables(folder, key_file=NEW_KEY) as opened:
        assert opened.problems() == []
        rows = opened.tables.rows
        seen: Picture = {
            table: [*sorted(map(repr, rows(f"SELECT {columns} FROM {table}")))]
            for table, columns in _TABLES.items()
        }
        wraps = [row[0] for row in rows("SELECT wrapped FROM person_keys")]
        seen["wrapped anew"] = [_opens(NEW_KEY.split()[0], wrap) for wrap in wraps]
        return seen


def _opens(key: bytes, wrapped: object) -> bool:
    assert isinstance(wrapped, bytes)
    try:
        Fernet(key).decrypt(wrapped)
    except InvalidToken:
        return False
    return True


def in_fork(work: Callable[[], None]) -> int:
    """Do the work in a process of its own; returns its wait status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    try:
        work()
    finally:
        os._exit(0)


class Before:
    """The store as it is before any unit with one seed: made once, and copied for every kill."""

    def __init__(self, seed: int, *, folder: Path) -> None:
        self.seed = seed
        self._folder = folder
        self._filled = folder / "filled"
        self._filled.mkdir(parents=True)
        asyncio.run(_fill(self._filled, seed))
        self.picture = _picture(self._filled)
        self._after: dict[str, Picture] = {}

    def copy(self, name: str) -> Path:
        """Return the folder of another store that is the same; nobody has the first one open."""
        made = self._folder / name
        made.mkdir()
        copy_store(self._filled, to=made)
        return made

    def begun(self, unit: str) -> Picture:
        """Return what the store holds when a unit begins."""
        first = call_units.AFTER.get(unit)
        return self.picture if first is None else self.after(first)

    def after(self, unit: str) -> Picture:
        """Return what the store holds once a unit was done, without a kill in it."""
        if unit not in self._after:
            self._after[unit] = self._done(unit)
            changed = self._after[unit] != self.begun(unit)
            assert changed, f"{unit} changed nothing, so a kill in it proves nothing"
        return self._after[unit]

    def _done(self, unit: str) -> Picture:
        whole = self.copy(f"{unit}.whole")
        following = [then for then, first in call_units.AFTER.items() if first == unit]
        if following:
            _die_at(f"{following[0]}.before", whole, unit=unit, seed=self.seed)
        else:
            asyncio.run(_act(whole, unit, seed=self.seed))
        return _picture(whole)


def _die_at(point: str, folder: Path, *, unit: str, seed: int) -> None:
    """Do a unit in a process of its own that dies at a failpoint."""
    status = in_fork(lambda: asyncio.run(_act(folder, unit, seed=seed, armed=f"{point}:1")))
    assert status == signal.SIGKILL, f"{point} was not reached (status {status})"


def kill_at(point: str, before: Before, *, after: Picture) -> None:
    """Kill a process at one failpoint and compare the store with what it may be."""
    unit, _, side = point.rpartition(".")
    seed, killed = before.seed, before.copy(f"{point}.killed")
    _die_at(point, killed, unit=unit, seed=seed)
    found = _picture(killed)
    expected = after if side == "after" else before.begun(unit)
    assert found == expected, f"{point}, seed {seed}: {found} instead of {expected}"
    asyncio.run(_act(killed, unit, seed=seed))
    assert _picture(killed)["inbox"] == after["inbox"], f"{point}: doing it again differs"


def main(arguments: list[str]) -> None:
    """Kill at every point with every seed."""
    folder, seeds = Path(arguments[0]), int(arguments[1])
    kills = 0
    for seed in range(seeds):
        before = Before(seed, folder=folder / str(seed))
        for unit in UNITS:
            after = before.after(unit)
            for side in SIDES:
                kill_at(f"{unit}.{side}", before, after=after)
                kills += 1
        shutil.rmtree(folder / str(seed))
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

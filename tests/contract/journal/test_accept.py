"""J1 to J3: a message becomes ours once, or is refused before anything is kept."""

from pathlib import Path

import pytest

from hermes.errors import Conflict, Overloaded, StorageFull
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import equals, open_rig
from tests.stores.engine import Options
from tests.stores.opening import open_store, tables


@pytest.mark.req("J1", "A8")
async def test_j1_the_same_id_and_body_is_answered_as_before(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("hello", name="one")
        await rig.outcome(first)

        again = await rig.say("hello", name="one")

        assert again == first
        assert len(rig.model.calls) == 1
        assert (await rig.kinds(first)).count("duplicate") == 1


@pytest.mark.req("J1")
async def test_j1_the_same_id_with_another_body_is_refused(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("hello", name="one")

        with pytest.raises(Conflict, match=first):
            await rig.say("goodbye", name="one")

        assert await rig.outcome(first) == "answered"
        assert rig.model.calls[-1].request.messages[-1].text == "hello"


@pytest.mark.req("J1")
async def test_j1_ids_of_other_platforms_do_not_collide(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        on_rest = await rig.say("hello", name="one")
        on_push = await rig.say("other text", name="one", platform="push")

        assert on_rest != on_push


@pytest.mark.req("J1")
@pytest.mark.parametrize(("account", "route"), [("second", "api"), ("default", "hooks")])
async def test_j1_ids_of_other_accounts_and_routes_do_not_collide(
    tmp_path: Path, account: str, route: str
) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("hello", name="one")
        second = await rig.say("another text", name="one", account=account, route=route)
        again = await rig.say("another text", name="one", account=account, route=route)
        outcomes = [await rig.outcome(one) for one in (first, second)]

        assert first != second == again
        assert outcomes == ["answered", "answered"]
        asked = [call.request.messages[-1].text for call in rig.model.calls]
        assert asked == ["hello", "another text"]


@pytest.mark.req("J1")
async def test_j1_finished_rows_are_kept_for_eight_days(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello", name="one")
        await rig.outcome(message_id)

        rig.clock.advance(8 * 86_400 - 60)
        await rig.core.maintenance.upkeep.round()
        kept = await rig.store.inbox.get(message_id)
        rig.clock.advance(120)
        await rig.core.maintenance.upkeep.round()

        assert kept is not None
        assert await rig.store.inbox.get(message_id) is None
        history = (await rig.store.transcripts.history(rig.lane(), epoch=0, head=2)).messages
        assert [entry.text for entry in history] == ["hello", "#1 hello"]


@pytest.mark.req("J1", "W9")
async def test_j1_a_conversation_outlives_the_rows_of_its_messages(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"SESSIONS__RESET__MODE": "none"}) as rig:
        await rig.answer("hello")
        before = (await rig.core.gateway_api.conversation("rest", "ann", limit=10)).messages
        rig.clock.advance(9 * 86_400)
        await rig.core.maintenance.upkeep.round()
        await rig.answer("still there?")

        after = (await rig.core.gateway_api.conversation("rest", "ann", limit=10)).messages
        said = [
            (one.record.event.text, one.result.text)
            for one in after
            if one.record.event is not None and one.result is not None
        ]
        assert said == [("hello", "#1 hello"), ("still there?", "#2 still there?")]
        assert after[0].record.id == before[0].record.id
        assert before[0].result is not None
        assert after[0].result is not None
        assert after[0].result.usage.tokens_in == before[0].result.usage.tokens_in
        assert (await rig.core.gateway_api.conversations("rest", limit=9))[0]["title"] == "hello"


@pytest.mark.req("J2", "A28")
async def test_j2_past_the_limit_of_waiting_rows_nothing_is_accepted(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False, settings={"INBOX__MAX_WAITING": "2"}) as rig:
        await rig.say("one")
        await rig.say("two")

        with pytest.raises(Overloaded, match="max_waiting") as refusal:
            await rig.say("three")

        assert refusal.value.retry_after > 0
        assert rig.store.inbox.waiting() == 2


@pytest.mark.req("A28", "J2")
async def test_a28_past_the_limit_of_waiting_replies_a_platform_is_told_to_come_back(
    tmp_path: Path,
) -> None:
    settings = {"OUTBOX__MAX_WAITING": "2"}
    async with open_rig(tmp_path, sending=False, settings=settings) as rig:
        for chat in ("ann", "bob"):
            await rig.outcome(await rig.say("hello", platform="push", chat=chat))

        with pytest.raises(Overloaded, match=r"outbox\.max_waiting") as refusal:
            await rig.say("hello", platform="push", chat="cid")

        assert refusal.value.retry_after > 0
        assert await rig.store.outbox.waiting("push") == 2
        assert rig.store.inbox.waiting() == 0
        # Whoever fetches the answer waits for nobody's replies.
        assert await rig.answer("hello") != ""
        rig.core.push.connected(rig.push)
        await rig.as_time_passes(equals(lambda: rig.store.outbox.waiting("push"), 0))
        assert await rig.outcome(await rig.say("hello", platform="push", chat="cid")) == "answered"


@pytest.mark.req("J2")
async def test_j2_a_touched_disk_reserve_refuses_new_and_lets_running_turns_commit(
    tmp_path: Path,
) -> None:
    free = [2**30]
    async with open_rig(tmp_path, measure=lambda _: free[0]) as rig:
        message_id = await rig.say("[[slow:0.01]] before")
        free[0] = 1000
        rig.clock.advance(2)

        with pytest.raises(StorageFull, match="disk_reserve_mb") as refusal:
            await rig.say("after")

        assert refusal.value.retry_after > 0
        assert await rig.outcome(message_id) == "answered"
        assert "disk_reserve_mb" in (await rig.store.status())["writable"]


@pytest.mark.sqlite_only
@pytest.mark.req("J2")
async def test_j2_a_database_that_cannot_grow_keeps_nothing_and_still_serves(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        kept = await rig.say("hello", name="kept")
        await rig.outcome(kept)
    store = await open_store(tmp_path, options=Options(disk_reserve_mb=0, max_pages=1))

    huge = "x" * 1_000_000
    with pytest.raises(StorageFull, match="disk is full"):
        await store.access.add("token", b"digest", label=huge, expires_at=None)

    result = await store.inbox.result(kept)
    assert result is not None
    assert result.text == "#1 hello"
    await store.close()


@pytest.mark.req("J2", "A8")
async def test_j2_refusals_are_kept_bounded_and_explained(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"INBOX__REFUSALS_KEPT": "2"}) as rig:
        ids = [
            await rig.core.inbox.refuse("rest", Conflict(f"number {number}"), external_id="x")
            for number in range(3)
        ]

        assert await rig.store.timeline(str(ids[0])) is None
        newest = await rig.timeline(str(ids[2]))
        assert newest.refusal is not None
        assert (newest.refusal.code, newest.refusal.text) == ("conflict", "number 2")


@pytest.mark.req("J2")
async def test_j2_no_id_is_given_for_a_refusal_that_nobody_could_record(tmp_path: Path) -> None:
    free = [2**30]
    async with open_rig(tmp_path, measure=lambda _: free[0]) as rig:
        free[0] = 1000
        rig.clock.advance(2)

        refused = await rig.core.inbox.refuse("rest", StorageFull("no room"), external_id="x")

        free[0] = 2**30
        rig.clock.advance(2)
        recorded = await rig.core.inbox.refuse("rest", StorageFull("no room"), external_id="y")
        assert refused is None
        assert (await rig.timeline(str(recorded))).refusal is not None


@pytest.mark.sqlite_only
@pytest.mark.req("J2")
async def test_j2_a_damaged_database_tells_senders_to_come_back_and_is_not_ready(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.outcome(await rig.say("hello", name="kept"))
        with tables(tmp_path) as found:
            root = found.one("SELECT rootpage FROM sqlite_master WHERE name = 'inbox'")
            size = found.one("PRAGMA page_size")
            found.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with (tmp_path / "hermes.db").open("r+b") as file:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)
        # A connection keeps pages in memory until it sees that somebody else has written.
        with tables(tmp_path) as found:
            found.execute("UPDATE meta SET value = value")

        with pytest.raises(StorageFull, match="hermes restore") as refusal:
            await rig.say("after", name="after")

        assert refusal.value.retry_after > 0
        assert "damaged" in (rig.store.writable() or "")
        with pytest.raises(StorageFull, match="damaged"):
            await rig.say("later", name="later")


@pytest.mark.req("J3")
async def test_j3_a_message_that_waited_an_hour_expires_and_says_so_once(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, start=False, sending=False) as rig:
        first = await rig.say("one", platform="push")
        second = await rig.say("two", platform="push")
    clock.advance(3601)

    async with open_rig(tmp_path, clock=clock) as rig:
        outcomes = [await rig.outcome(first), await rig.outcome(second)]
        fresh = await rig.answer("three", platform="push")
        await rig.until(equals(rig.store.outbox.waiting, 0))

        assert outcomes == ["expired", "expired"]
        said = rig.push.texts("ann")
        assert [text for text in said if "send it again" in text] == said[:1]
        assert fresh == "#1 three"

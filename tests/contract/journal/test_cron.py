"""Scheduled jobs from the chat to the reply: once per instant, at most one catch-up, paid by the owner."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes.app.make_schedule import make_schedules
from hermes.errors import BadRequest, Forbidden
from hermes.message.event import MessageEvent, ScheduledRun
from hermes.message.ids import make_id
from hermes.message.source import Source
from hermes.ports.channel import Capabilities
from hermes.ports.cron import CronJob, CronOrigin, Scheduler
from hermes.ports.turns import MessageRecord
from hermes.schedule.cron_run import due_run
from hermes.schedule.cron_worker import CronWorker
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, ToolUse
from hermes.tools.builtin.schedule import Schedule
from tests.contract.journal.rig import Rig, RunTool, open_rig, settings_of
from tests.stores.opening import raw_bytes

pytestmark = pytest.mark.req("W29", "J23")
DAY_S = 86_400.0
COUNTER = iter(range(1_000))
PUSH_ONLY = Capabilities(delivery="push", unknown="allow", busy="queue")


def at(text: str) -> ManualClock:
    """Return a clock that shows a time in UTC."""
    return ManualClock(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def set_clock(rig: Rig, text: str) -> None:
    """Move the time on, as it passes."""
    rig.clock.advance(at(text).now() - rig.clock.now())


def open_cron(
    home: Path, *, settings: Mapping[str, str] | None = None, **more: Any
) -> AbstractAsyncContextManager[Rig]:
    """Open a core whose clocks show UTC, and whose conversations go on for days."""
    steady = {"TIME_ZONE": "UTC", "SESSIONS__RESET__MODE": "none"}
    return open_rig(home, settings={**steady, **(settings or {})}, **more)


class JumpingClock(ManualClock):
    """A clock whose wall time can be set, while the other goes on."""

    def jump(self, seconds: float) -> None:
        self._now += seconds


async def runs(rig: Rig) -> list[MessageRecord]:
    """Return the messages that jobs made, the oldest first."""
    told = await rig.store.transcripts.conversation(rig.lane(), limit=100)
    records = [one.record for one in told.messages]
    return [record for record in records if record.external_id.startswith("j_")]


async def texts(rig: Rig) -> list[str]:
    """Return what those were answered."""
    results = [await rig.store.inbox.result(record.id) for record in await runs(rig)]
    return [result.text for result in results if result is not None]


async def schedule(rig: Rig, words: str, *, platform: str = "rest") -> CronJob:
    """Say `/schedule` and return the newest job."""
    assert "Scheduled." in await rig.answer(f"/schedule {words}", platform=platform)
    person = await rig.store.people.find(platform, "ann")
    assert person is not None
    return (await rig.store.cron.of_person(person.id))[-1]


def always(text: str) -> Script:
    """Return a model that always says the same."""
    return lambda _seen, _number: ScriptedTurn(text=text)


async def look(rig: Rig) -> None:
    """Let the worker look, and every run come to its end."""
    await rig.core.cron.worker.round()
    await rig.until(lambda: rig.store.inbox.waiting() == 0)


async def test_a_job_runs_at_its_time_and_answers_in_its_chat(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        # Given a job that was made in a chat
        told = await rig.answer("/schedule every weekday at 9 in Berlin: what is new?")
        assert "Mon-Fri 09:00 Europe/Berlin, next: Mon 2026-11-16 09:00 Europe/Berlin" in told

        # When it is not due yet, and when it is
        set_clock(rig, "2026-11-16 07:59")
        await look(rig)
        assert await runs(rig) == []
        set_clock(rig, "2026-11-16 08:00")
        await look(rig)
        await look(rig)

        # Then it ran once, as a message of its owner in that session
        (run,) = await runs(rig)
        assert run.event is not None
        assert run.external_id.endswith(f"@{rig.clock.now():.0f}")
        assert (run.event.text, run.outcome) == ("what is new?", "answered")
        (job,) = await rig.store.cron.of_person(run.person_id)
        assert (job.runs, job.missed, job.outcome) == (1, 0, "answered")
        assert job.next_at == at("2026-11-17 08:00").now()


async def test_a_job_runs_once_across_a_change_of_clocks(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-10-24 12:00")) as rig:
        await schedule(rig, "every day at 2:30 in Berlin: hello")

        # 02:30 comes twice in the night to the 25th.
        for time in ("2026-10-25 00:30", "2026-10-25 01:30", "2026-10-26 01:30"):
            set_clock(rig, time)
            await look(rig)

        due = [run.external_id.partition("@")[2] for run in await runs(rig)]
        assert due == [f"{at(t).now():.0f}" for t in ("2026-10-25 00:30", "2026-10-26 01:30")]


async def test_missed_runs_are_told_and_only_the_latest_is_caught_up(tmp_path: Path) -> None:
    clock = at("2026-11-16 07:00")
    async with open_cron(tmp_path, clock=clock) as rig:
        await schedule(rig, "every day at 9: hello")
        await rig.crash()
    # Three days nobody was there.
    clock.advance(at("2026-11-19 11:00").now() - clock.now())
    async with open_cron(tmp_path, clock=clock) as rig:
        await look(rig)
        await look(rig)

        (text,) = await texts(rig)
        assert text.startswith(
            "(This was due Thu 2026-11-19 09:00 UTC and could not run then. "
            "3 runs were missed before it, since Mon 2026-11-16 09:00 UTC.)\n\n"
        )
        told = await rig.answer("/schedule")
        assert "next: Fri 2026-11-20 09:00 UTC, 3 missed" in told


async def test_a_restart_between_runs_changes_nothing(tmp_path: Path) -> None:
    clock = at("2026-11-16 07:00")
    async with open_cron(tmp_path, clock=clock) as rig:
        await schedule(rig, "every day at 9: hello")
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
    async with open_cron(tmp_path, clock=clock) as rig:
        await look(rig)
        assert len(await runs(rig)) == 1
        set_clock(rig, "2026-11-17 09:00")
        await look(rig)
        assert len(await runs(rig)) == 2
        assert "missed" not in "".join(await texts(rig))


async def admit_all(_event: MessageEvent) -> bool:
    return True


async def test_two_workers_run_an_instant_once(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        for number in range(5):
            await schedule(rig, f"every day at 9: hello {number}")
        set_clock(rig, "2026-11-16 09:00")
        other = CronWorker(
            rig.store,
            admits=admit_all,
            has_room=lambda: True,
            wake=rig.core.lanes,
            clock=rig.clock,
            make_id=lambda prefix: f"{prefix}_other{next(COUNTER)}",
        )

        await asyncio.gather(other.round(), rig.core.cron.worker.round(), other.round())
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        assert sorted(run.event.text for run in await runs(rig) if run.event) == [
            f"hello {number}" for number in range(5)
        ]


@pytest.mark.parametrize("change", ["removed", "paused", "moved"])
async def test_a_job_that_changed_after_the_look_is_not_run(tmp_path: Path, change: str) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), start=False) as rig:
        # Given a job that was found due
        await rig.store.users.add("rest", "ann", name=None, at=rig.clock.now())
        schedules = make_schedules(rig.store, settings_of(tmp_path, {}), clock=rig.clock)
        ann = await rig.store.people.find("rest", "ann")
        assert ann is not None
        source = Source(platform="rest", chat_id="ann", user_id="ann")
        origin = CronOrigin(person_id=ann.id, source=source, account="a", lane=rig.lane())
        job = await schedules.add(origin, when="every day at 9 UTC", text="hello")
        set_clock(rig, "2026-11-16 09:00")
        assert job.task is not None
        run = due_run(job, job.task, now=rig.clock.now(), make_id=make_id)

        # When it changes before its run is written
        changes = {
            "removed": lambda: schedules.remove(job.id),
            "paused": lambda: schedules.pause(job.id),
            "moved": lambda: rig.store.cron.set(job, next_at=rig.clock.now() + 60),
        }
        await changes[change]()

        # Then nothing is written
        assert await rig.store.cron.run(run, kept=lambda _: None) is None
        assert rig.store.inbox.waiting() == 0
        assert await runs(rig) == []


async def test_a_clock_that_leaps_a_day_ahead_and_back_makes_no_storm_and_gets_stuck_nowhere(
    tmp_path: Path,
) -> None:
    clock = JumpingClock(at("2026-11-16 07:01").now())
    async with open_cron(tmp_path, clock=clock) as rig:
        await schedule(rig, "every 15 minutes: hello")
        await look(rig)

        # When the clock leaps ahead by a day, one run catches up
        clock.jump(DAY_S)
        await look(rig)
        await look(rig)
        assert len(await runs(rig)) == 1

        # and when it is put right, the job does not wait for a day
        clock.jump(-DAY_S)
        await look(rig)
        assert len(await runs(rig)) == 1
        clock.advance(14 * 60)
        await look(rig)
        assert len(await runs(rig)) == 2
        assert (await texts(rig))[1].count("missed") == 0


async def test_an_instant_that_comes_again_because_the_clock_was_set_back_is_not_run_again(
    tmp_path: Path,
) -> None:
    clock = JumpingClock(at("2026-11-16 08:59").now())
    async with open_cron(tmp_path, clock=clock) as rig:
        job = await schedule(rig, "every day at 9: hello")
        await look(rig)
        clock.advance(120)
        await look(rig)
        assert len(await runs(rig)) == 1

        # The same morning once more, and the day after it.
        clock.jump(-600)
        await look(rig)
        clock.advance(600)
        await look(rig)
        assert len(await runs(rig)) == 1
        moved = await rig.store.cron.get(job.id)
        assert moved is not None
        assert moved.next_at == at("2026-11-17 09:00").now()
        clock.advance(DAY_S)
        await look(rig)
        assert len(await runs(rig)) == 2


@pytest.mark.req("J11")
async def test_the_owner_pays(tmp_path: Path) -> None:
    limits = {"CREDITS__POLICY": "wallet", "CREDITS__START_GRANT": "1"}
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), settings=limits) as rig:
        job = await schedule(rig, "every day at 9: hello")
        for day in ("2026-11-16 09:00", "2026-11-17 09:00"):
            set_clock(rig, day)
            await look(rig)

        assert [run.outcome for run in await runs(rig)] == ["answered", "refused"]
        assert await rig.store.people.balance(job.person_id) == 0


async def test_a_one_time_job_ends_with_its_run(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "in 2 hours: call Bob")
        set_clock(rig, "2026-11-16 09:00:01")
        await look(rig)
        set_clock(rig, "2026-11-20 09:00")
        await look(rig)

        assert len(await runs(rig)) == 1
        assert "done (answered)" in await rig.answer("/schedule")
        with pytest.raises(BadRequest, match="run for the last time"):
            await rig.core.cron.schedules.pause(job.id)


async def test_a_paused_job_rests_and_goes_on_without_catching_up(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: hello")
        assert "paused" in await rig.answer(f"/schedule pause {job.id}")
        set_clock(rig, "2026-11-18 10:00")
        await look(rig)
        assert await runs(rig) == []

        assert "next: Thu 2026-11-19" in await rig.answer(f"/schedule resume {job.id[-6:]}")
        set_clock(rig, "2026-11-19 09:00")
        await look(rig)
        assert [text.count("missed") for text in await texts(rig)] == [0]


async def test_a_job_runs_by_hand_beside_its_times(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: hello")
        await rig.answer(f"/schedule run {job.id}")
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        assert len(await runs(rig)) == 1
        after = await rig.store.cron.get(job.id)
        assert after is not None
        assert (after.next_at, after.runs) == (job.next_at, 1)
        assert await rig.answer(f"/schedule output {job.id}") == (await texts(rig))[0]


async def test_jobs_are_bounded(tmp_path: Path) -> None:
    limits = {"CRON__JOBS_PER_PERSON": "1", "CRON__TEXT_CHARS": "10", "CRON__LEAST_GAP_S": "3600"}
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), settings=limits) as rig:
        await schedule(rig, "every day at 9: hello")

        assert "cron.jobs_per_person" in await rig.answer("/schedule every day at 10: hello")
        assert "cron.text_chars" in await rig.answer("/schedule every day at 10: hello hello")
        assert "cron.least_gap_s" in await rig.answer("/schedule every 15 minutes: hello")
        assert "not a command" in await rig.answer("/schedule every day at 10: /new")
        assert "I do not understand 'blorp'" in await rig.answer("/schedule every blorp at 9: hi")
        assert "when and what" in await rig.answer("/schedule every day at 10")


async def test_jobs_are_their_owners_alone(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: a secret")

        assert "There is no job" in await rig.answer(f"/schedule show {job.id}", chat="bob")
        assert "There is no job" in await rig.answer(f"/schedule remove {job.id}", chat="bob")
        assert "Nothing is scheduled" in await rig.answer("/schedule", chat="bob")
        in_group = await rig.answer("/schedule", chat="room", user="ann", chat_type="group")
        assert "Nothing is scheduled" in in_group
        elsewhere = await rig.answer(
            f"/schedule show {job.id}", chat="room", user="ann", chat_type="group"
        )
        assert elsewhere.startswith("That job is from another chat")
        assert b"a secret" not in raw_bytes(tmp_path)
        assert "Removed." in await rig.answer(f"/schedule remove {job.id}")
        assert await rig.store.cron.get(job.id) is None


async def test_a_command_that_is_done_again_makes_one_job(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)
        schedules = rig.core.cron.schedules
        origin = await schedules.origin(message_id)
        for _ in range(2):
            await schedules.add(origin, when="every day at 9", text="hello", name="once")

        assert [job.id for job in await schedules.of_person(origin.person_id)] == ["j_once"]


@pytest.mark.req("J24")
async def test_a_group_is_not_told_the_ids_of_jobs_of_other_chats(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:

        async def in_group(text: str) -> str:
            return await rig.answer(text, chat="room", user="ann", chat_type="group")

        await schedule(rig, "every day at 9: a")
        await schedule(rig, "every day at 9: b")
        await in_group("/schedule every day at 9: c")
        (here,) = [one for one in await rig.store.cron.page(limit=9) if "room" in lane_of(one)]

        alone = await rig.answer(f"/schedule show {here.id[:4]}", chat="ann")
        among = await in_group(f"/schedule show {here.id[:4]}")
        await in_group(f"/schedule remove {here.id}")
        without = await in_group(f"/schedule show {here.id[:4]}")

        assert alone.count(here.id[:4]) == 4
        assert here.id in among
        assert (
            without
            == "'" + here.id[:4] + "' is short for several ids. Write more of the one you mean."
        )


def lane_of(job: CronJob) -> str:
    assert job.task is not None
    return job.task.origin.lane


async def test_erasing_a_person_ends_their_jobs(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: hello")
        await rig.store.people.erase(job.person_id, at=rig.clock.now())
        assert await rig.store.cron.get(job.id) is None
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)

        assert await rig.store.cron.page(limit=10) == ()
        assert await rig.store.people.find("rest", "ann") is None


async def test_a_job_whose_account_went_to_another_person_is_paused(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: hello")
        await rig.answer("hello", chat="bob")
        bob = await rig.store.people.find("rest", "bob")
        assert bob is not None
        # Ann has another channel left, so the job stays hers.
        await rig.store.users.add("telegram", "4711", name=None, at=rig.clock.now())
        await rig.store.users.link("telegram", "4711", person_id=job.person_id, at=rig.clock.now())
        await rig.store.users.link("rest", "ann", person_id=bob.id, at=rig.clock.now())
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)

        paused = await rig.store.cron.get(job.id)
        assert paused is not None
        assert paused.reason == "rest:ann belongs to another person now"
        assert await runs(rig) == []


@pytest.mark.req("W15")
async def test_a_job_of_somebody_who_was_blocked_is_paused(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        job = await schedule(rig, "every day at 9: hello")
        await rig.store.users.set_blocked(job.person_id, blocked=True, at=rig.clock.now())
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)

        paused = await rig.store.cron.get(job.id)
        assert paused is not None
        assert paused.reason == "its owner is no longer admitted"
        assert await runs(rig) == []


async def test_nothing_runs_while_messages_are_not_taken(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        await schedule(rig, "every day at 9: hello")
        set_clock(rig, "2026-11-16 09:00")
        rig.core.inbox.draining = True
        await look(rig)
        assert await runs(rig) == []
        rig.core.inbox.draining = False
        await look(rig)
        assert len(await runs(rig)) == 1


async def test_a_long_answer_is_sent_cut_with_the_place_of_the_rest(tmp_path: Path) -> None:
    long = "word " * 1_000

    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), script=always(long)) as rig:
        job = await schedule(rig, "every day at 9: tell", platform="push")
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 2)

        sent = rig.push.texts("ann")[1]
        assert sent.startswith(long[:3800])
        assert len(sent) < 4_000
        assert f"/schedule output {job.id}" in sent
        assert (
            await rig.core.cron.schedules.output(await rig.core.cron.schedules.get(job.id)) == long
        )


class LateScheduler:
    """Hands everything to the scheduler of a core that is made after the tool."""

    def __init__(self) -> None:
        self.real: Scheduler | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


TOOL_ADD = '[[tool:schedule {"action":"add","when":"every day at 9","text":"remind them"}]]'


async def test_the_model_schedules_for_its_person_and_never_inside_a_job(tmp_path: Path) -> None:
    late = LateScheduler()
    tool = Schedule(late)  # type: ignore[arg-type]  # it stands in for a scheduler
    clock = at("2026-11-16 07:00")
    async with open_cron(tmp_path, clock=clock, tools=(tool,)) as rig:
        late.real = rig.core.cron.schedules
        # Given a job that the model made, which runs once though its call is repeated
        told = await rig.answer(f"remind me {TOOL_ADD}")
        assert "scheduled: j_" in told
        assert "every day 09:00 UTC, next: Mon 2026-11-16 09:00 UTC" in told

        # When a job asks for another
        await schedule(rig, f"every day at 10: remind me {TOOL_ADD}")
        set_clock(rig, "2026-11-16 10:00")
        await look(rig)

        # Then that is refused, and nothing was made
        said = [text for text in await texts(rig) if "schedule" in text]
        assert "A scheduled job cannot schedule others" in said[-1]
        (person,) = {run.person_id for run in await runs(rig)}
        assert len(await rig.store.cron.of_person(person)) == 2


async def test_a_subagent_of_a_job_cannot_schedule_either(tmp_path: Path) -> None:
    seen: list[ScheduledRun | None] = []

    async def delegate(context: object) -> str:
        reply: str = await context.run_child("do it", "")  # type: ignore[attr-defined]
        return reply

    async def note(context: object) -> str:
        record = await rig.store.inbox.get(context.turn_id)  # type: ignore[attr-defined]
        assert record is not None
        assert record.event is not None
        seen.append(record.event.scheduled)
        try:
            await rig.core.cron.schedules.origin(record.id)
        except Forbidden as error:
            return str(error)
        return "may schedule"

    tools = (RunTool("delegate", delegate), RunTool("note", note))

    def script(given: object, _number: int) -> ScriptedTurn:
        words = given.last_text  # type: ignore[attr-defined]
        results = given.tool_results  # type: ignore[attr-defined]
        if results:
            return ScriptedTurn(text=results[-1])
        name = "note" if words == "do it" else "delegate"
        return ScriptedTurn(tools=(ToolUse(name),))

    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), tools=tools, script=script) as rig:
        job = await schedule(rig, "every day at 9: please start the work")
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)

        assert [one.job for one in seen if one is not None] == [job.id]
        assert "A scheduled job cannot schedule others" in (await texts(rig))[0]


@pytest.mark.req("W27")
async def test_a_job_is_sent_elsewhere_and_mirrored_there(tmp_path: Path) -> None:
    push = MemoryChannel(PUSH_ONLY, name="push")
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), push=push, courier=True) as rig:
        # Given somebody who is known on two platforms
        await rig.answer("hello", platform="push")
        await rig.answer("hello")
        ann = await rig.store.people.find("rest", "ann")
        assert ann is not None
        await rig.store.users.link("push", "ann", person_id=ann.id, at=rig.clock.now())
        await rig.answer("hello", platform="push")
        assert "cannot be reached" in await rig.answer("/schedule every day at 9 -> nowhere: hi")

        # When a job of one chat goes to the other
        await schedule(rig, "every day at 9 -> push:ann: the news")
        before = len(push.texts("ann"))
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
        await rig.as_time_passes(lambda: len(push.texts("ann")) == before + 1)
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        # Then it is posted there once, and stands in that chat's transcript
        assert push.texts("ann")[-1] == (await texts(rig))[-1]
        told = await rig.answer("what was that?", platform="push")
        said = (
            await rig.store.transcripts.history(rig.lane(platform="push"), epoch=1, head=4)
        ).messages
        assert any([message.text == (await texts(rig))[-1] for message in said]), told


@pytest.mark.req("W27", "W29")
async def test_a_long_answer_is_cut_where_people_read_it_and_whole_in_a_file(
    tmp_path: Path,
) -> None:
    long, push = "word " * 1_000, MemoryChannel(PUSH_ONLY, name="push")

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text=long if seen.last_text.endswith("tell") else "hi")

    async with open_cron(
        tmp_path, clock=at("2026-11-16 07:00"), push=push, courier=True, script=script
    ) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        origin = await rig.core.cron.schedules.origin(message_id)
        for target in ("push:ann", "local"):
            job: dict[str, Any] = {"when": "every day at 9", "text": "tell", "to": target}
            await rig.core.cron.schedules.add(origin, **job, is_operators=True)
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
        await rig.as_time_passes(lambda: len(push.texts("ann")) == 2)

        assert len(push.texts("ann")[1]) < 4_000
        (file,) = (tmp_path / "delivered").iterdir()
        assert file.read_text() == long


@pytest.mark.req("W27")
async def test_a_target_that_is_gone_is_told_in_the_jobs_own_chat(tmp_path: Path) -> None:
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00")) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)
        operator = make_schedules(
            rig.store, settings_of(tmp_path, {}), clock=rig.clock, make_id=make_id
        )
        await operator.add(
            await rig.core.cron.schedules.origin(message_id),
            when="every day at 9",
            text="hello",
            to="gone:1",
            is_operators=True,
        )
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)

        assert (await texts(rig))[0].startswith(
            "(This could not be sent to gone:1: nothing can be sent"
        )


@pytest.mark.req("W27", "W29")
async def test_an_operator_sends_the_answer_to_a_chat_in_which_the_person_never_was(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(PUSH_ONLY, name="push")
    async with open_cron(tmp_path, clock=at("2026-11-16 07:00"), push=push, courier=True) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)
        await rig.answer("hi", chat="bob", platform="push")
        await rig.as_time_passes(lambda: push.texts("bob") == ["#1 hi"])
        origin = await rig.core.cron.schedules.origin(message_id)

        # Given that nobody may allow it (approvals.admins), the person alone may not
        job: dict[str, Any] = {"when": "every day at 9", "text": "the news", "to": "push:bob"}
        with pytest.raises(Forbidden):
            await rig.core.cron.schedules.add(origin, **job)
        await rig.core.cron.schedules.add(origin, **job, is_operators=True)
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
        await rig.as_time_passes(lambda: len(push.texts("bob")) == 2)

        assert push.texts("bob")[-1] == (await texts(rig))[-1]

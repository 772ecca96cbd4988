"""W5 to W7: the files that a process leaves for the next one and for whoever looks."""

from pathlib import Path

import msgspec
import pytest

from hermes.app.run_state import AtEnd, RunState, ShutdownCause
from hermes.config.server_settings import ProcessSettings
from hermes.control.status import ChannelStatus, Runtime, offline_status
from hermes.ops.forensics import Shutdown, TurnAtEnd
from hermes.ops.runtime import RuntimeFiles, Starts, read_runtime
from hermes.testing.manual_time import ManualClock

NERVOUS = ProcessSettings(crash_starts=2, crash_window_s=600)
UP = ChannelStatus(name="pigeon", state="connected")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("run", "logs"):
        (tmp_path / name).mkdir()
    return tmp_path


def shutdown_of(home: Path) -> Shutdown:
    return msgspec.json.decode(
        (home / "logs" / "gateway_shutdown.json").read_bytes(), type=Shutdown
    )


def begin(home: Path, clock: ManualClock, settings: ProcessSettings = NERVOUS) -> RunState:
    clock.advance(1)
    return RunState(home, settings, clock=clock)


@pytest.mark.req("W5")
def test_crashes_in_a_row_leave_what_ran_alone_and_then_what_waited(home):
    clock = ManualClock()

    leaves = [begin(home, clock).comeback.leaves for _ in range(5)]

    assert leaves == ["nothing", "nothing", "running", "waiting", "waiting"]


@pytest.mark.req("W5")
def test_a_proper_end_is_no_crash_and_old_crashes_are_forgotten(home):
    clock = ManualClock()
    for _ in range(5):
        begin(home, clock).ended(ShutdownCause(reason="asked"), cut_off=0)
    assert begin(home, clock).comeback.leaves == "nothing"
    begin(home, clock)
    clock.advance(601)

    life = begin(home, clock)

    assert (life.comeback.leaves, life.note) == ("nothing", None)


@pytest.mark.req("W5")
def test_a_failed_start_is_no_crash_and_0_never_guards(home):
    clock = ManualClock()
    for _ in range(5):
        begin(home, clock).failed("port 8080 is taken")
    assert begin(home, clock).comeback.leaves == "nothing"

    never = ProcessSettings(crash_starts=0)
    leaves = {begin(home, clock, never).comeback.leaves for _ in range(9)}

    assert leaves == {"nothing"}


@pytest.mark.req("W5")
def test_a_clock_that_was_set_back_and_a_broken_file_count_nothing(home):
    files = RuntimeFiles(home)
    files.end(Starts(crashes=(5_000.0, 9_000.0)))

    assert files.begin(1_000.0, window_s=600).crashes == ()
    (home / "run" / "starts.json").write_text("{")
    assert files.begin(1_000.0, window_s=600).crashes == ()


@pytest.mark.req("W6")
async def test_an_unexpected_end_is_written_down_and_an_expected_one_is_not(home):
    clock = ManualClock()
    turn = TurnAtEnd(message_id="m_1", session="agent:main:rest:dm:ann", steps=2)
    there = AtEnd(turns=(turn,), sessions=(turn.session,), platforms=(UP,), waiting_messages=3)
    life = begin(home, clock)
    life.ending(ShutdownCause(reason="asked"), there)
    life.ended(ShutdownCause(reason="asked"), cut_off=0)
    assert not (home / "logs" / "gateway_shutdown.json").exists()

    sudden = ShutdownCause(reason="a signal", exit_code=75, signal="SIGTERM", is_expected=False)
    life = begin(home, clock)
    life.ending(sudden, there)
    assert shutdown_of(home).cut_off is None
    life.ended(sudden, cut_off=1)

    left = shutdown_of(home)
    assert (left.signal, left.exit_code, left.cut_off) == ("SIGTERM", 75, 1)
    assert (left.turns, left.sessions, left.platforms) == ((turn,), (turn.session,), (UP,))


@pytest.mark.req("W6")
def test_the_next_start_writes_down_what_a_killed_process_left(home):
    clock = ManualClock()
    begin(home, clock).stands("connected", (UP,))

    begin(home, clock).found(("agent:main:rest:dm:ann",))

    left = shutdown_of(home)
    assert (left.signal, left.sessions, left.platforms) == (
        None,
        ("agent:main:rest:dm:ann",),
        (UP,),
    )
    assert "without a report" in left.reason


@pytest.mark.req("W6", "J2")
async def test_files_that_cannot_be_written_stop_neither_a_start_nor_an_end(home):
    for name in ("run", "logs"):
        (home / name).rmdir()
    life = begin(home, ManualClock())
    sudden = ShutdownCause(reason="a signal", exit_code=75, signal="SIGTERM", is_expected=False)

    life.found(())
    life.stands("connected", ())
    life.ending(sudden, AtEnd())
    life.ended(sudden, cut_off=0)

    assert read_runtime(home) is None


@pytest.mark.req("W7")
def test_every_state_can_be_read_from_outside_and_after_the_end(home):
    clock = ManualClock()
    life = begin(home, clock)
    seen = [read_runtime(home)]
    life.stands("connected", (UP,))
    seen.append(read_runtime(home))
    life.ending(ShutdownCause(reason="asked"), AtEnd(platforms=(UP,)))
    seen.append(read_runtime(home))
    life.ended(ShutdownCause(reason="asked"), cut_off=0)
    seen.append(read_runtime(home))
    begin(home, clock).failed("port 8080 is taken")
    seen.append(read_runtime(home))

    states = [one.state for one in seen if one is not None]
    assert states == ["starting", "connected", "draining", "stopped", "fatal"]
    platforms = [one.channels[0].state for one in seen if one is not None and one.channels]
    assert platforms == ["connected", "connected", "stopped"]


@pytest.mark.req("W7")
@pytest.mark.parametrize(
    ("state", "exit_code", "shown", "note"),
    [
        ("stopped", 0, "stopped", None),
        ("stopped", 75, "stopped", "why"),
        ("fatal", None, "fatal", "why"),
        ("connected", None, "stopped", "died unexpectedly while it was connected"),
        ("draining", None, "stopped", "died unexpectedly while it was draining"),
    ],
)
async def test_status_without_a_gateway_says_how_the_last_one_ended(state, exit_code, shown, note):
    last = Runtime(
        state=state, pid=7, version="1", at=2.0, started_at=1.0, note="why", exit_code=exit_code
    )

    report = await offline_status(None, home="h", version="1", last=last)

    assert report.state == shown
    assert (note is None) == (report.note is None)
    assert note is None or note in (report.note or "")

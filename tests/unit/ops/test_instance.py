import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hermes.errors import AlreadyRunning, ConfigurationError
from hermes.ops.instance import GatewayAddress, PlannedStop, acquire, find_running, request_stop
from hermes.ops.process import own_identity, start_time_of
from hermes.ports.clock import SystemClock

ADDRESS = GatewayAddress(
    host="127.0.0.1", port=8080, token="t" * 43, version="0.1.0", started_at=5.0
)
HOLDER = """
import signal, sys
from pathlib import Path
from hermes.ops.instance import acquire
from hermes.ports.clock import SystemClock
instance = acquire(Path(sys.argv[1]))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
sys.exit(0 if instance.take_planned_stop(SystemClock().now()) else 75)
"""


def start_holder(home: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    return holder


@pytest.fixture
def holder(tmp_path):
    process = start_holder(tmp_path)
    yield process
    process.kill()
    process.wait()
    process.communicate()


@pytest.mark.req("W4")
def test_a_home_has_one_gateway_and_the_second_is_told_what_to_do(tmp_path, holder):
    with pytest.raises(AlreadyRunning) as refused:
        acquire(tmp_path)

    text = str(refused.value)
    assert f"pid {holder.pid}" in text
    assert str(tmp_path) in text
    assert all(hint in text for hint in ("hermes stop", "hermes status", "HERMES_HOME"))


@pytest.mark.req("W4")
def test_the_refusal_names_the_address_once_there_is_one(tmp_path):
    instance = acquire(tmp_path)
    instance.publish(ADDRESS)

    with pytest.raises(AlreadyRunning, match=r"http://127\.0\.0\.1:8080"):
        acquire(tmp_path)

    instance.release()


@pytest.mark.req("W4")
def test_the_pid_file_says_pid_kind_arguments_and_start_time(tmp_path):
    instance = acquire(tmp_path)

    path = tmp_path / "run" / "gateway.pid"
    written = msgspec.json.decode(path.read_bytes())
    assert written == {
        "pid": os.getpid(),
        "kind": "hermes-gateway",
        "argv": list(instance.identity.argv),
        "start_time": start_time_of(os.getpid()),
        "folder": f"{path.parent.stat().st_dev}:{path.parent.stat().st_ino}",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    instance.release()


@pytest.mark.req("W4")
def test_a_killed_gateway_leaves_nothing_that_stops_the_next_one(tmp_path, holder):
    (tmp_path / "run" / "gateway.json").write_bytes(msgspec.json.encode(ADDRESS))
    holder.kill()
    holder.wait()
    assert (tmp_path / "run" / "gateway.pid").exists()

    instance = acquire(tmp_path)

    assert instance.identity.pid == os.getpid()
    running = find_running(tmp_path)
    assert running is not None
    assert running.address is None
    instance.release()


@pytest.mark.req("W4")
def test_a_reused_pid_is_not_taken_for_the_gateway(tmp_path):
    mine = own_identity("hermes-gateway")
    earlier = msgspec.structs.replace(mine, start_time=(mine.start_time or 0) - 1)
    other = msgspec.structs.replace(mine, argv=("another", "program"))
    run = tmp_path / "run"
    run.mkdir()

    for impostor in (earlier, other):
        (run / "gateway.pid").write_bytes(msgspec.json.encode(impostor))
        assert find_running(tmp_path) is None
    acquire(tmp_path).release()


@pytest.mark.req("W4")
def test_a_second_gateway_is_refused_even_if_somebody_removed_the_lock_file(tmp_path, holder):
    (tmp_path / "run" / "gateway.lock").unlink()

    with pytest.raises(AlreadyRunning, match=f"pid {holder.pid}"):
        acquire(tmp_path)


@pytest.mark.req("W4")
def test_a_second_gateway_is_refused_even_if_somebody_removed_the_pid_file(tmp_path, holder):
    (tmp_path / "run" / "gateway.pid").unlink()

    with pytest.raises(AlreadyRunning, match="has not written its name"):
        acquire(tmp_path)


@pytest.mark.req("W4")
def test_release_takes_the_files_away_and_can_be_repeated(tmp_path):
    instance = acquire(tmp_path)
    instance.publish(ADDRESS)

    instance.release()
    instance.release()

    assert [path.name for path in (tmp_path / "run").iterdir()] == ["gateway.lock"]
    assert find_running(tmp_path) is None


@pytest.mark.req("W4", "W35")
def test_the_address_is_for_the_owner_only_and_read_back_whole(tmp_path):
    instance = acquire(tmp_path)

    instance.publish(ADDRESS)

    path = tmp_path / "run" / "gateway.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    running = find_running(tmp_path)
    assert running is not None
    assert running.address == ADDRESS
    instance.release()


@pytest.mark.req("W4")
@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("::1", "http://[::1]:8080"),
    ],
)
def test_an_address_is_one_that_this_machine_can_call(host, url):
    assert msgspec.structs.replace(ADDRESS, host=host).url == url


@pytest.mark.req("W3", "W4")
def test_a_planned_stop_ends_with_0_and_any_other_with_75(tmp_path, holder):
    running = find_running(tmp_path)
    assert running is not None

    handle = request_stop(tmp_path, running, now=SystemClock().now())

    assert handle.wait(20, monotonic=SystemClock().monotonic)
    handle.close()
    assert holder.wait() == 0
    unplanned = start_holder(tmp_path)
    unplanned.send_signal(signal.SIGTERM)
    assert unplanned.wait(20) == 75
    unplanned.communicate()


@pytest.mark.req("W4")
def test_a_planned_stop_counts_once_for_one_process_and_one_minute(tmp_path):
    instance = acquire(tmp_path)
    path = tmp_path / "run" / "planned-stop.json"
    mine = PlannedStop(
        pid=instance.identity.pid, start_time=instance.identity.start_time, written_at=1000.0
    )

    def taken(marker: PlannedStop, now: float) -> bool:
        path.write_bytes(msgspec.json.encode(marker))
        return instance.take_planned_stop(now)

    assert taken(mine, 1060.0)
    assert not instance.take_planned_stop(1060.0), "it is used up"
    assert not taken(mine, 1060.1), "too old"
    assert not taken(mine, 999.0), "from the future"
    assert not taken(msgspec.structs.replace(mine, pid=1), 1000.0)
    assert not taken(msgspec.structs.replace(mine, start_time=1), 1000.0)
    path.write_text("{")
    assert not instance.take_planned_stop(1000.0)
    instance.release()


@pytest.mark.req("W4")
def test_a_home_that_cannot_be_used_is_a_clear_error(tmp_path):
    (tmp_path / "run").write_text("a file where a folder belongs")

    with pytest.raises(ConfigurationError, match=r"cannot be used.*HERMES_HOME"):
        acquire(tmp_path)


@pytest.mark.req("W4")
def test_a_dead_process_is_neither_signalled_nor_awaited(tmp_path, holder):
    running = find_running(tmp_path)
    assert running is not None
    holder.kill()
    holder.wait()

    handle = request_stop(tmp_path, running, now=0.0)

    assert handle.wait(0, monotonic=SystemClock().monotonic)
    handle.close()


@pytest.mark.req("W4")
def test_the_start_time_survives_a_command_name_with_spaces_and_brackets(tmp_path):
    program = tmp_path / "odd) name ("
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])

    found = start_time_of(process.pid)

    process.kill()
    process.wait()
    mine = start_time_of(os.getpid())
    assert found is not None
    assert mine is not None
    assert found >= mine
    assert start_time_of(process.pid) is None


@pytest.mark.req("W4")
def test_without_a_start_time_the_pid_alone_has_to_do(tmp_path):
    instance = acquire(tmp_path)
    unknown = msgspec.structs.replace(instance.identity, argv=("hermes",), start_time=None)
    (tmp_path / "run" / "gateway.pid").write_bytes(msgspec.json.encode(unknown))

    assert find_running(tmp_path) is not None
    instance.release()


@pytest.mark.req("W4")
def test_a_copied_home_has_no_gateway_and_may_have_its_own(tmp_path, holder):
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "run", copy / "run")

    found = find_running(copy)
    instance = acquire(copy)

    assert found is None
    assert holder.poll() is None
    assert [run.identity.pid for home in (tmp_path, copy) if (run := find_running(home))] == [
        holder.pid,
        os.getpid(),
    ]
    instance.release()


@pytest.mark.req("W4")
def test_a_pid_file_without_its_folder_counts_only_while_the_lock_is_held(tmp_path, holder):
    path = tmp_path / "run" / "gateway.pid"
    earlier = msgspec.json.decode(path.read_bytes())
    del earlier["folder"]
    path.write_bytes(msgspec.json.encode(earlier))
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "run", copy / "run")

    running = find_running(tmp_path)

    assert running is not None
    assert running.identity.pid == holder.pid
    assert find_running(copy) is None
    acquire(copy).release()


def test_a_full_disk_is_named_and_leaves_no_lock_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("hermes.ops.instance.create_private", full)
        with pytest.raises(ConfigurationError, match=r"is full.*Free some space"):
            acquire(tmp_path)

    acquire(tmp_path).release()

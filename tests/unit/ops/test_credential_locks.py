"""One credential, one process: a second one is told who has it, and a dead one has nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.errors import ConfigurationError, CredentialInUse
from hermes.ops.credential_locks import CredentialLock, default_folder
from hermes.testing.manual_time import ManualClock

TOKEN = "123:a-very-secret-token"
CHILD = """
import sys
from pathlib import Path
from hermes.ops.credential_locks import CredentialLock
from hermes.ports.clock import SystemClock
folder, token, home = sys.argv[1:]
lock = CredentialLock(
    Path(folder), token, platform="telegram", setting="platforms.telegram.bot_token",
    home=Path(home), clock=SystemClock(),
)
lock.take()
print("taken", flush=True)
sys.stdin.read()
lock.release()
"""


def lock_in(folder: Path, token: str = TOKEN, *, platform: str = "telegram") -> CredentialLock:
    return CredentialLock(
        folder,
        token,
        platform=platform,
        setting=f"platforms.{platform}.bot_token",
        home=Path("/srv/second"),
        clock=ManualClock(),
    )


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), TOKEN, "/srv/first"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        yield process
        if process.poll() is None:
            process.kill()


@pytest.mark.req("W33")
def test_a_second_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with holder(tmp_path / "locks") as first:
        lock = lock_in(tmp_path / "locks")

        with pytest.raises(CredentialInUse) as refused:
            lock.take()

    told = str(refused.value)
    assert told.startswith("platforms.telegram.bot_token: this credential is in use by the process")
    assert f"process {first.pid} of the home /srv/first" in told
    assert "hermes stop --home /srv/first" in told
    assert TOKEN not in told


@pytest.mark.req("W33")
def test_what_a_dead_process_held_is_free(tmp_path: Path) -> None:
    with holder(tmp_path / "locks") as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        lock = lock_in(tmp_path / "locks")
        with capture_logs() as logs:
            lock.take()
        lock.release()

    assert [(one["event"], one["pid"]) for one in logs] == [
        ("credential_lock_was_stale", first.pid)
    ]


@pytest.mark.req("W33")
def test_what_was_given_back_is_free_and_leaves_no_name(tmp_path: Path) -> None:
    first, second = lock_in(tmp_path), lock_in(tmp_path)
    tmp_path.chmod(0o700)
    first.take()
    first.take()
    with pytest.raises(CredentialInUse):
        second.take()
    first.release()
    first.release()

    with capture_logs() as logs:
        second.take()

    assert logs == []
    second.release()


@pytest.mark.req("W33")
def test_other_credentials_and_other_platforms_are_other_locks(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    locks = [
        lock_in(tmp_path),
        lock_in(tmp_path, "456:another"),
        lock_in(tmp_path, platform="slack"),
    ]
    for lock in locks:
        lock.take()

    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not any(TOKEN in file.name or TOKEN in file.read_text() for file in files)
    for lock in locks:
        lock.release()


@pytest.mark.req("W33")
def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(0o755)

    with pytest.raises(ConfigurationError, match=r"mode 0700.*found mode 0755"):
        lock_in(folder).take()


@pytest.mark.req("W33")
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(
        ConfigurationError, match=r"process\.lock_dir: .*/file/locks cannot be used"
    ):
        lock_in(tmp_path / "file" / "locks").take()


@pytest.mark.req("W33")
def test_the_default_place_does_not_depend_on_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = default_folder()
    for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/elsewhere")

    assert default_folder() == before

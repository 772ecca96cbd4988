"""Fetching the test parts never fails the test run; what is missing is said in one line."""

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "install_test_parts.sh"


def place(folder: Path, name: str, *, does: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{does}\n")
    (folder / name).chmod(0o755)


def install(folder: Path) -> tuple[int, str]:
    for name in ("mktemp", "tail", "rm"):
        real = shutil.which(name)
        assert real is not None
        (folder / name).symlink_to(real)
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT)],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_nothing_is_said_when_all_is_there(tmp_path: Path) -> None:
    place(tmp_path, "google-chrome", does="exit 0")

    assert install(tmp_path) == (0, "")


def test_without_apt_the_skip_is_said(tmp_path: Path) -> None:
    status, told = install(tmp_path)

    assert status == 0
    assert told == (
        "test parts: chromium is not installed (no apt-get here; install it by hand to run them): "
        "the tests that need it will be skipped.\n"
    )


def test_without_root_the_command_to_run_is_said(tmp_path: Path) -> None:
    place(tmp_path, "apt-get", does="exit 0")
    place(tmp_path, "id", does="echo 1000")

    status, told = install(tmp_path)

    assert status == 0
    assert "not root; run: sudo apt-get install chromium" in told


def test_when_apt_fails_after_an_update_its_last_words_and_the_skip_are_said(
    tmp_path: Path,
) -> None:
    place(tmp_path, "apt-get", does=f'echo "$1" >>{tmp_path}/calls; echo "E: gone"; exit 100')
    place(tmp_path, "id", does="echo 0")

    status, told = install(tmp_path)

    assert status == 0
    assert (tmp_path / "calls").read_text() == "install\nupdate\n"
    assert "E: gone\n" in told
    assert told.endswith(
        "test parts: chromium is not installed (apt could not bring chromium): "
        "the tests that need it will be skipped.\n"
    )


def test_when_apt_succeeds_nothing_is_skipped(tmp_path: Path) -> None:
    place(tmp_path, "apt-get", does="exit 0")
    place(tmp_path, "id", does="echo 0")

    assert install(tmp_path) == (0, "test parts: installing chromium with apt ...\n")

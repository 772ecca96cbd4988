"""Fetching the test parts never fails the test run; what is missing is said in one line."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "install_test_parts.sh"
SERVERS = dict(
    re.findall(
        r"^(mcp_\w+|synapse|identity|agents)='([^']+)'$", SCRIPT.read_text(), flags=re.MULTILINE
    )
)


_ROWS = re.compile(r"^parts=\(\n(.*?)\n\)", re.MULTILINE | re.DOTALL)
_CHROMIUM = '    "chromium|chromium-browser google-chrome|chromium"'


def test_every_part_names_its_program_and_its_package() -> None:
    found = _ROWS.search(SCRIPT.read_text())
    assert found is not None
    rows = found[1].split("\n")
    assert rows[0] == _CHROMIUM
    assert [row for row in rows if not re.fullmatch(r'    "[^|"]+\|[^|"]*\|[a-z0-9-]+"', row)] == []


def place(folder: Path, name: str, *, does: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{does}\n")
    (folder / name).chmod(0o755)


def stamped(folder: Path, kind: str) -> None:
    """Have it look as if the servers of a kind were installed."""
    place = folder / "parts" / kind.replace("_", "-")
    place.mkdir(parents=True)
    (place / ".stamp").write_text(SERVERS[kind])


@pytest.fixture(autouse=True)
def servers(tmp_path: Path) -> None:
    for kind in SERVERS:
        stamped(tmp_path, kind)


def install(folder: Path) -> tuple[int, str]:
    for name in ("mktemp", "tail", "rm", "mkdir"):
        real = shutil.which(name)
        assert real is not None
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(real)
    # One program is enough to see what is said; whether others are there is this machine's affair.
    script = folder / "install.sh"
    script.write_text(_ROWS.sub(f"parts=(\n{_CHROMIUM}\n)", SCRIPT.read_text(), count=1))
    done = subprocess.run(
        ["/bin/bash", str(script)],
        env={"PATH": str(folder), "HERMES_TEST_PARTS": str(folder / "parts")},
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


def test_mcp_servers_are_installed_once(tmp_path: Path) -> None:
    # given servers of another version
    (tmp_path / "parts" / "mcp-node" / ".stamp").write_text("older")
    place(tmp_path, "google-chrome", does="exit 0")
    place(tmp_path, "npm", does=f'echo "$@" >>{tmp_path}/calls')

    first, second = install(tmp_path), install(tmp_path)

    assert first == (0, f"test parts: installing the servers {SERVERS['mcp_node']} ...\n")
    assert second == (0, "")
    [call] = (tmp_path / "calls").read_text().splitlines()
    assert call.startswith("install --prefix ")
    assert call.endswith(f"--no-package-lock --no-save {SERVERS['mcp_node']}")


def test_without_npm_the_skip_is_said_and_the_next_run_tries_again(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "parts" / "mcp-node")
    place(tmp_path, "google-chrome", does="exit 0")

    assert install(tmp_path) == install(tmp_path)
    assert install(tmp_path) == (
        0,
        "test parts: mcp-node is not installed (no npm here; install it to run them): "
        "the tests that need it will be skipped.\n",
    )


def test_when_npm_fails_its_last_words_and_the_skip_are_said(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "parts" / "mcp-node")
    place(tmp_path, "google-chrome", does="exit 0")
    place(tmp_path, "npm", does='echo "npm error gone"; exit 1')

    status, told = install(tmp_path)

    assert status == 0
    assert "npm error gone\n" in told
    assert told.endswith("): the tests that need it will be skipped.\n")
    assert not (tmp_path / "parts" / "mcp-node" / ".stamp").exists()

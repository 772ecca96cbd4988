"""W8: the gateway as a service of a real systemd: installed, killed, restarted, stopped, removed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.own_systemd import SKIPPED

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.req("W8", "W3", "W4")
@pytest.mark.skipif(os.geteuid() != 0, reason="a systemd of its own needs root")
@pytest.mark.skipif(
    shutil.which("systemctl") is None or not Path("/lib/systemd/systemd").exists(),
    reason="there is no systemd on this machine",
)
def test_a_service_is_installed_comes_back_when_killed_and_stays_away_when_stopped(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [
            "unshare", "--mount", "--propagation", "private",
            sys.executable, "-m", "tests.system.own_systemd", str(tmp_path),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    if done.returncode == SKIPPED or "unshare failed" in done.stderr:
        pytest.skip("this machine lets nobody start a systemd of their own")

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["installed"].startswith("0 hermes.service is installed"), seen
    assert seen["active"] == "active"
    assert seen["status"].startswith("0 "), seen
    assert seen["came back"] is True
    assert seen["restarted"].startswith("0 hermes.service is restarted"), seen
    assert seen["another"] is True
    assert seen["stopped"].startswith("0 hermes.service is stopped"), seen
    assert seen["result"] == "inactive success"
    assert "code=exited, status=0/SUCCESS" in seen["shown"]
    assert seen["removed"].startswith("0 hermes.service is stopped and removed"), seen
    assert seen["units"] == []

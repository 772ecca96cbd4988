"""A wallet with too few credits under kill -9 at the steps of its turns: nothing is spent twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.processes import ROOT

EVERY = 3


@pytest.mark.req("A5", "A6", "A7", "A8", "J8", "J10", "J11", "J19")
def test_a_kill_at_any_step_spends_no_credit_twice_and_loses_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture.wallet_kills", str(tmp_path / "homes"), str(EVERY)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    kills, _, steps = done.stdout.split()
    assert int(kills) >= 0.9 * int(steps) / EVERY > 30

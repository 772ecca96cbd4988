"""A whole run on one file of tests: faults are noticed, survive, and the tree stays as it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.areas import ROOT
from tests.mutants.run import in_order, in_turns

SECONDS = {"a.py::one": 2.0, "a.py::two": 1.0, "b_slack.py::one": 3.0, "b_slack.py::two": 4.0}


def test_every_file_is_asked_before_any_is_asked_again_the_fastest_first() -> None:
    assert in_turns(list(SECONDS), SECONDS) == [
        "a.py::two",
        "b_slack.py::one",
        "a.py::one",
        "b_slack.py::two",
    ]


def test_files_with_the_name_of_the_code_are_asked_first() -> None:
    words = frozenset({"slack"})

    assert in_order(list(SECONDS), SECONDS, words=words) == [
        "b_slack.py::one",
        "b_slack.py::two",
        "a.py::two",
        "a.py::one",
    ]


def run(folder: Path, *arguments: str) -> tuple[int, dict[str, object]]:
    command = [sys.executable, "-m", "tests.mutants", "--folder", str(folder), "--json"]
    done = subprocess.run(
        [*command, "--patience", "10", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    at = done.stdout.find("{")
    assert at >= 0, done.stderr[-2_000:]
    return done.returncode, json.loads(done.stdout[at:])


@pytest.mark.parametrize(("tests", "status", "caught"), [("test_slack_inbound.py", 0, 1), ("test_slack_format.py", 1, 0)])  # fmt: skip
def test_a_fault_is_noticed_by_the_tests_that_run_its_line_and_by_no_others(
    tmp_path: Path, tests: str, status: int, caught: int
) -> None:
    path = ROOT / "src/hermes/channel_kit/proof.py"
    before = path.read_bytes()

    ended, found = run(
        tmp_path,
        *("--only", "named", "--match", "channel_kit/proof.py"),
        *("--tests", f"tests/unit/channels/{tests}"),
    )

    scores = found["scores"]
    assert isinstance(scores, dict)
    assert (ended, scores["all"]["caught"], scores["all"]["survived"]) == (
        status,
        caught,
        1 - caught,
    )
    assert path.read_bytes() == before

"""The search for a Python takes the first that will do, and otherwise says what is missing."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "find_python.sh"


def place(folder: Path, name: str, *, answer: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{answer}\n")
    (folder / name).chmod(0o755)


def find(folder: Path, *, python: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", str(SCRIPT)],
        env={"PATH": str(folder), "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


def test_names_that_run_nothing_and_old_ones_are_passed_over(tmp_path: Path) -> None:
    place(tmp_path, "python3", answer="echo old 3.9.2 /usr/bin/python3")
    place(tmp_path, "python3.13", answer="echo not installed >&2; exit 127")
    place(tmp_path, "python3.12", answer="echo tested 3.12.1 /opt/python3.12")

    found = find(tmp_path)

    assert (found.returncode, found.stdout, found.stderr) == (0, "/opt/python3.12\n", "")


def test_a_newer_one_is_taken_only_when_no_tested_one_is_there(tmp_path: Path) -> None:
    place(tmp_path, "python3", answer="echo newer 3.15.0 /opt/python3.15")
    alone = find(tmp_path)
    place(tmp_path, "python3.11", answer="echo tested 3.11.2 /opt/python3.11")
    beside = find(tmp_path)

    assert (alone.stdout, beside.stdout) == ("/opt/python3.15\n", "/opt/python3.11\n")


def test_a_named_python_is_the_only_candidate(tmp_path: Path) -> None:
    place(tmp_path, "python3", answer="echo tested 3.12.1 /opt/python3.12")
    place(tmp_path, "mine", answer="echo old 3.10.1 /opt/mine")

    found = find(tmp_path, python=str(tmp_path / "mine"))

    assert found.returncode == 1
    assert "Found only /opt/mine (3.10.1), which is too old." in found.stderr


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("echo bare 3.11.2 /usr/bin/python3", "apt install python3.11-venv"),
        ("echo old 3.9.2 /usr/bin/python3", "make setup PYTHON=/path/to/python3.12"),
        ("exit 1", "make setup PYTHON=/path/to/python3.12"),
    ],
)
def test_without_a_fitting_one_it_fails_with_the_next_step(
    tmp_path: Path, answer: str, hint: str
) -> None:
    place(tmp_path, "python3", answer=answer)

    found = find(tmp_path)

    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("Hermes needs Python 3.11, 3.12 or 3.13")
    assert hint in found.stderr

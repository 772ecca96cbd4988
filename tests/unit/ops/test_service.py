"""W8: the unit that systemd gets, and what is asked of it; systemctl is a strict stand-in."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.errors import BadRequest, ConfigurationError
from hermes.ops.service_unit import ServiceUnit, unit_name, unit_text
from hermes.ops.systemd import Systemd

UNIT = ServiceUnit(
    command=("/usr/bin/python3", "-m", "hermes"), home=Path("/srv/hermes"), drain_s=180
)
# What the real ones take of what Hermes asks; anything else is refused as they refuse it.
STAND_IN = """#!{python}
import json, os, sys
from pathlib import Path
words = sys.argv[1:]
program = Path(sys.argv[0]).name
with open({log!r}, "a") as log:
    log.write(json.dumps([program, *words]) + "\\n")
if words[:1] != ["--user"]:
    sys.exit("Failed to connect to bus: No such file or directory")
words = words[1:]
if program == "journalctl":
    ok = words[:3] == ["--no-pager", "-u", "hermes.service"] and words[3] == "-n"
    print("a line of the journal") if ok else sys.exit("journalctl: unrecognized option")
    sys.exit(0)
units = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
verb = words.pop(0)
if verb == "daemon-reload":
    sys.exit(1 if words else 0)
if verb not in ("enable", "disable", "start", "stop", "restart", "status"):
    sys.exit(f"Unknown command verb {{verb}}.")
options = [word for word in words if word.startswith("-")]
names = [word for word in words if not word.startswith("-")]
allowed = {{"enable": ["--now"], "disable": ["--now"], "status": ["--no-pager"]}}
if [one for one in options if one not in allowed.get(verb, [])] or len(names) != 1:
    sys.exit(f"systemctl: unrecognized option in {{words}}")
if not (units / names[0]).exists():
    sys.exit(f"Unit file {{names[0]}} does not exist.")
print("active") if verb == "status" else None
"""


class Desk:
    """A machine with stand-ins for systemctl and journalctl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "asked.jsonl"
        self.unit = folder / "config" / "systemd" / "user" / "hermes.service"
        (folder / "bin").mkdir()
        for name in ("systemctl", "journalctl"):
            program = folder / "bin" / name
            program.write_text(STAND_IN.format(python=sys.executable, log=str(self.log)))
            program.chmod(0o755)

    def hermes(self, *words: str, path: str | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "hermes", "service", *words],
            env={
                "PATH": path or str(self.folder / "bin"),
                "HOME": str(self.folder),
                "XDG_CONFIG_HOME": str(self.folder / "config"),
                "HERMES_LOGS__LEVEL": "debug",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self) -> list[str]:
        if not self.log.exists():
            return []
        return [" ".join(json.loads(line)) for line in self.log.read_text().splitlines()]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.mark.req("W8")
def test_install_writes_the_unit_enables_and_starts_it(desk):
    done = desk.hermes("install")

    assert done.returncode == 0, done.stderr
    assert desk.asked() == [
        "systemctl --user daemon-reload",
        "systemctl --user daemon-reload",
        "systemctl --user enable --now hermes.service",
    ]
    assert f"up --home {desk.folder}/.hermes" in desk.unit.read_text()
    assert "HERMES_LOGS__LEVEL" in done.stderr, "a service does not see this variable"


@pytest.mark.req("W8")
def test_dry_run_prints_the_unit_and_changes_nothing(desk):
    done = desk.hermes("install", "--dry-run")

    assert done.stdout.startswith("[Unit]\n")
    assert (desk.asked(), desk.unit.exists()) == ([], False)


@pytest.mark.req("W8")
def test_start_stop_restart_status_logs_and_uninstall(desk):
    desk.hermes("install")
    desk.log.unlink()

    verbs = ("start", "stop", "restart", "status", "logs", "uninstall")
    codes = [desk.hermes(verb).returncode for verb in verbs]

    assert codes == [0] * 6
    assert desk.asked() == [
        "systemctl --user start hermes.service",
        "systemctl --user stop hermes.service",
        "systemctl --user restart hermes.service",
        "systemctl --user status --no-pager hermes.service",
        "journalctl --user --no-pager -u hermes.service -n 100",
        "systemctl --user disable --now hermes.service",
        "systemctl --user daemon-reload",
    ]
    assert not desk.unit.exists()


@pytest.mark.req("W8")
def test_what_systemd_refuses_is_passed_on_and_a_machine_without_it_is_told_so(desk):
    refused = desk.hermes("start")
    nowhere = desk.hermes("start", path="/nowhere")
    again = desk.hermes("uninstall")

    assert (refused.returncode, "does not exist" in refused.stderr) == (1, True)
    assert (nowhere.returncode, "no systemd" in nowhere.stderr) == (1, True)
    assert "Traceback" not in refused.stderr
    assert (again.returncode, "not installed" in again.stdout) == (0, True)


@pytest.mark.req("W8")
@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd runs this machine")
def test_without_systemd_install_leaves_no_file_and_uninstall_removes_one(desk):
    refused = desk.hermes("install", path="/nowhere")

    assert (refused.returncode, "no systemd" in refused.stderr) == (1, True)
    assert not desk.unit.exists()

    desk.hermes("install")
    assert desk.unit.exists()
    removed = desk.hermes("uninstall", path="/nowhere")

    assert (removed.returncode, "is removed" in removed.stdout) == (0, True), removed.stderr
    assert not desk.unit.exists()


@pytest.mark.req("W8", "W3")
def test_the_unit_restarts_on_75_outlasts_the_drain_and_is_watched():
    lines = unit_text(UNIT).splitlines()

    assert {
        "Type=notify",
        "Restart=on-failure",
        "RestartForceExitStatus=75",
        "TimeoutStopSec=210",
        "WatchdogSec=60",
        "ExecStop=/usr/bin/python3 -m hermes stop --home /srv/hermes",
        "WantedBy=default.target",
    } <= set(lines)


@pytest.mark.req("W8")
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("user", [None, "root"])
@pytest.mark.parametrize("folder", ["plain", "a 50% $HOME \"quoted\" 'home'", "back\\slash; x"])
def test_the_real_systemd_takes_the_unit(tmp_path, user, folder):
    home = tmp_path / folder
    home.mkdir()
    unit = ServiceUnit(command=(sys.executable, "-m", "hermes"), home=home, drain_s=1, user=user)
    file = tmp_path / "hermes-test.service"
    file.write_text(unit_text(unit))

    scope = ["--user"] if user is None else []
    done = subprocess.run(
        ["systemd-analyze", *scope, "verify", str(file)],
        env={"PATH": os.defpath, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    told = [line for line in done.stderr.splitlines() if "hermes-test" in line]
    assert (done.returncode, told) == (0, []), done.stderr


def read_exec(line: str) -> list[str]:
    """Return the words of an Exec line as systemd.service(5) says that they are read."""
    words = shlex.split(line)
    for word in words:
        assert "%" not in word.replace("%%", ""), f"a specifier in {word}"
        assert "$" not in word.replace("$$", ""), f"a variable in {word}"
    return [word.replace("%%", "%").replace("$$", "$") for word in words]


@pytest.mark.req("W8")
@pytest.mark.parametrize(
    "folder", ["plain", "a 50% $HOME \"quoted\" 'home'", "back\\slash; x", "{x}"]
)
def test_the_words_of_a_command_are_read_back_as_they_were(folder):
    home = Path("/srv") / folder
    unit = ServiceUnit(command=("/opt/my python", "-m", "hermes"), home=home, drain_s=1)

    lines = dict(line.split("=", 1) for line in unit_text(unit).splitlines() if "=" in line)

    command = ["/opt/my python", "-m", "hermes"]
    assert read_exec(lines["ExecStop"]) == [*command, "stop", "--home", str(home)]
    assert read_exec(lines["ExecStart"])[:6] == [*command, "up", "--home", str(home)]
    assert lines["WorkingDirectory"].replace("%%", "%") == str(home)


@pytest.mark.req("W8")
@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "x" * 200])
def test_a_name_that_systemd_would_not_take_is_refused(name):
    with pytest.raises(BadRequest, match="not a valid service name"):
        unit_name(name)


@pytest.mark.req("W8")
def test_a_home_that_no_unit_file_can_name_is_refused():
    with pytest.raises(BadRequest, match="control character"):
        unit_text(ServiceUnit(command=("x",), home=Path("/a\nExecStart=evil"), drain_s=1))


def broken_systemd(folder: Path, monkeypatch: pytest.MonkeyPatch, *, booted: bool) -> Systemd:
    """Return a service manager whose systemctl always fails, on a machine that it started or not."""
    program = folder / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    mark = folder / "run" / "systemd"
    if booted:
        mark.mkdir(parents=True)
    return Systemd(folder / "units", is_system=True, booted=mark)


@pytest.mark.req("W8")
def test_on_a_machine_that_systemd_started_its_own_words_and_exit_code_are_passed_on(
    tmp_path, monkeypatch, capfd
):
    manager = broken_systemd(tmp_path, monkeypatch, booted=True)

    assert manager.is_booted
    assert manager.show("status", "hermes.service") == 3
    assert "Failed to connect to bus" in capfd.readouterr().err
    with pytest.raises(ConfigurationError, match=r"failed: Failed to connect to bus$"):
        manager.control("start", "hermes.service")


@pytest.mark.req("W8")
def test_on_any_other_machine_it_says_what_to_do_instead(tmp_path, monkeypatch):
    manager = broken_systemd(tmp_path, monkeypatch, booted=False)

    assert not manager.is_booted
    for ask in (manager.show, manager.control):
        with pytest.raises(ConfigurationError, match="was not started by systemd"):
            ask("status", "hermes.service")

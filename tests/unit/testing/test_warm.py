"""The warm interpreter: what it starts is what `python` would have started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm.python import (
    needs_cold_start,
    put_shell_command,
    run,
    stand_in,
    stand_in_started,
    start,
    start_async,
    surroundings,
)

ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
SHOW = "import os, sys; print(sys.argv[1:], dict(os.environ), os.getcwd(), sys.stdin.read())"
NOTHING = Path(os.devnull)
ASLEEP = "import signal; signal.pause()"


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "hermes", "--help"),
        ("-m", "hermes", "--version"),
        ("-m", "hermes", "no-such-command"),
        ("-m", "hermes", "graph", "list", "--json"),
        ("-m", "hermes", "status", "--no-such-option"),
        ("-c", SHOW, "one", "two words", "ü"),
        ("-c", "import sys; sys.exit('a reason')"),
        ("-c", "import sys; sys.exit(7)"),
        ("-c", "import atexit; atexit.register(print, 'last'); print('first', end='')"),
        ("-c", "import threading; threading.Timer(0.01, print, ['from a thread']).start()"),
        ("-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"),
    ],
)
def test_a_program_ends_and_prints_as_if_it_had_been_started_cold(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    env = {**ENV, "HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home")}
    cold = subprocess.run(
        [sys.executable, *arguments],
        env=env,
        input="typed",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    warm = run(*arguments, env=env, text="typed", folder=tmp_path)

    assert (warm.returncode, warm.stdout) == (cold.returncode, cold.stdout)
    assert warm.stderr == cold.stderr


def test_one_program_leaves_nothing_to_the_next() -> None:
    change = "import hermes, os, sys; hermes.left = 1; os.environ['LEFT'] = '1'; os.chdir('/')"
    look = "import hermes, os; print(hasattr(hermes, 'left'), 'LEFT' in os.environ, os.getcwd())"

    run("-c", change, env=ENV)
    seen = run("-c", look, env=ENV)

    assert seen.stdout == f"False False {Path.cwd()}\n"


def test_a_program_that_fails_is_traced() -> None:
    failed = run("-c", "1 / 0", env=ENV)

    assert failed.returncode == 1
    assert failed.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_both_streams_may_be_one() -> None:
    code = "import os; os.write(1, b'out '); os.write(2, b'err')"

    done = run("-c", code, env=ENV, is_merged=True)

    assert (done.stdout, done.stderr) == ("out err", "")


def test_what_takes_too_long_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("-c", ASLEEP, env=ENV, within_s=0.1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_signal_reaches_the_program(number: signal.Signals) -> None:
    with NOTHING.open("r+b") as nothing:  # noqa: ASYNC230
        process = start_async("-c", ASLEEP, env=ENV, stdin=nothing, stdout=nothing, stderr=nothing)
    assert process.returncode is None
    process.send_signal(number)

    assert await process.wait() == -number
    assert process.returncode == -number


def test_a_server_runs_until_its_input_closes() -> None:
    code = "import sys; print('ready', flush=True); sys.stdin.read()"

    with stand_in("-c", code) as line:
        assert line == "ready\n"


def test_a_server_does_not_outlive_the_test() -> None:
    with stand_in_started("-c", ASLEEP) as (process, _, _out):
        assert process.returncode is None

    assert process.returncode == -signal.SIGKILL


def test_a_shell_runs_the_command_with_its_pipes_and_exit_codes(tmp_path: Path) -> None:
    put_shell_command(tmp_path)
    env = {**ENV, "PATH": f"{tmp_path}:/usr/bin:/bin", "HERMES_HOME": str(tmp_path / "home")}
    script = "hermes --help | head -n 3; hermes no-such-command 2>/dev/null; echo $?"

    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=False
    )

    assert "Usage: hermes" in done.stdout
    assert done.stdout.endswith("\n2\n")


def test_an_environment_for_the_interpreter_itself_is_refused() -> None:
    assert not needs_cold_start(surroundings())
    assert needs_cold_start({"PYTHONUTF8": "1"})
    with pytest.raises(AssertionError):
        start("-c", "", env={"LD_PRELOAD": "x.so"}, stdin=0, stdout=1, stderr=2)

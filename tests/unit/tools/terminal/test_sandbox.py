"""Programs in the real sandbox: what they reach, and that nothing of them is left."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from hermes.tools.terminal.program import KeptOutput, SandboxedProgram, finish, start
from hermes.tools.terminal.sandbox import ProgramLimits, Sandbox, missing_tools, runs_as_root
from tests.unit.tools.terminal.rigs import make_sandbox, shell, until, work_folder

pytestmark = pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """Return a folder that every user can enter, which those of pytest are not."""
    with TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        yield place


def running(mark: str) -> list[int]:
    """Return the processes whose command line has a mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in line and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


async def end_of(mark: str) -> None:
    """Wait until no process has a mark; the kernel ends them one after the other."""
    await until(lambda: not running(mark))


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return make_sandbox(hidden=(tmp_path,))


@pytest.fixture
def folder(tmp_path: Path, sandbox: Sandbox) -> Path:
    return work_folder(tmp_path, sandbox)


@pytest.mark.req("W42")
async def test_a_command_works_in_its_folder(sandbox: Sandbox, folder: Path) -> None:
    said = "pwd; echo kept > note; echo $HOME; head -c 5 /etc/passwd; echo again >&2"
    ended = await shell(sandbox, said, folder)

    assert (ended.code, ended.output) == (0, "/files\n/files\nroot:again\n")
    assert (folder / "note").read_text() == "kept\n"


@pytest.mark.req("W42")
async def test_nothing_outside_is_written(sandbox: Sandbox, folder: Path) -> None:
    places = "/x /usr/x /etc/x /bin/x /dev/x /proc/sys/kernel/hostname"
    ended = await shell(
        sandbox,
        f"for one in {places}; do touch $one 2>&1 && echo x > $one && echo WROTE; done",
        folder,
    )

    assert "WROTE" not in ended.output
    assert ended.output.count("\n") >= 6


@pytest.mark.req("W42")
async def test_secrets_and_homes_are_not_there(
    sandbox: Sandbox, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "store.key"
    secret.write_text("the-key-of-the-store")
    link = folder / "link"
    link.symlink_to(secret)
    places = f"/etc/shadow /root /home /var /sys {secret} /files/link /proc/1/environ"
    ended = await shell(sandbox, f"cat {places}; ls -a {places}; env", folder)

    assert "the-key-of-the-store" not in ended.output
    assert ":99999:" not in ended.output
    for place in ("/etc/shadow", "/root", "/home", "/var", "/sys"):
        assert f"ls: cannot access '{place}': No such file or directory" in ended.output
    assert "PYTEST" not in ended.output


@pytest.mark.req("W42")
async def test_a_home_below_a_shown_folder_is_hidden(tmp_path: Path) -> None:
    home = tmp_path / "tools" / "home"
    home.mkdir(parents=True)
    (home / "store.key").write_text("the-key-of-the-store")
    (tmp_path / "tools" / "program").write_text("readable")
    sandbox = Sandbox(readable=(tmp_path / "tools",), hidden=(home,), is_root=runs_as_root())
    folder = work_folder(tmp_path, sandbox)
    ended = await shell(sandbox, f"cat {home}/../program {home}/store.key; ls {home}", folder)

    assert ended.output.startswith("readable")
    assert "the-key-of-the-store" not in ended.output


@pytest.mark.req("W42")
async def test_there_is_no_network(sandbox: Sandbox, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        ended = await shell(sandbox, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo CONNECTED", folder)
        with pytest.raises(BlockingIOError):
            server.accept()

    assert "CONNECTED" not in ended.output
    assert ended.code != 0


@pytest.mark.req("W42")
async def test_other_processes_are_not_seen(sandbox: Sandbox, folder: Path) -> None:
    ended = await shell(sandbox, "ls /proc | grep -c '^[0-9]'; kill -9 -1; echo alive", folder)

    assert int(ended.output.split()[0]) < 10


@pytest.mark.req("W42")
async def test_rights_cannot_be_gained(sandbox: Sandbox, folder: Path) -> None:
    ended = await shell(
        sandbox, "grep -E 'NoNewPrivs|CapEff|CapPrm|CapInh' /proc/self/status", folder
    )

    found = dict(line.split(":\t") for line in ended.output.splitlines())
    assert found == {
        "CapInh": "0" * 16,
        "CapPrm": "0" * 16,
        "CapEff": "0" * 16,
        "NoNewPrivs": "1",
    }


@pytest.mark.req("W42")
async def test_a_fork_bomb_is_bounded_and_ended(sandbox: Sandbox, folder: Path) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; exec -a bomb-main sleep 60"
    ended = await shell(sandbox, bomb, folder, timeout_s=3)

    assert ended.code is None
    assert "temporarily unavailable" in ended.output
    await end_of("bomb()")


@pytest.mark.req("W42")
@pytest.mark.parametrize("kind", ["bubblewrap", "unsafe"])
async def test_what_ignores_signals_and_leaves_its_group_is_ended(
    kind: str, tmp_path: Path
) -> None:
    sandbox = make_sandbox("unsafe" if kind == "unsafe" else "bubblewrap")
    folder = work_folder(tmp_path, sandbox)
    mark = f"987{os.getpid()}{len(kind)}"
    stubborn = (
        f"trap '' TERM HUP; setsid sleep {mark}1 & (setsid setsid sleep {mark}2 &) ; sleep {mark}3"
    )
    ended = await shell(sandbox, stubborn, folder, timeout_s=1)

    assert ended.code is None
    await end_of(mark)


@pytest.mark.req("W42")
@pytest.mark.parametrize("kind", ["bubblewrap", "unsafe"])
async def test_what_a_command_leaves_behind_ends_with_it(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox("unsafe" if kind == "unsafe" else "bubblewrap")
    mark = f"986{os.getpid()}{len(kind)}"
    folder = work_folder(tmp_path, sandbox)
    ended = await shell(sandbox, f"setsid sleep {mark} & echo done", folder)

    assert (ended.code, ended.output) == (0, "done\n")
    await end_of(mark)


@pytest.mark.req("W42")
async def test_a_hundred_megabytes_of_output_are_cut(sandbox: Sandbox, folder: Path) -> None:
    ended = await shell(
        sandbox, "echo begin; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end", folder
    )

    assert ended.code == 0
    assert len(ended.output) < 21_000
    assert ended.output.startswith("begin\nxxx")
    assert ended.output.endswith("xxx\nend\n")
    assert "[99980011 bytes are left out here]" in ended.output


@pytest.mark.req("W42")
async def test_files_and_memory_have_a_limit(sandbox: Sandbox, folder: Path) -> None:
    big = "head -c 30000000 /dev/zero > big; head -c 30000000 /dev/zero > /tmp/big; ls -s big"
    ended = await shell(sandbox, big, folder)

    assert (folder / "big").stat().st_size == 20_000_000
    assert "File size limit" in ended.output or "File too large" in ended.output


@pytest.mark.req("W42")
async def test_a_cancelled_command_is_ended(sandbox: Sandbox, folder: Path) -> None:
    mark = f"985{os.getpid()}"
    task = asyncio.create_task(shell(sandbox, f"echo > begun; sleep {mark}", folder))
    await until((folder / "begun").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await end_of(mark)


@pytest.mark.req("W42")
async def test_a_program_that_is_ended_while_it_starts_leaves_nothing(
    sandbox: Sandbox, folder: Path
) -> None:
    mark = f"982{os.getpid()}"
    program = ("/bin/bash", "-c", f"setsid sleep {mark}")
    for number in range(40):
        started = await start(sandbox, program, folder=folder)
        await asyncio.sleep(number / 4_000)
        await started.end()
        started.close()

    await end_of(mark)


@pytest.mark.req("W42")
async def test_the_command_line_of_a_sandbox_names_no_folder_of_this_machine(
    sandbox: Sandbox, folder: Path, tmp_path: Path
) -> None:
    shown = "cat /proc/*/cmdline | tr '\\0' ' '; for f in /proc/self/fd/*; do readlink $f; done"
    said = (await shell(sandbox, shown, folder)).output

    assert "bwrap --args" in said
    assert str(tmp_path) not in said
    assert "memfd" not in said


@pytest.mark.req("W42")
async def test_a_program_has_a_low_priority_and_some_time_of_the_processor(
    sandbox: Sandbox, folder: Path
) -> None:
    limited = msgspec.structs.replace(sandbox, limits=ProgramLimits(cpu_s=1))
    said = (await shell(sandbox, "nice; ulimit -t", folder)).output
    # On a busy machine a second of the processor can take a minute.
    ended = await shell(limited, "trap '' XCPU; while :; do :; done", folder, timeout_s=250)

    assert said == f"{min(19, os.nice(0) + 10)}\n3600\n"
    assert ended.code == 137


@pytest.mark.req("W42")
async def test_a_sandbox_dies_with_the_process_that_started_it(
    sandbox: Sandbox, folder: Path
) -> None:
    mark = f"984{os.getpid()}"
    line = sandbox.command(("/bin/sh", "-c", f"echo > begun; sleep {mark}"), folder=folder)
    starts = f"import subprocess; subprocess.run({line!r})"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", starts)
    await until((folder / "begun").exists)
    parent.kill()
    await parent.wait()

    await end_of(mark)


STARTER = """
import asyncio, sys
from pathlib import Path
from hermes.tools.terminal.program import start
from hermes.tools.terminal.sandbox import Sandbox, runs_as_root

async def main():
    print("starts", flush=True)
    for number in range(4):
        sleep = ("/bin/sleep", f"{sys.argv[1]}{number}")
        await start(Sandbox(is_root=runs_as_root()), sleep, folder=Path(sys.argv[2]))
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.req("W42", "J9")
async def test_no_program_outlives_a_process_that_is_killed_while_it_starts_them(
    folder: Path,
) -> None:
    mark = f"983{os.getpid()}"
    for number in range(8):
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", STARTER, f"{mark}{number}", str(folder), stdout=PIPE
        )
        assert parent.stdout is not None
        await parent.stdout.readline()
        # Each at another moment of a start.
        await asyncio.sleep(number * 0.02)
        parent.kill()
        await parent.wait()

    await end_of(mark)


@pytest.mark.req("W42")
@pytest.mark.skipif(not runs_as_root(), reason="only root can become another user")
async def test_a_gateway_of_a_normal_user_has_the_same_walls(open_place: Path) -> None:
    home = open_place / "home"
    home.mkdir()
    (home / "key").write_text("the-key-of-the-store")
    folder = work_folder(open_place, make_sandbox())
    sandbox = Sandbox(limits=ProgramLimits(processes=60, file_mb=20), is_root=False)
    tried = (
        f"touch note /x /usr/x /dev/x /etc/x; cat {home}/key /etc/passwd /proc/1/environ; ulimit -u;"
        " grep NoNewPrivs /proc/self/status; df /tmp /dev/shm | grep -c 19532;"
        " exec 3<>/dev/tcp/127.0.0.1/80; ls -d /home /root /var; ls"
    )
    ids = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    line = sandbox.command(("/bin/bash", "-c", tried), folder=folder)
    process = await asyncio.create_subprocess_exec(
        *ids, *line, stdout=PIPE, stderr=STDOUT, env=sandbox.environment(folder)
    )
    output = (await process.communicate())[0].decode()

    assert output.count("Read-only file system") == 4
    assert "the-key-of-the-store" not in output
    assert "60\nNoNewPrivs:\t1\n2\n" in output
    assert "Network is unreachable" in output or "Connection refused" in output
    assert output.endswith("note\n")
    assert (folder / "note").exists()


async def test_a_program_is_spoken_with_over_its_streams(sandbox: Sandbox, folder: Path) -> None:
    program: SandboxedProgram = await start(
        sandbox, ("cat",), folder=folder, with_input=True, joins_errors=False
    )
    streams = program.streams
    assert streams.stdin is not None
    assert streams.stdout is not None
    streams.stdin.write(b"hello\n")
    assert await streams.stdout.readline() == b"hello\n"
    streams.stdin.close()
    kept = KeptOutput(100)
    await finish(program, asyncio.create_task(program.read(kept.add)))

    assert kept.text == ""


def test_an_output_keeps_its_two_ends() -> None:
    kept = KeptOutput(10)
    for piece in (b"01", b"234567", b"89abcdef", b"ghij" * 100, b"end!!"):
        kept.add(piece)

    assert kept.text == "01234\n[411 bytes are left out here]\nend!!"


@pytest.mark.req("W42")
async def test_a_fork_bomb_takes_no_processes_of_another_sandbox(
    sandbox: Sandbox, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = work_folder(tmp_path / "other", sandbox)
    bomb = "touch began; bomb() { bomb | bomb & }; bomb; exec -a bomb-other sleep 60"
    bombing = asyncio.create_task(shell(sandbox, bomb, folder, timeout_s=15))
    await until((folder / "began").exists)
    await asyncio.sleep(1)
    ended = await shell(sandbox, "for i in $(seq 20); do /bin/true & done; wait; echo fine", other)
    was_bombing = not bombing.done()
    bombing.cancel()
    await asyncio.wait({bombing})

    assert was_bombing
    assert (ended.code, ended.output) == (0, "fine\n")


@pytest.mark.req("W42")
async def test_nobody_becomes_root_in_a_namespace_of_their_own(
    sandbox: Sandbox, folder: Path
) -> None:
    ended = await shell(
        sandbox,
        "unshare --user --map-root-user --mount mount -t tmpfs none /tmp && echo MOUNTED",
        folder,
    )

    assert ended.code != 0
    assert "MOUNTED" not in ended.output


@pytest.mark.req("W42")
async def test_commands_die_first_without_memory(sandbox: Sandbox, folder: Path) -> None:
    ended = await shell(sandbox, "cat /proc/self/oom_score_adj", folder)

    assert ended.output == "1000\n"

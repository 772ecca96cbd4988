"""W8: `hermes completion SHELL` makes the real shells complete: each is asked as a person would ask it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERMES = Path(sys.executable).with_name("hermes")
WAIT_S = 60.0
# What every command that begins like this is called.
WANTED = {"search", "send", "service", "sessions"}
MARK = "READY-NOW"


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(shell) is None or not HERMES.exists(),
        reason=f"{shell} is not installed here; tools/install_test_parts.sh brings it",
    )


def environment(home: Path) -> dict[str, str]:
    path = f"{HERMES.parent}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8"}


def script(shell: str, home: Path) -> str:
    done = subprocess.run(
        [HERMES, "completion", shell], env=environment(home), capture_output=True, check=True
    )
    return done.stdout.decode()


def typed(home: Path, *command: str, keys: bytes, until: set[str]) -> str:
    """Run a shell on a terminal, press keys once it is ready, and return what it shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment(home))
    shown, ends_at, is_ready = b"", time.monotonic() + WAIT_S, False
    try:
        while time.monotonic() < ends_at and not all(word.encode() in shown for word in until):
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            shown += os.read(terminal, 65_536)
            if not is_ready and MARK.encode() in shown:
                is_ready, shown = True, b""
                os.write(terminal, keys)
    except OSError:
        pass  # the shell has ended
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
    return shown.decode(errors="replace")


@needs("bash")
@pytest.mark.req("W8")
def test_bash_shows_them_on_a_terminal_after_two_tabs(tmp_path: Path) -> None:
    start = tmp_path / "rc"
    start.write_text(f'eval "$(hermes completion bash)"\nPS1="> "\necho {MARK}\n')

    shown = typed(
        tmp_path, "bash", "--noprofile", "--rcfile", str(start), "-i",
        keys=b"hermes se\t\t", until=WANTED,
    )  # fmt: skip

    assert all(word in shown for word in WANTED), shown


@needs("zsh")
@pytest.mark.req("W8")
def test_zsh_completes_commands_on_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / ".zfunc"
    folder.mkdir()
    (folder / "_hermes").write_text(script("zsh", tmp_path))
    (tmp_path / ".zshrc").write_text(
        f"fpath=($HOME/.zfunc $fpath)\nautoload -Uz compinit && compinit -u\nPS1='> '\nprint {MARK}\n"
    )

    shown = typed(tmp_path, "zsh", "-i", keys=b"hermes se\t\t", until=WANTED)

    assert all(word in shown for word in WANTED), shown


@needs("fish")
@pytest.mark.req("W8")
def test_fish_completes_commands(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "fish" / "completions"
    folder.mkdir(parents=True)
    (folder / "hermes.fish").write_text(script("fish", tmp_path))

    done = subprocess.run(
        ["fish", "-c", "complete --do-complete 'hermes se'"],
        env=environment(tmp_path), capture_output=True, check=True,
    )  # fmt: skip

    offered = {line.split("\t")[0] for line in done.stdout.decode().splitlines()}
    assert offered >= WANTED

"""Shell completion: what is printed is loaded by a real bash, and completes commands and options."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import environment

ASK = """
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hermes_completion hermes
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def folder(home: Path) -> Path:
    """A folder with a `hermes` in it, for PATH."""
    program = home / "hermes"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hermes "$@"\n')
    program.chmod(0o700)
    return home


@pytest.fixture
def complete(hermes, folder: Path):
    """Ask a real bash what it would offer after some words."""
    script = folder / "hermes.bash"
    script.write_text(hermes("completion", "bash").stdout)

    def ask(*words: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", ASK, "bash", str(script), *words],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            env=environment(folder, PATH=f"{folder}:/usr/bin:/bin"),
        )
        assert done.stderr == ""
        return done.stdout.split()

    return ask


@pytest.mark.req("W1")
def test_bash_completes_commands_and_the_commands_below_them(complete):
    assert {"doctor", "init", "completion", "up", "why"} <= set(complete("hermes", ""))
    assert complete("hermes", "doc") == ["doctor"]
    assert {"create", "list", "revoke", "rotate-store"} <= set(complete("hermes", "keys", ""))


@pytest.mark.req("W1")
def test_bash_completes_options_and_the_words_of_an_argument(complete):
    assert complete("hermes", "doctor", "--f") == ["--fix"]
    assert complete("hermes", "completion", "z") == ["zsh"]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("zsh", {"_HERMES_COMPLETE": "complete_zsh"}),
        ("fish", {"_HERMES_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_the_other_shells_get_a_script_and_are_answered_as_it_asks(hermes, shell, asked):
    script = hermes("completion", shell)

    told = hermes(**asked, _TYPER_COMPLETE_ARGS="hermes doc")

    assert script.returncode == 0
    assert all(f"{name}={value}" in script.stdout for name, value in asked.items())
    assert "doctor" in told.stdout
    assert "status" not in told.stdout


@pytest.mark.req("W1")
def test_an_unknown_shell_is_a_wrong_use_that_names_the_known(hermes):
    done = hermes("completion", "tcsh")

    assert done.returncode == 2
    assert all(name in done.stderr for name in ("bash", "zsh", "fish"))


@pytest.mark.req("W1")
@pytest.mark.parametrize("at", ["4", "x", "-9"])
def test_nothing_is_offered_for_a_home_of_nobody_or_a_cursor_that_is_nowhere(hermes, at):
    words = "hermes why --home ~nosuchuser m_"

    done = hermes(_HERMES_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=at)

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")

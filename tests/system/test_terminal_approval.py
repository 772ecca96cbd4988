"""An approval in `hermes chat`, in a real terminal: a new message denies it, says so and is answered."""

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.live import environment, run_command
from tests.system.test_browser_first_week import PAY, first_week
from tests.unit.cli.terminal import Terminal

# How the screen of 80 columns breaks the lines is not the point.
_BREAKS = re.compile(r"\s+")


@contextmanager
def chat_in_terminal(home: Path) -> Iterator[Terminal]:
    """Run `hermes chat` in a terminal until the block ends."""
    terminal = Terminal([sys.executable, "-m", "hermes", "chat"], environment(home))
    try:
        yield terminal
    finally:
        terminal.close()


def talk(home: Path) -> None:
    """Do what a person does, and read what they read."""
    with chat_in_terminal(home) as terminal:
        terminal.wait_for("Ctrl-D leaves")
        terminal.type(f"{PAY}\n")
        asked = _BREAKS.sub(" ", terminal.wait_for("it, too."))
        assert "May I run pay" in asked
        assert re.search(r"This waits for your answer until \d\d:\d\d:", asked)

        terminal.type("what time is it?\n")
        terminal.wait_for("Denied: pay was not run, because you wrote something else.")
        terminal.wait_for("#2 what time is it?")

        terminal.type(f"{PAY}\n")
        terminal.wait_for("it, too.")
        terminal.type("/approve\n")
        terminal.wait_for("paid bob")


@pytest.mark.req("J9", "W19")
async def test_a_new_message_in_a_terminal_denies_what_waits_and_is_answered(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with first_week(home):
        await asyncio.to_thread(talk, home)


@pytest.mark.req("J9", "W19")
async def test_a_script_reads_on_standard_error_what_its_message_denied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with first_week(home):
        await run_command(home, "chat", "--message", PAY)

        following = await run_command(home, "chat", "--message", "what time is it?")

        assert following.stdout == "#2 what time is it?\n"
        assert following.stderr == (
            "(Denied: pay was not run, because you wrote something else.)\n"
        )

"""Runs a page as a reader would: its files are written, a gateway starts, its blocks are typed in.

The gateway is the real `hermes up`; behind it the scripted model server says what the pages show.
"""

import asyncio
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse, answer_by_text
from hermes.testing.model_server import ModelServer
from tests.docs.markdown import Block, blocks_of, commands_of
from tests.system.live import Live, environment, live_gateway, with_model
from tests.warm.python import put_shell_command

BLOCK_S = 60.0
ADDRESS = "http://127.0.0.1:8080"
HOME = "~/.hermes"
PLUGINS = "/opt/hermes-plugins"
ANSWERS = {
    "What is a gateway?": ScriptedTurn(
        text="A door with a good memory.", tokens_in=15, tokens_out=6
    ),
    "And in three words?": ScriptedTurn(text="Keeps, asks, tells.", deltas=3),
    "Do we have eggs and flour?": ScriptedTurn(
        tools=(
            ToolUse("in_stock", '{"item":"eggs"}'),
            ToolUse("in_stock", '{"item":"flour"}'),
        )
    ),
    "Name the food and its weight in grams, as in: rice, 200": ScriptedTurn(text="rice, 150"),
    "Can I shop on Sunday?": ScriptedTurn(
        tools=(ToolUse("mcp_shop_opening_hours", '{"day":"Sunday"}'),)
    ),
}
_MARK = "\x1e"
# What differs from run to run, and the one form in which it is compared.
_VARYING = (
    (re.compile(r"\b([a-z])_[0-9a-v]{24}\b"), r"\1_ID"),
    (re.compile(r"\bhermes_[\w-]{43}"), "hermes_TOKEN"),
    (re.compile(r"\b\d+(?:\.\d+)? m?s\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "DATE UTC"),
    (re.compile(r"[ \t]+"), " "),
)


# What is said once the tools that ANSWERS asks for have run.
AFTERWARDS = {
    "Do we have eggs and flour?": ScriptedTurn(text="Twelve eggs and two bags of flour."),
    "Can I shop on Sunday?": ScriptedTurn(text="Yes, from 10 to 18."),
}


def answer(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Say what the pages show, and repeat everything else."""
    said = AFTERWARDS if seen.tool_results else ANSWERS
    return said.get(seen.last_text) or answer_by_text(seen, number)


class Lesson:
    """A running gateway, the reader's working folder, and what stands for what on the page."""

    def __init__(self, live: Live, folder: Path, *, programs: Path) -> None:
        self._live = live
        self._folder = folder
        self._programs = programs
        self._real = real_names(live.home, folder) | {ADDRESS: live.url}

    async def run(self, block: Block) -> None:
        """Run one block and compare what it prints with the page."""
        if block.language == "console":
            await self._type_in(block)
        elif block.language == "python":
            code, printed = await self._execute([sys.executable, "-c", self._made_real(block.text)])
            assert code == 0, f"{block.place} failed:\n{printed}"
            if block.output is not None:
                check_output(block.output, printed, place=block.place)

    async def _type_in(self, block: Block) -> None:
        commands = commands_of(block)
        script = "".join(f"{command.text}\nprintf '\\n{_MARK}%s\\n' $?\n" for command in commands)
        _, printed = await self._execute(["bash", "-u", "-c", self._made_real(script)])
        pieces = re.split(rf"\n{_MARK}(\d+)\n", printed)
        for command, output, code in zip(commands, pieces[::2], pieces[1::2], strict=False):
            assert code == "0", f"{block.place}: {command.text!r} ended with {code}:\n{output}"
            if command.output:
                check_output(command.output, output, place=f"{block.place}: {command.text}")
        assert len(pieces) == 2 * len(commands) + 1, f"{block.place} broke off:\n{printed}"

    async def _execute(self, command: list[str]) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self._folder,
            env=self._environment(),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        async with asyncio.timeout(BLOCK_S):
            printed, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, self._as_on_the_page(printed.decode())

    def _environment(self) -> dict[str, str]:
        usual = environment(self._live.home, with_model("http://127.0.0.1:9/v1"))
        # The reader has chosen no port.
        del usual["HERMES_SERVER__PORT"]
        binaries = [self._programs, Path(sys.executable).parent, usual["PATH"]]
        path = os.pathsep.join(str(folder) for folder in binaries)
        return {**usual, "PATH": path, "TOKEN": self._live.token}

    def _made_real(self, text: str) -> str:
        for name, real in self._real.items():
            text = text.replace(name, real)
        return text

    def _as_on_the_page(self, text: str) -> str:
        for name, real in self._real.items():
            text = text.replace(real, name)
        return text


def real_names(home: Path, folder: Path) -> dict[str, str]:
    """Return what stands for the reader's paths here."""
    mine = str(Path(sys.executable).parent)
    return {HOME: str(home), PLUGINS: str(folder / "plugins"), "/opt/mcp/bin": mine}


def check_output(shown: str, printed: str, *, place: str) -> None:
    """Compare; `...` on the page stands for anything, alone on a line for any lines."""
    expected, found = _comparable(shown), _comparable(printed)
    pieces = [
        re.escape(piece) for piece in re.split(r"\n?^\.\.\.$\n?|\.\.\.", expected, flags=re.M)
    ]
    if not re.fullmatch(".*".join(pieces), found, flags=re.DOTALL):
        raise AssertionError(f"{place}\n--- the page shows\n{expected}\n--- it printed\n{found}")


def _comparable(text: str) -> str:
    for pattern, form in _VARYING:
        text = pattern.sub(form, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def write_files(page: Path, *, home: Path, folder: Path) -> None:
    """Write every block of a page that names its file."""
    names = real_names(home, folder)
    for block in blocks_of(page):
        if block.file is None:
            continue
        path, text = block.file, block.text
        for name, real in names.items():
            path, text = path.replace(name, real), text.replace(name, real)
        target = folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@asynccontextmanager
async def lesson(page: Path, folder: Path) -> AsyncIterator[Lesson]:
    """Prepare what a page needs and start its gateway."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    (folder / "plugins").mkdir()
    write_files(page, home=home, folder=folder)
    programs = folder.parent / f"{folder.name}-programs"
    programs.mkdir()
    # The first page is run with the program that was installed, the others with its warm twin.
    if page.name != "README.md":
        put_shell_command(programs)
    async with (
        ModelServer(answer) as model,
        live_gateway(home, with_model(model.base_url)) as live,
    ):
        yield Lesson(live, folder, programs=programs)

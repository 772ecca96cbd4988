"""Runs a page as a reader would: its files are written, a gateway starts, its blocks are typed in.

Everything runs as it is written, in an empty home folder (`tests/docs/computer.py`). The gateway is
the real `hermes up`; behind it the scripted model server says what the pages show.
"""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse, answer_by_text
from hermes.testing.model_server import ModelServer
from tests.docs.computer import START_S, Computer, computer
from tests.docs.markdown import Block, blocks_of, commands_of
from tests.docs.wheels import PIP, wheels_of
from tests.system.live import with_model
from tests.warm.python import put_shell_command

PAGE_S = 300.0
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
    "What is new in 2.1?": ScriptedTurn(tools=(ToolUse("read_skill", '{"name":"release-notes"}'),)),
    "Can I shop on Sunday?": ScriptedTurn(
        tools=(ToolUse("mcp_shop_opening_hours", '{"day":"Sunday"}'),)
    ),
}
# What is said once the tools that ANSWERS asks for have run.
AFTERWARDS = {
    "Do we have eggs and flour?": ScriptedTurn(text="Twelve eggs and two bags of flour."),
    "What is new in 2.1?": ScriptedTurn(text="Fixed: the clock no longer stops at midnight. 2.1"),
    "Can I shop on Sunday?": ScriptedTurn(text="Yes, from 10 to 18."),
}
_MARK = "\x1e"
# The place on the page, what is typed, and what the page shows of its output.
Step = tuple[str, str, str | None]
# What differs from run to run, and the one form in which it is compared.
_VARYING = (
    (re.compile(r"\b([a-z])_[0-9a-v]{24}\b"), r"\1_ID"),
    (re.compile(r"\bhermes_[\w-]{43}"), "hermes_TOKEN"),
    (re.compile(r"\b\d+(?:\.\d+)? m?s\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "DATE UTC"),
    (re.compile(r"[ \t]+"), " "),
)


def answer(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Say what the pages show, and repeat everything else."""
    said = AFTERWARDS if seen.tool_results else ANSWERS
    return said.get(seen.last_text) or answer_by_text(seen, number)


async def run_page(page: Path, folder: Path) -> None:
    """Do what a page says, from top to bottom, and compare what it prints.

    The gateway starts when the last file of its home is written; what comes before prepares it.
    """
    blocks = blocks_of(page)
    own = [at for at, block in enumerate(blocks, 1) if (block.file or "").startswith("~/")]
    start = max(own, default=0)
    async with _computer_for(page, folder) as reader:
        await _do(blocks[:start], reader, output=folder / "before.out")
        async with running_gateway(reader, folder / "gateway.out"):
            await _do(blocks[start:], reader, output=folder / "terminal.out")


async def _do(blocks: list[Block], reader: Computer, *, output: Path) -> None:
    """Write the files of some blocks, and type the others into one terminal."""
    steps = []
    for block in blocks:
        if block.file is None:
            steps += _steps(block)
        else:
            write_file(block, home=reader.home)
    if not steps:
        return
    printed = await _typed(reader, _script(steps), output=output)
    pieces = re.split(rf"\n{_MARK}(\d+)\n", printed)
    results = list(zip(pieces[::2], pieces[1::2], strict=False))
    for (place, _, shown), (found, code) in zip(steps, results, strict=False):
        assert code == "0", f"{place} ended with {code}:\n{found}"
        if shown is not None:
            check_output(shown, found, place=place)
    assert len(results) == len(steps), f"{output.stem} broke off:\n{pieces[-1]}"


def _steps(block: Block) -> list[Step]:
    """Return what is typed for a block."""
    if block.language == "console":
        return [
            (f"{block.place}: {command.text}", command.text, command.output or None)
            for command in commands_of(block)
        ]
    if block.language == "python":
        return [(block.place, f"python - <<'{_MARK}'\n{block.text}{_MARK}", block.output)]
    return []


def _script(steps: list[Step]) -> str:
    """Return a script that types everything in and marks the end of each step."""
    marked = f"code=$?; printf '\\n{_MARK}%s\\n' $code; [ $code = 0 ] || exit 1\n"
    return "".join(f"{typed}\n{marked}" for _, typed, _ in steps)


async def _typed(reader: Computer, script: str, *, output: Path) -> str:
    file = output.with_suffix(".sh")
    file.write_text(script, encoding="utf-8")
    process = await reader.start("bash", "-u", str(file), output=output)
    try:
        async with asyncio.timeout(PAGE_S):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.read_text(encoding="utf-8")  # noqa: ASYNC240  a local file


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


def write_file(block: Block, *, home: Path) -> None:
    """Write a block that names its file."""
    assert block.file is not None
    target = home / block.file.removeprefix("~/")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Where the name of the file is no comment, it is no part of the file.
    text = block.text.partition("\n")[2] if target.suffix == ".md" else block.text
    target.write_text(text, encoding="utf-8")


@asynccontextmanager
async def _computer_for(page: Path, folder: Path) -> AsyncIterator[Computer]:
    """Give the reader of a page a computer on which Hermes is installed, with a model."""
    programs = folder / "programs"
    programs.mkdir()
    # The first page is run with the program that was installed, the others with its warm twin.
    if page.name != "README.md":
        put_shell_command(programs)
    text = page.read_text(encoding="utf-8")  # noqa: ASYNC240  a local file
    packages = wheels_of(folder) if PIP in text else {}
    async with (
        computer(folder, programs, packages) as machine,
        ModelServer(answer, listener=machine.listener) as model,
    ):
        yield machine.with_variables(with_model(model.base_url))


@asynccontextmanager
async def running_gateway(reader: Computer, output: Path) -> AsyncIterator[None]:
    """Run `hermes up` on a computer."""
    gateway = await reader.start("hermes", "up", output=output)
    try:
        async with asyncio.timeout(START_S):
            while "Ctrl-C stops it" not in output.read_text():  # noqa: ASYNC240
                assert gateway.returncode is None, output.read_text()  # noqa: ASYNC240
                await asyncio.sleep(0.02)
        yield
    finally:
        if gateway.returncode is None:
            gateway.send_signal(signal.SIGTERM)
        await gateway.wait()

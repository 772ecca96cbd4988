"""The tools of the terminal as models see them: commands, background processes and files."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from hermes.errors import Refused, ToolError
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import Approver, Tool, ToolContext, ToolTraits
from hermes.ports.work_files import SessionOwner, WorkFile
from hermes.tools.function_tool import tool
from hermes.tools.terminal.commands import Commands
from hermes.tools.terminal.session_files import SessionFiles

T = TypeVar("T")
# Whoever approves a command sees all of it; a longer one belongs into a file.
MAX_COMMAND: Final = 3_000
# JSON writes some letters with two, and tools have other arguments, too.
_SHOWN: Final = 2 * MAX_COMMAND + 200
# How long a command may take to start and to end beside its own time.
_AROUND_S: Final = 60.0
_READ_BYTES: Final = 1_000_000
_SEARCH_BYTES: Final = 1_000_000
# Also of files that take no room on the disk: a file of a megabyte may be one large hole.
_SEARCHED_BYTES: Final = 200_000_000
_MOST_HITS: Final = 200
_LINE: Final = 300


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, max_length=MAX_COMMAND)]
    timeout_s: Annotated[float, Meta(gt=0)] | None = None
    background: bool = False


class TerminalTool:
    """Runs commands; implements the tool port and says for each command who must approve it."""

    def __init__(self, commands: Commands, *, timeout_s: float, about: str) -> None:
        self._commands = commands
        self._timeout_s = timeout_s
        self._spec = _spec(timeout_s, about)
        self._traits = ToolTraits(
            cancellable=True, timeout_s=timeout_s + _AROUND_S, shown_chars=_SHOWN
        )

    @property
    def spec(self) -> ToolSpec:
        """The description for the model."""
        return self._spec

    @property
    def traits(self) -> ToolTraits:
        """How the tool may be run."""
        return self._traits

    async def approver(self, arguments: msgspec.Raw, context: ToolContext) -> Approver:
        """Return who must approve a command."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        return await self._commands.approver(asked.command, context)

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Run the command, or start it in the background."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        if asked.background:
            return await self._commands.start(asked.command, context)
        limit = asked.timeout_s or self._timeout_s
        return await self._commands.run(asked.command, context, timeout_s=limit)


def _spec(timeout_s: float, about: str) -> ToolSpec:
    properties = {
        "command": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_COMMAND,
            "description": "A command line for the shell. Put longer scripts into a file.",
        },
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": f"Its time limit in seconds; at most, and by default, {timeout_s:g}.",
        },
        "background": {
            "type": "boolean",
            "default": False,
            "description": "Whether it goes on after this call, such as a server. The result is its"
            " id for terminal_output and terminal_stop.",
        },
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["command"],
        "additionalProperties": False,
    }
    described = f"Run a command in the working folder of this conversation. {about}"
    return ToolSpec(
        name="terminal",
        description=described,
        parameters=msgspec.Raw(msgspec.json.encode(schema)),
    )


def process_tools(commands: Commands) -> tuple[Tool, ...]:
    """Return the tools for background processes."""

    @tool(idempotent=True, cancellable=True)
    async def terminal_output(
        context: ToolContext,
        process: Annotated[str, "Its id, such as b1; without one all of them are listed."] = "",
    ) -> str:
        """Show the state of a background process and the end of its output."""
        return await commands.output(process, context)

    @tool(idempotent=True)
    async def terminal_stop(
        context: ToolContext, process: Annotated[str, "Its id, such as b1."]
    ) -> str:
        """End a background process and everything that it started."""
        return await commands.stop(process, context)

    return (terminal_output, terminal_stop)


def file_tools(files: SessionFiles) -> tuple[Tool, ...]:
    """Return the tools for files in the working folder."""

    @tool(idempotent=True, parallel=True)
    def read_file(
        context: ToolContext,
        path: Annotated[str, "Its path in the working folder, such as notes.txt."],
        *,
        first_line: Annotated[int, Meta(ge=1), "The first line to return."] = 1,
        lines: Annotated[int, Meta(ge=1), "How many lines to return at most."] = 2_000,
    ) -> str:
        """Read a text file of the working folder."""
        folder = files.folder(_owner(context))
        text = _text(_reported(lambda: folder.read(path, limit=_READ_BYTES)), path)
        return _lines(text, first_line, lines)

    @tool(idempotent=True)
    async def write_file(
        context: ToolContext,
        path: Annotated[str, "Its path in the working folder; missing folders are made."],
        text: Annotated[str, "The whole content of the file."],
    ) -> str:
        """Write a text file in the working folder; a file that is there is replaced."""
        data = text.encode(errors="replace")
        is_new = await asyncio.to_thread(
            _reported, lambda: files.write(_owner(context), path, data)
        )
        return f"{'wrote' if is_new else 'replaced'} {path} ({len(data)} bytes)"

    @tool(idempotent=True, parallel=True)
    def list_files(
        context: ToolContext,
        path: Annotated[str, "A folder in the working folder; all of it if left out."] = "",
    ) -> str:
        """List the files in the working folder with their sizes."""
        folder = files.folder(_owner(context))
        found = _reported(lambda: folder.list(path))
        rows = [f"{one.path} ({one.size} bytes)" for one in found.files]
        more = ["There are more; name a folder to see them."] if found.is_cut else []
        return "\n".join(rows + more) or "There are no files."

    @tool(idempotent=True, parallel=True)
    def search_files(
        context: ToolContext,
        text: Annotated[str, Meta(min_length=1), "What to look for; case does not matter."],
        path: Annotated[str, "A folder in the working folder; all of it if left out."] = "",
    ) -> str:
        """Find lines with a text in the files of the working folder."""
        folder = files.folder(_owner(context))
        return _reported(lambda: _hits(folder.texts(path, limit=_SEARCH_BYTES), text))

    return (read_file, write_file, list_files, search_files)


def _owner(context: ToolContext) -> SessionOwner:
    return SessionOwner(person_id=context.person_id, lane=context.lane, folder=context.folder)


def _hits(found: Iterator[tuple[WorkFile, bytes]], text: str) -> str:
    wanted = text.casefold()
    rows: list[str] = []
    read = 0
    for one, data in found:
        read += len(data)
        if read > _SEARCHED_BYTES:
            return "\n".join((*rows, "There is more than can be searched at once; name a folder."))
        if b"\0" in data[:1_024]:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
            if wanted in line.casefold():
                rows.append(f"{one.path}:{number}: {line.strip()[:_LINE]}")
            if len(rows) >= _MOST_HITS:
                return "\n".join((*rows, "There is more; look for something rarer."))
    return "\n".join(rows) or "Nothing was found."


def _text(data: bytes, path: str) -> str:
    if b"\0" in data[:1_024]:
        raise ToolError(f"{path} is no text; use the terminal to look into it")
    return data.decode(errors="replace")


def _lines(text: str, first: int, count: int) -> str:
    every = text.splitlines()
    shown = every[first - 1 : first - 1 + count]
    left = len(every) - (first - 1) - len(shown)
    note = [f"[{left} more lines; the file has {len(every)}]"] if left > 0 else []
    return "\n".join([*shown, *note]) or "(The file has no such lines.)"


def _reported(act: Callable[[], T]) -> T:
    """Return what a file operation returns; the model is told why one is refused."""
    try:
        return act()
    except Refused as error:
        raise ToolError(str(error)) from error
    except OSError as error:
        raise ToolError(f"the file cannot be used: {error.strerror}") from error

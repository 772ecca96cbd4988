"""`hermes acp`: an editor talks to an agent over standard input and output (Agent Client Protocol).

It uses the running gateway, or starts one in this process if none runs.
"""

import asyncio
import os
import stat
import sys
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from asyncio.streams import FlowControlMixin
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, BinaryIO, TextIO

import typer

from hermes.cli.chat import gateway_line
from hermes.cli.conversation import GatewayTransport
from hermes.cli.environment import home_for
from hermes.cli.terminal import Home, error_console, examples
from hermes.config import ensure_home
from hermes.errors import BadRequest
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.cli.acp_agent import serve
else:
    serve = lazy("hermes.cli.acp_agent:serve")

EPILOG = examples("hermes acp", "hermes acp --agent work")
# A file that an editor puts into a message is one line of JSON.
_LINE_BYTES = 8 << 20


def command(
    *,
    home: Home = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent to talk to.", show_default=False)
    ] = None,
) -> None:
    """Serve an editor over standard input and output, by the Agent Client Protocol."""
    if sys.stdin.isatty():
        error_console().print(
            "Editors start this command and talk JSON with it; Ctrl-D ends it. To talk to an agent "
            "yourself, use `hermes chat`."
        )
    if not all(map(_is_line, (sys.stdin, sys.stdout))):
        raise BadRequest(
            "`hermes acp` talks to an editor over pipes, and its input or output is not a pipe here. Editors "
            "start it by themselves; docs/how-to/editors.md shows their settings."
        )
    folder = home_for(home)
    running = find_running(folder)
    ensure_home(folder)
    with own_output() as output, gateway_line(running, home) as line:
        asyncio.run(_talk(line, output, agent=agent))


def _is_line(stream: TextIO) -> bool:
    """Return whether a stream is one that an event loop can wait for: no file, no /dev/null."""
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()


async def _talk(line: GatewayTransport, output: BinaryIO, *, agent: str | None) -> None:
    reader, writer = await _streams(sys.stdin.buffer, output)
    await serve(line, reader, writer, agent=agent)


@contextmanager
def own_output() -> Iterator[BinaryIO]:
    """Yield standard output for the protocol alone; whatever else is printed goes to standard error."""
    sys.stdout.flush()
    number = sys.stdout.fileno()
    with os.fdopen(os.dup(number), "wb", buffering=0) as output:
        os.dup2(sys.stderr.fileno(), number)
        try:
            yield output
        finally:
            sys.stdout.flush()
            os.dup2(output.fileno(), number)


async def _streams(source: BinaryIO, target: BinaryIO) -> tuple[StreamReader, StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = StreamReader(limit=_LINE_BYTES)
    await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(FlowControlMixin, target)
    return reader, StreamWriter(transport, protocol, None, loop)

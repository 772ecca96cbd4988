"""`hermes chat`: talk to the gateway from a terminal, a pipe or a script.

It uses the running gateway, or starts one in this process if none runs.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.attached_files import attached_text
from hermes.cli.chat_screen import LiveScreen, PlainScreen, show_answer
from hermes.cli.conversation import Conversation, GatewayTransport, HttpTransport
from hermes.cli.environment import home_for, settings_for
from hermes.cli.failure import FAILED
from hermes.cli.gateway_client import client_for
from hermes.cli.terminal import Home, clean, console, error_console, examples, print_json
from hermes.config import ensure_home
from hermes.errors import BadRequest, HermesError
from hermes.lazy import lazy
from hermes.message.ids import MakeId, make_id
from hermes.ops.instance import RunningGateway, find_running

if TYPE_CHECKING:
    from hermes.cli.in_process import gateway_in_process
else:
    gateway_in_process = lazy("hermes.cli.in_process:gateway_in_process")

EPILOG = examples(
    "hermes chat",
    "hermes chat --new",
    'hermes chat --message "What is a gateway?"',
    "cat question.txt | hermes chat --message -",
    "hermes chat --message hello --json",
    "hermes chat --agent work --model openai:gpt-4o-mini",
    'hermes chat --file notes.txt --message "Summarise this."',
)
HELP = """\
/new             start a new conversation
/stop            stop the answer (Ctrl-C while it is being written does the same)
/approve, /deny  decide about a tool that asks for approval
/help            this text and the gateway's commands; every other /command goes to the gateway
\\ at the end     continue on the next line;  \"\"\" on a line of its own opens and ends a block
/exit, Ctrl-D    leave (/quit, or Ctrl-C twice, does the same)"""

_LEAVE = frozenset({"/exit", "/quit"})


_LONGEST_ID = 200


class ChatMemory:
    """The chat's own small folder: the conversation's id and the typed lines."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "chat"
        self._conversation = self._folder / "conversation"

    @property
    def history(self) -> Path:
        """The file of typed lines."""
        return self._folder / "history"

    def conversation(self, make_id: MakeId, *, fresh: bool) -> str:
        """Return the id of the conversation to continue, or a new id."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not fresh and self._conversation.exists():
            known = self._conversation.read_text(encoding="utf-8", errors="replace").strip()
            if 0 < len(known) <= _LONGEST_ID:
                return known
        return self.keep(make_id("c"))

    def keep(self, conversation_id: str) -> str:
        """Store the id of the conversation to continue next time; return it."""
        draft = self._conversation.with_name(f".conversation.{os.getpid()}")
        draft.write_text(conversation_id + "\n", encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(self._conversation)
        return conversation_id


def command(
    *,
    home: Home = None,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            "-m",
            help="Send this message and print only the reply; - reads the message from a pipe.",
        ),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start a new conversation.")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent to talk to.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="The model that answers in this conversation, as `/model` sets it.",
            show_default=False,
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            help="A text file to send with the first message; may be given several times.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --message: print the whole answer as JSON.")
    ] = False,
) -> None:
    """Talk to Hermes in this terminal; continues the last conversation."""
    attached = attached_text(files or ())
    if as_json and message is None:
        raise typer.BadParameter("it needs --message TEXT", param_hint="--json")
    folder = home_for(home)
    running = find_running(folder)
    ensure_home(folder)
    memory = ChatMemory(folder)
    with gateway_line(running, home) as line:
        known = memory.conversation(make_id, fresh=new)
        conversation = Conversation(line, known, make_id=make_id, agent=agent)
        if model is not None:
            _choose(conversation, model)
        conversation.attach(attached)
        if message is not None:
            raise typer.Exit(_ask_once(conversation, _given_text(message), as_json=as_json))
        if sys.stdin.isatty() and sys.stdout.isatty():
            with LineHistory(memory.history):
                _Chat(conversation, memory, out=console()).run()
        else:
            raise typer.Exit(_talk_through_pipe(conversation, memory))


@contextmanager
def gateway_line(running: RunningGateway | None, home: Path | None) -> Iterator[GatewayTransport]:
    """Yield the connection to the gateway that runs, or to one in this process."""
    if running is not None:
        # It does not need its files to be right any more.
        yield HttpTransport(client_for(running))
        return
    loaded = settings_for(home)
    status = error_console().status("Starting Hermes …")
    status.start()
    try:
        with gateway_in_process(loaded) as line:
            status.stop()
            yield line
    finally:
        status.stop()


def _choose(conversation: Conversation, model: str) -> None:
    """Choose the model of a conversation; raises what the gateway says against it."""
    answer = conversation.ask(f"/model {model}", _Unseen())
    if not answer.is_good:
        raise BadRequest(answer.reply or f"The model {model} could not be chosen.")


def _given_text(message: str) -> str:
    text = sys.stdin.read() if message == "-" else message
    if not text.strip():
        raise BadRequest(
            "The message is empty. Write it after --message, or pipe it into `hermes chat "
            "--message -`."
        )
    return text


def _ask_once(conversation: Conversation, text: str, *, as_json: bool) -> int:
    screen = PlainScreen()
    if as_json:
        answer = conversation.ask(text, _Unseen())
        print_json(answer)
    else:
        answer = conversation.ask(text, screen)
        screen.finish(answer)
    return 0 if answer.is_good else FAILED


class _Unseen(PlainScreen):
    """Shows no progress: the whole answer is printed at the end."""

    def add(self, text: str) -> None:
        """Show nothing."""


def _talk_through_pipe(conversation: Conversation, memory: ChatMemory) -> int:
    screen = PlainScreen(notes=sys.stderr)
    worst = 0
    while True:
        try:
            text = read_message(read_piped_line).strip()
        except EOFError:
            return worst
        if text in _LEAVE:
            return worst
        if text == "/new":
            memory.keep(conversation.renew())
        elif text:
            if text == "/help":
                print(HELP)
            answer = conversation.respond(text, screen)
            screen.finish(answer)
            worst = worst if answer.is_good else FAILED


class _Chat:
    """The prompt loop, until the person leaves."""

    def __init__(self, conversation: Conversation, memory: ChatMemory, *, out: Console) -> None:
        self._conversation = conversation
        self._memory = memory
        self._out = out

    def run(self) -> None:
        """Talk until the person leaves."""
        self._out.print(Text("Hermes. /help shows what you can do, Ctrl-D leaves.", style="dim"))
        wants_to_leave = False
        while True:
            try:
                text = read_message(input).strip()
            except EOFError:
                self._out.print()
                return
            except KeyboardInterrupt:
                self._out.print()
                if wants_to_leave:
                    return
                wants_to_leave = True
                self._out.print(Text("Ctrl-C again leaves.", style="dim"))
                continue
            wants_to_leave = False
            if text in _LEAVE:
                return
            if text:
                self._handle(text)

    def _handle(self, text: str) -> None:
        if text == "/new":
            self._memory.keep(self._conversation.renew())
            self._out.print(Text("Started a new conversation.", style="dim"))
            return
        if text == "/help":
            self._out.print(Text(HELP, style="dim"))
        self._ask(text)

    def _ask(self, text: str) -> None:
        try:
            with LiveScreen(self._out) as screen:
                answer = self._conversation.respond(text, screen)
        except HermesError as error:
            self._out.print(Text(clean(str(error)), style="red"))
        except KeyboardInterrupt:
            self._out.print(
                Text("Stopped following the answer; the gateway continues with it.", style="yellow")
            )
        else:
            show_answer(self._out, answer)


try:
    import readline
except ImportError:  # some builds of Python come without it
    readline = None  # type: ignore[assignment]

PROMPT = "› "
CONTINUED = "… "
BLOCK = '"""'
_KEPT_LINES = 2000

ReadLine = Callable[[str], str]


def read_message(read_line: ReadLine) -> str:
    """Return one message: a line, lines joined by a last backslash, or a block between quotes.

    Raises EOFError at the end of the input, as `read_line` does.
    """
    line = read_line(PROMPT)
    if line.strip() == BLOCK:
        return _read_block(read_line)
    lines = [line]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(read_line(CONTINUED))
    return "\n".join(lines)


def _read_block(read_line: ReadLine) -> str:
    lines: list[str] = []
    while (line := read_line(CONTINUED)).strip() != BLOCK:
        lines.append(line)
    return "\n".join(lines)


def read_piped_line(_prompt: str) -> str:
    """Return the next line of a pipe, without a prompt."""
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


class LineHistory:
    """The lines of earlier chats, in a file that only their owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._editor: ModuleType | None = readline

    def __enter__(self) -> "LineHistory":
        if self._editor is not None and self._path.exists():
            self._editor.read_history_file(self._path)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._editor is None:
            return
        self._editor.set_history_length(_KEPT_LINES)
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._editor.write_history_file(self._path)

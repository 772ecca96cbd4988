"""How the terminal chat shows an answer: live Markdown on a terminal, plain text in a pipe."""

import sys
import termios
from datetime import datetime
from typing import Any, TextIO

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from hermes.cli.conversation import ASKED, MessageResult
from hermes.cli.terminal import clean

_FRAMES_PER_SECOND = 12
_ROWS_KEPT_FREE = 3
_THINKING = "thinking …"
# What follows a backslash in LaTeX and is no mark of Markdown that people escape.
_FORMULA_MARKS = frozenset(",;:!()[]{}%&$|^/")
# Where `termios` has the flag for echoing.
_LOCAL_FLAGS = 3


class TypedAhead:
    """What a person types while the answer is written: the next prompt shows it, not the answer."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def hide(self) -> None:
        """Stop the terminal from echoing; what is typed waits in its buffer."""
        if not sys.stdin.isatty():
            return
        self._before = termios.tcgetattr(sys.stdin)
        silent = [*self._before]
        silent[_LOCAL_FLAGS] &= ~termios.ECHO
        termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)

    def show(self) -> None:
        """Let the terminal echo as before."""
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            self._before = None


class AnswerText(Markdown):
    """A Markdown text that keeps its line breaks, and the backslashes of formulas."""

    def __init__(self, text: str) -> None:
        super().__init__("")
        self.markup = text
        parser = MarkdownIt().enable("strikethrough").enable("table")
        # In a formula a backslash is no escape: it stays, unless it hides a mark of Markdown.
        parser.inline.ruler.before("escape", "formula", _formula_backslash)
        self.parsed = parser.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                child.type = "hardbreak" if child.type == "softbreak" else child.type


def _formula_backslash(state: StateInline, silent: bool) -> bool:
    """Take a backslash and the mark after it as text."""
    after = state.src[state.pos + 1 : state.pos + 2]
    if state.src[state.pos] != "\\" or not after or after not in _FORMULA_MARKS:
        return False
    if not silent:
        state.pending += f"\\{after}"
    state.pos += 2
    return True


class LiveScreen:
    """Renders the answer while it arrives; the finished answer stays in the scrollback."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._pieces: list[str] = []
        self._note = _THINKING
        self._spinner = Spinner("dots")
        self._typing = TypedAhead()
        self._live = Live(
            console=console,
            get_renderable=self._frame,
            refresh_per_second=_FRAMES_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> "LiveScreen":
        self._typing.hide()
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()
        self._typing.show()

    def restart(self) -> None:
        """Clear the shown text: the whole text is sent again."""
        self._pieces.clear()
        self._note = _THINKING

    def add(self, text: str) -> None:
        """Show more of the answer."""
        self._pieces.append(clean(text))

    def note(self, text: str) -> None:
        """Show what the gateway is doing."""
        self._note = clean(text)

    def tool(self, name: str) -> None:
        """Show that a tool runs."""
        self.note(f"using {name} …")

    def say(self, text: str) -> None:
        """Print a line above the answer that stays."""
        self._console.print(Text(clean(text), style="yellow"))

    def _frame(self) -> RenderableType:
        if not self._pieces:
            self._spinner.update(text=Text(self._note, style="dim"))
            return self._spinner
        return _Tail("".join(self._pieces))


class _Tail:
    """The end of a Markdown text, as much as fits: a terminal cannot erase a taller frame."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(AnswerText(self._text), options, pad=False)
        fitting = max(1, console.height - _ROWS_KEPT_FREE)
        for line in lines[-fitting:]:
            yield from line
            yield Segment.line()


def show_answer(console: Console, answer: MessageResult) -> None:
    """Print a finished answer with its model, tokens and cost."""
    if answer.said and not answer.is_told_by_waits:
        console.print(AnswerText(clean(answer.said)))
    if answer.state == "parked":
        console.print(Text(parked_text(answer), style="yellow"))
    elif answer.state != ASKED and answer.outcome != "answered":
        reason = f": {clean(answer.reason)}" if answer.reason else ""
        console.print(Text(f"({answer.outcome}{reason})", style="yellow"))
    console.print(Text(footer(answer), style="dim"))


def parked_text(answer: MessageResult) -> str:
    """Return what the person must do before a parked answer continues."""
    name = f" {answer.approval}" if answer.approval else ""
    how = f"/approve{name} allows it, /deny{name} refuses it. Anything else that you write refuses it, too."
    waits = answer.waits
    if waits is None:
        return f"This waits for your answer: {how}"
    whose = "an admin's" if waits.by_admins else "your"
    return (
        f"May I run {clean(waits.tool)} with {clean(waits.arguments)}? This waits for {whose} answer "
        f"until {_clock_time(waits.expires_at)}: {how}"
    )


def _clock_time(at: float) -> str:
    """Return a time of the day, in the zone of this terminal."""
    return f"{datetime.fromtimestamp(at).astimezone():%H:%M}"


def footer(answer: MessageResult) -> str:
    """Return model, tokens and cost of an answer in one line."""
    pieces = [clean(answer.model)] if answer.model else []
    if answer.tokens_in or answer.tokens_out:
        pieces.append(f"{answer.tokens_in} tokens in, {answer.tokens_out} out")
    if answer.cost_usd is None:
        pieces.append("price unknown")
    else:
        pieces.append(f"${answer.cost_usd:.6f}" if answer.cost_usd else "no cost")
    return " · ".join([*pieces, answer.id])


class PlainScreen:
    """Writes the answer as it arrives, without control codes; for pipes and scripts."""

    def __init__(self, out: TextIO | None = None, notes: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._notes = notes
        self._pieces: list[str] = []
        self._printed = ""

    def restart(self) -> None:
        """The whole text is sent again; printed text cannot be erased, only continued."""
        self._pieces.clear()

    def add(self, text: str) -> None:
        """Print the part of the answer that is new."""
        self._pieces.append(clean(text))
        self._print_rest("".join(self._pieces))

    def note(self, text: str) -> None:
        """Print on standard error what the gateway is doing."""
        if self._notes is not None:
            print(f"({clean(text)})", file=self._notes, flush=True)

    def tool(self, name: str) -> None:
        """Print on standard error that a tool runs."""
        self.note(f"using {name} …")

    def say(self, text: str) -> None:
        """Print a line for the person on standard error, so that a reply stays a reply."""
        print(f"({clean(text)})", file=self._notes or sys.stderr, flush=True)

    def finish(self, answer: MessageResult) -> None:
        """Print the rest of the final reply and end the line."""
        final = clean(answer.said)
        if answer.state == "parked":
            asked = parked_text(answer)
            final = asked if answer.is_told_by_waits else f"{final}\n{asked}".lstrip()
        if final and not final.startswith(self._printed):
            self._write("\n")
            self._printed = ""
        self._print_rest(final)
        if self._printed and not self._printed.endswith("\n"):
            self._write("\n")
        self._pieces, self._printed = [], ""

    def _print_rest(self, text: str) -> None:
        if len(text) > len(self._printed) and text.startswith(self._printed):
            self._write(text[len(self._printed) :])
            self._printed = text

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

"""What a dialect is: it turns what a program writes into events, and says what to write to it. Pure.

Nothing that a program writes is trusted: a line that is no JSON is passed over, a field of another type
is as if it were not there.
"""

import codecs
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from hermes.errors import AdapterError
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.message.visible import shown_lines
from hermes.ports.adapter import AdapterEnd, AdapterSession, AdapterStatus
from hermes.ports.provider import TextDelta

_LONG_LINE: Final = 1_000_000
_SHOWN: Final = 3_000
_ID_CHARS: Final = 500
_MODEL_CHARS: Final = 200
_NOTHING: Final = Usage()
_decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


class PermissionQuestion(msgspec.Struct, frozen=True):
    """The program asks whether it may do something; `id` is its own name for the question."""

    id: str | int
    text: str


class ProgramInput(msgspec.Struct, frozen=True):
    """What is to be written to the program."""

    data: bytes


class MissingSession(msgspec.Struct, frozen=True):
    """The program does not know the session that it should resume; it has done nothing."""


Heard = (
    TextDelta
    | AdapterSession
    | AdapterStatus
    | AdapterEnd
    | PermissionQuestion
    | ProgramInput
    | MissingSession
)


class ProgramRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a program is asked: the message, its session if there is one, and where it works."""

    prompt: str
    system: str = ""
    session: str = ""
    is_new: bool = True
    model: str = ""
    folder: str = ""


class Dialect(Protocol):
    """One conversation with one process."""

    @property
    def reads_lines(self) -> bool:
        """Whether `hear` gets whole lines, and not pieces as they come."""
        ...

    def opening(self) -> bytes:
        """Return what is written first."""
        ...

    def hear(self, data: bytes) -> Sequence[Heard]:
        """Return what a line means; raises `AdapterError` if it says that the program failed."""
        ...

    def answer(self, asked: PermissionQuestion, *, allows: bool) -> bytes:
        """Return the answer to a question."""
        ...

    def ended(self, code: int | None) -> AdapterEnd | None:
        """Return the end if the exit of the program is one; None if there was no answer."""
        ...


class AnswerPieces:
    """The text of an answer, of several messages with a blank line between them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._of: object = None

    def add(self, text: str, of: object = None) -> TextDelta:
        """Return more of the message `of`."""
        if self._pieces and of != self._of:
            text = f"\n\n{text}"
        self._of = of
        self._pieces.append(text)
        return TextDelta(text)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def end(self, usage: Usage = _NOTHING, *, model: str = "") -> AdapterEnd:
        """Return the end of the answer."""
        text = self.text.strip()
        parts = (TextPart(text),) if text else ()
        return AdapterEnd(parts, usage, model=model_name(model))


class TextDialect:
    """A program that reads a message and writes its answer, and knows nothing more."""

    reads_lines = False

    def __init__(self, asked: ProgramRequest) -> None:
        self._asked = asked
        self._answer = AnswerPieces()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def opening(self) -> bytes:
        """Return the message."""
        return self._asked.prompt.encode()

    def hear(self, data: bytes) -> Sequence[Heard]:
        """Return more of the answer."""
        text = self._decoder.decode(data)
        return (self._answer.add(text),) if text else ()

    def answer(self, asked: PermissionQuestion, *, allows: bool) -> bytes:
        """Nothing is asked."""
        return b""

    def ended(self, code: int | None) -> AdapterEnd | None:
        """Return the end, if the program says that it went well."""
        return self._answer.end() if code == 0 else None


class LinesDialect:
    """A program that writes JSON lines: `text`, `session`, `status`, `ask` with `id`, and last `end`.

    It reads one line with `prompt`, `system`, `session`, `model` and `folder`, and one with `id` and
    `allows` for each question.
    """

    reads_lines = True

    def __init__(self, asked: ProgramRequest) -> None:
        self._asked = asked
        self._answer = AnswerPieces()

    def opening(self) -> bytes:
        """Return what is asked."""
        return encode(self._asked) + b"\n"

    def hear(self, data: bytes) -> Sequence[Heard]:
        """Return what a line means."""
        line = json_object(data)
        if text := text_at(line, "text"):
            return (self._answer.add(text),)
        if session := text_at(line, "session"):
            return (session_of(session),)
        if status := text_at(line, "status"):
            return (AdapterStatus(status[:200]),)
        if ask := text_at(line, "ask"):
            asked = PermissionQuestion(id_at(line), shown(ask))
            # Nobody allows what they have not seen.
            return (asked if is_shown(ask) else ProgramInput(self.answer(asked, allows=False)),)
        if problem := text_at(line, "error"):
            raise AdapterError(problem[:_SHOWN])
        if line.get("gone") is True:
            return (MissingSession(),)
        if line.get("end") is True:
            return (self._answer.end(usage_of(line.get("usage")), model=text_at(line, "model")),)
        return ()

    def answer(self, asked: PermissionQuestion, *, allows: bool) -> bytes:
        """Return a line with the answer."""
        return encode({"id": asked.id, "allows": allows}) + b"\n"

    def ended(self, code: int | None) -> AdapterEnd | None:
        """Only its own `end` is one."""
        return None


class _LongLine(msgspec.Struct, omit_defaults=True):
    """What is read of a line of megabytes: an answer may be that long, tables are not."""

    type: str = ""
    subtype: str = ""
    method: str = ""
    id: str | int | None = None
    request_id: str = ""
    text: str = ""
    ask: str = ""
    result: str = ""
    error: str = ""
    is_error: bool = False


_decode_long = msgspec.json.Decoder(_LongLine).decode


# Any: JSON.
def json_object(data: bytes) -> dict[str, Any]:
    """Return the object of a line; an empty one for anything else.

    To make all values of a long line would hold up everybody else for a second.
    """
    try:
        is_long = len(data) > _LONG_LINE
        found = msgspec.to_builtins(_decode_long(data)) if is_long else _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return as_object(found)


# Any: JSON.
def object_at(line: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the object at a path; an empty one if there is none."""
    found: object = line
    for name in names:
        found = as_object(found).get(name)
    return as_object(found)


# Any: JSON.
def as_object(found: object) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return found if isinstance(found, dict) else {}


def text_at(line: dict[str, Any], name: str) -> str:
    """Return the text of a field; empty if there is none."""
    found = line.get(name)
    return found if isinstance(found, str) else ""


def id_at(line: dict[str, Any]) -> str | int:
    """Return the id of a request."""
    found = line.get("id")
    return found if isinstance(found, int) else str(found)[:_ID_CHARS]


def number_at(line: dict[str, Any], name: str) -> int:
    """Return a count; 0 for anything else."""
    found = line.get(name)
    is_count = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 10**12
    return int(found) if is_count and found is not None else 0


def dollars_at(line: dict[str, Any], name: str) -> float:
    """Return an amount of dollars; 0 for anything else."""
    found = line.get(name)
    is_amount = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if is_amount and found is not None and 0 <= found < 10**6 else 0.0


def usage_of(found: object) -> Usage:
    """Return what a program of ours says that it used."""
    used = as_object(found)
    return Usage(
        tokens_in=number_at(used, "tokens_in"),
        tokens_out=number_at(used, "tokens_out"),
        cached_in=number_at(used, "cached_in"),
        cost_usd=dollars_at(used, "cost_usd"),
    )


def session_of(name: str) -> AdapterSession:
    """Return a session as it is resumed: its id becomes an argument of the next start.

    Raises `AdapterError` for one that cannot be one, or that would be read as an option.
    """
    if len(name) > _ID_CHARS or not name.isprintable() or name.startswith("-"):
        raise AdapterError(f"it names its session {name[:40]!r}, which cannot be resumed")
    return AdapterSession(name)


def model_name(name: str) -> str:
    """Return what a program calls its model, short enough for the ledger."""
    return "".join(filter(str.isprintable, name[:_MODEL_CHARS]))


def shown(words: str) -> str:
    """Return what is shown to a person of what a program wants to do."""
    return shown_lines(words, most=_SHOWN)


def is_shown(words: str) -> bool:
    """Return whether all of it is shown."""
    return len(words) <= _SHOWN

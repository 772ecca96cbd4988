"""Parses the constrained output of the demonstration model while it is written: pure.

Text, and JSON for a schema, are passed on as they come, and tool calls piece by piece. The form is
known to the character, so anything else means that the engine does not enforce the grammar.
"""

import re
from collections.abc import Callable

import msgspec

from hermes.message.ids import MakeId
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.ports.provider import ModelEvent, TextDelta, ToolCallDelta
from hermes.providers.local.constraint import ANSWER, ARGUMENTS, CALL, CALLS

_PLAIN = re.compile(r'[^"\\]+')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_HEX = frozenset("0123456789abcdefABCDEF")
_MAX_NAME_CHARS = 1_024


class MalformedAnswer(Exception):
    """The output does not have the required form."""


class ConstrainedAnswer:
    """One answer under construction; `json_answer` means any JSON value instead of a text."""

    is_full = False
    is_verbatim = True

    def __init__(self, *, json_answer: bool, make_id: MakeId) -> None:
        self._json_answer = json_answer
        self._make_id = make_id
        self._rest = ""
        self._step: Callable[[], bool] = self._open
        self._events: list[ModelEvent] = []
        self._said: list[str] = []
        self._value = _Value()
        self._calls: list[ToolCallPart] = []
        self._arguments: list[str] = []
        self._name = self._id = ""
        self.is_whole = False

    @property
    def has_begun(self) -> bool:
        """Whether any of the answer was passed on."""
        return bool(self._said or self._calls or self._name)

    def feed(self, text: str) -> list[ModelEvent]:
        """Take more output and return what it adds; raises `MalformedAnswer`."""
        self._rest += text
        while self._rest and self._step():
            pass
        events, self._events = self._events, []
        return events

    def cut(self) -> list[ModelEvent]:
        """Return nothing: text inside a form is cut as it is."""
        return []

    def parts(self) -> tuple[Part, ...]:
        """Return the complete parts: of a cut answer, its text and the finished calls."""
        text = "".join(self._said)
        return (TextPart(text),) if text else tuple(self._calls)

    def _open(self) -> bool:
        if self._took(ANSWER):
            self._step = self._json if self._json_answer else self._quote
        elif self._took(CALLS):
            self._step = self._call
        else:
            return self._waits_for(ANSWER, CALLS)
        return True

    def _quote(self) -> bool:
        self._must('"')
        self._step = self._text
        return True

    def _text(self) -> bool:
        text, end = _unescaped(self._rest)
        self._rest = self._rest[end:]
        self._say(text)
        if not self._took('"'):
            return False
        self._step = self._close
        return True

    def _json(self) -> bool:
        self._say(self._more_of_value())
        if self._value.is_whole:
            self._step = self._close
        return self._value.is_whole

    def _close(self) -> bool:
        self._must("}")
        if self._json_answer and self._said:
            _checked("".join(self._said))
        self.is_whole = True
        self._step = self._after
        return True

    def _after(self) -> bool:
        if self._rest.strip():
            raise MalformedAnswer
        return False

    def _call(self) -> bool:
        end = self._rest.find(ARGUMENTS)
        if not self._rest.startswith(CALL) or end < 0:
            return self._waits_for(CALL) if len(self._rest) < _MAX_NAME_CHARS else self._stray()
        self._name = _name(self._rest[len(CALL) : end])
        self._rest = self._rest[end + len(ARGUMENTS) :]
        self._arguments, self._value = [], _Value()
        self._id = self._make_id("call")
        self._events.append(ToolCallDelta(len(self._calls), self._id, self._name))
        self._step = self._fill
        return True

    def _fill(self) -> bool:
        piece = self._more_of_value()
        if piece:
            self._arguments.append(piece)
            self._events.append(ToolCallDelta(len(self._calls), arguments=piece))
        if self._value.is_whole:
            self._step = self._close_call
        return self._value.is_whole

    def _close_call(self) -> bool:
        self._must("}")
        arguments = _checked("".join(self._arguments))
        self._calls.append(ToolCallPart(self._id, self._name, arguments))
        self._step = self._between
        return True

    def _between(self) -> bool:
        if self._took("]"):
            self._step = self._close
        else:
            self._must(",")
            self._step = self._call
        return True

    def _say(self, text: str) -> None:
        if text:
            self._said.append(text)
            self._events.append(TextDelta(text))

    def _more_of_value(self) -> str:
        end = self._value.take(self._rest)
        piece, self._rest = self._rest[:end], self._rest[end:]
        return piece

    def _took(self, literal: str) -> bool:
        if not self._rest.startswith(literal):
            return False
        self._rest = self._rest[len(literal) :]
        return True

    def _must(self, character: str) -> None:
        if not self._took(character):
            raise MalformedAnswer

    def _waits_for(self, *literals: str) -> bool:
        begun = any(one.startswith(self._rest) or self._rest.startswith(one) for one in literals)
        return False if begun else self._stray()

    def _stray(self) -> bool:
        raise MalformedAnswer


class _Value:
    """Finds the end of a JSON value that arrives in pieces."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_text = False
        self._is_escaped = False
        self._has_begun = False
        self.is_whole = False

    def take(self, text: str) -> int:
        """Return how much of `text` belongs to the value."""
        for position, character in enumerate(text):
            if self._in_text:
                self._take_text(character)
            elif not self._depth and self._has_begun and character in ",}]":
                self.is_whole = True  # a number or a word ends where something else begins
                return position
            else:
                self._take_mark(character)
            self._has_begun = True
            if self.is_whole:
                return position + 1
        return len(text)

    def _take_text(self, character: str) -> None:
        if self._is_escaped:
            self._is_escaped = False
        elif character == "\\":
            self._is_escaped = True
        elif character == '"':
            self._in_text = False
            self.is_whole = not self._depth

    def _take_mark(self, character: str) -> None:
        if character == '"':
            self._in_text = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            self.is_whole = not self._depth


def _unescaped(text: str) -> tuple[str, int]:
    """Return the plain text up to the closing quote or a cut escape, and its length."""
    pieces: list[str] = []
    position = 0
    while position < len(text) and text[position] != '"':
        plain = _PLAIN.match(text, position)
        if plain is not None:
            pieces.append(plain[0])
            position = plain.end()
            continue
        piece, length = _escape(text[position : position + 12])
        if not length:
            break
        pieces.append(piece)
        position += length
    return "".join(pieces), position


def _escape(text: str) -> tuple[str, int]:
    """Return the meaning and the length of an escape at the beginning of `text`; length 0 if it is
    cut."""
    if len(text) < 2:
        return "", 0
    if text[1] != "u":
        if text[1] not in _ESCAPES:
            raise MalformedAnswer
        return _ESCAPES[text[1]], 2
    if len(text) < 6:
        return "", 0
    code = _hex(text[2:6])
    if not 0xD800 <= code <= 0xDBFF:
        return ("\ufffd" if 0xDC00 <= code <= 0xDFFF else chr(code)), 6
    following = text[6:]
    if len(following) < 6 and r"\u".startswith(following[:2]):
        return "", 0
    if following.startswith(r"\u"):
        low = _hex(following[2:6])
        if 0xDC00 <= low <= 0xDFFF:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), 12
    return "\ufffd", 6


def _hex(digits: str) -> int:
    if not _HEX.issuperset(digits):
        raise MalformedAnswer
    return int(digits, 16)


def _checked(value: str) -> str:
    try:
        msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedAnswer from error
    return value


def _name(raw: str) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError as error:
        raise MalformedAnswer from error

"""Splits long lines into lines that IRC accepts: by bytes, between words, never inside a character.
Pure.

The split must not depend on the connection, or a chunk's number would name another text after a
restart: `PAYLOAD_BYTES` fits into every line, and `measure` counts in it.
"""

from itertools import groupby
from typing import Final

from hermes.contrib.irc.format import as_runs, clean
from hermes.contrib.irc.wire import LINE_BYTES
from hermes.message.graphemes import cut_before
from hermes.message.markup.dialect import PLAIN, Line, TextRun
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse

PAYLOAD_BYTES: Final = 350
# The maximum length of a user name and host, until the server reports our own.
_LONGEST_USER: Final = 12
_LONGEST_HOST: Final = 64
_SHORTEST: Final = 64


def room_for(target: str, *, nick: str, prefix: str = "", command: str = "PRIVMSG") -> int:
    """Return how many bytes of text fit into a line to `target`, as the server forwards it."""
    unknown = len(nick.encode()) + 2 + _LONGEST_USER + _LONGEST_HOST
    around = len(prefix.encode()) if "@" in prefix else unknown
    rest = len(f":  {command} {target} :".encode()) - 1 + len("\r\n")
    return max(_SHORTEST, min(PAYLOAD_BYTES, LINE_BYTES - around - rest))


def read_markup(text: str, marks: Marks) -> list[Line]:
    """Return a reply's Markdown as lines; a text of definitions only is returned as plain text."""
    lines = as_runs(parse(text), marks) or [[TextRun(clean(line))] for line in text.split("\n")]
    return [line for line in lines if any(run.text.strip() for run in line)]


def payloads_of(lines: list[Line], marks: Marks, room: int = PAYLOAD_BYTES) -> tuple[str, ...]:
    """Return the texts of the lines to send."""
    return tuple(piece for line in lines for piece in _folded(line, marks, room))


def measure(text: str, marks: Marks) -> int:
    """Return the size of a Markdown text: the bytes of a line times its number of lines."""
    return PAYLOAD_BYTES * len(payloads_of(read_markup(text, marks), marks))


def _folded(line: Line, marks: Marks, room: int) -> list[str]:
    text = "".join(run.text for run in line)
    looks = [run.look for run in line for _ in run.text]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + _cut(text[start:], looks[start:], marks, room=room)
        piece = text[start:end].rstrip(" ")
        if piece:
            pieces.append(marks.line(_grouped(piece, looks[start:end])))
        start = end
        while pieces and start < len(text) and text[start] == " ":
            start += 1
    return pieces


def _grouped(text: str, looks: list[int]) -> Line:
    pairs = zip(looks, text, strict=False)
    return [
        TextRun("".join(char for _, char in same), look)
        for look, same in groupby(pairs, key=lambda pair: pair[0])
    ]


def _cut(text: str, looks: list[int], marks: Marks, *, room: int) -> int:
    """Return how many characters of a text go into a line."""
    most = _most(text, looks, marks, room=room)
    if most == len(text):
        return most
    if text[most] == " ":
        return most
    space = text.rfind(" ", 0, most)
    # Do not break before a word that is longer than half a line: the line would stay half empty.
    if space > most // 2 and text[:space].strip():
        return space
    return max(1, cut_before(text, most))


def _most(text: str, looks: list[int], marks: Marks, *, room: int) -> int:
    size, worn = 0, PLAIN
    for number, char in enumerate(text):
        look = looks[number]
        size += len(char.encode("utf-8", "replace"))
        if look != worn:
            size += marks.codes(look ^ worn)
            worn = look
        if size > room:
            return max(1, number)
    return len(text)

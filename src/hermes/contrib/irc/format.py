"""Formatted text as lines of IRC, by the codes that the [markup] table of the manifest lists. Pure.

A line here is a list of runs; `line_cuts.py` splits it into lines that fit. A line's styles end with
it, so every line opens its own. IRC has no empty line, so none is sent between paragraphs.
"""

import re
from typing import Final

import msgspec

from hermes.message.markup.dialect import Line, MarkupRow
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import Document

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_STYLED: Final = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?|[\x00-\x08\x0b-\x1f\x7f]"
)
_TAB: Final = "    "


def marks_of(row: MarkupRow, *, styled: bool) -> Marks:
    """Return the marks of replies: those of the manifest, or without any codes."""
    none = ("", "")
    plain = msgspec.structs.replace(
        row, bold=none, italic=none, underline=none, strike=none, code=none
    )
    return Marks(row if styled else plain)


def clean(text: str) -> str:
    """Return a text without characters that a server or a client would interpret."""
    return _CONTROL.sub("", text.replace("\t", _TAB))


def plain_of(text: str) -> str:
    """Return the readable text of a line: without colours, styles and other control codes."""
    return _STYLED.sub("", text)


def as_runs(document: Document, marks: Marks) -> list[Line]:
    """Return the lines of a document; none of them is empty."""
    return [line for line in map(_tidy, marks.lines(document)) if line]


def _tidy(line: Line) -> Line:
    """Return a line without empty runs and without trailing white space."""
    kept = [msgspec.structs.replace(run, text=clean(run.text)) for run in line]
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = msgspec.structs.replace(kept[-1], text=kept[-1].text.rstrip())
    return [run for run in kept if run.text]

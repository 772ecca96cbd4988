"""Reads a function's description and arguments from its docstring; Google, NumPy or reST. Pure."""

import inspect
import re
from collections.abc import Iterator

import msgspec

_ARGUMENTS = frozenset({"args", "arguments", "parameters", "params", "other parameters"})
_SECTIONS = _ARGUMENTS | {
    "attributes", "example", "examples", "note", "notes", "raises", "references", "return",
    "returns", "see also", "todo", "warning", "warnings", "warns", "yield", "yields",
}  # fmt: skip
_GOOGLE_HEAD = re.compile(r"([A-Z][A-Za-z ]+):$")
_NUMPY_RULE = re.compile(r"-{3,}$")
_REST_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)$")
_REST_ARGUMENTS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_REST_OTHERS = frozenset(
    {"return", "returns", "rtype", "raise", "raises", "type", "yield", "yields"}
)
_GOOGLE_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")


class Docstring(msgspec.Struct, frozen=True):
    """The text before the first section, and the description of each argument."""

    description: str
    arguments: dict[str, str]


def read_docstring(text: str) -> Docstring:
    """Parse a docstring; sections that are not about arguments are left out."""
    lines = inspect.cleandoc(text).splitlines()
    first = next((index for index in range(len(lines)) if _starts_section(lines, index)), None)
    description = "\n".join(lines[:first]).strip()
    arguments: dict[str, str] = {}
    for name, words in _entries(lines if first is None else lines[first:]):
        arguments[name] = " ".join(" ".join(words).split())
    return Docstring(description, arguments)


def _starts_section(lines: list[str], index: int) -> bool:
    line = lines[index]
    return _google(line) is not None or _numpy(lines, index) is not None or _rest(line) is not None


def _google(line: str) -> str | None:
    head = _GOOGLE_HEAD.match(line)
    name = head[1].lower() if head else ""
    return name if name in _SECTIONS else None


def _numpy(lines: list[str], index: int) -> str | None:
    ruled = index + 1 < len(lines) and _NUMPY_RULE.match(lines[index + 1])
    name = lines[index].strip().lower()
    return name if ruled and name in _SECTIONS else None


def _rest(line: str) -> re.Match[str] | None:
    field = _REST_FIELD.match(line)
    return field if field and field[1] in _REST_ARGUMENTS | _REST_OTHERS else None


def _entries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments of all sections, each with its lines."""
    index = 0
    while index < len(lines):
        field = _rest(lines[index])
        if field is not None:
            body = _indented(lines, index + 1)
            if field[1] in _REST_ARGUMENTS and field[2]:
                yield field[2].split()[-1].lstrip("*"), [field[3], *body]
            index += 1 + len(body)
        elif (ruled := _numpy(lines, index)) is not None:
            body = _until_section(lines, index + 2)
            if ruled in _ARGUMENTS:
                yield from _numpy_entries(body)
            index += 2 + len(body)
        else:
            head, body = _google(lines[index]), _until_section(lines, index + 1)
            if head in _ARGUMENTS:
                yield from _google_entries(body)
            index += 1 + len(body)


def _indented(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    return lines[start:end]


def _until_section(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and not _starts_section(lines, end):
        end += 1
    return lines[start:end]


def _google_entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    indent = next((_indent(line) for line in body if line.strip()), 0)
    yield from _grouped(body, indent, _GOOGLE_ENTRY)


def _numpy_entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    for names, words in _grouped(body, 0, _NUMPY_ENTRY):
        for name in names.split(","):
            yield name.strip(), words


def _grouped(
    body: list[str], indent: int, entry: re.Pattern[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the entries that begin at `indent`, each with its more indented lines."""
    name, words = "", [""]
    for line in body:
        begins = entry.match(line.strip()) if line.strip() and _indent(line) == indent else None
        if begins is None:
            words.append(line)
            continue
        if name:
            yield name, words
        name, words = begins[1], [begins[2] if entry.groups > 1 else ""]
    if name:
        yield name, words


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""The `.env` file: NAME=value lines, read strictly.

Part of config; pure. Nothing is expanded, and an error text names the line but never the value,
which may be a secret.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_DOUBLE = re.compile(r'"((?:[^"\\]++|\\.)*+)"\s*(?:#.*)?')
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@dataclass(frozen=True, slots=True)
class Dotenv:
    """The variables of a `.env` file, and the lines that could not be read."""

    values: Mapping[str, str]
    faults: tuple[str, ...]


class _Fault(Exception):
    """A line that cannot be read; its text says why and what to do."""


def parse(text: str) -> Dotenv:
    """Read the text of a `.env` file."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    faults: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            name, value = _assignment(line.strip())
            if name in values:
                raise _Fault(f"{name} is set on line {lines[name]} already; remove one of them")
        except _Fault as fault:
            faults.append(f".env line {number}: {fault}")
        else:
            values[name], lines[name] = value, number
    return Dotenv(values, tuple(faults))


def _assignment(line: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _Fault("expected NAME=value; write it so, or start the line with # to ignore it")
    name, raw = match[1], match[2]
    return name, _value(name, raw)


def _value(name: str, raw: str) -> str:
    if raw.startswith(("'", '"')):
        quoted = (_SINGLE if raw[0] == "'" else _DOUBLE).fullmatch(raw)
        if quoted is None:
            raise _Fault(
                f"the value of {name} opens a quote that does not close at its end; "
                "close it on the same line"
            )
        return quoted[1] if raw[0] == "'" else _unescape(name, quoted[1])
    value = _COMMENT.sub("", raw).strip()
    if re.search(r"[\s'\"]", value):
        raise _Fault(f"the value of {name} contains a space or a quote; put it in single quotes")
    return value


def _unescape(name: str, text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise _Fault(
                f"the value of {name} has a backslash before a character that needs none; "
                "write \\\\ for a backslash, or use single quotes"
            )
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", replace, text)

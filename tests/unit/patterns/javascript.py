"""Finds the regular expressions of the pages' scripts by their tokens, and runs them in node.

Playwright, which the browser tests use, brings a node of its own.
"""

import json
import math
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright._impl._driver import compute_driver_executable

from tests.unit.patterns.judge import REFERENCE, REFERENCE_INPUT
from tests.unit.patterns.walk import SOURCE
from tests.unit.patterns.worst_cases import Input

NODE = compute_driver_executable()[0]
_HERE = Path(__file__).parent
_COMMENT = re.compile(r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")
_STRING = re.compile(r"""'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+\"""", re.S)
_TEMPLATE = re.compile(r"(?:[^`\\$]++|\\.|\$(?!\{))*+(`|\$\{)", re.S)
_REGEX = re.compile(r"/((?:[^/\\\[\n]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++)/([a-z]*+)")
_WORD = re.compile(r"[\w$]++|\s++")
# Large, for what a call of node costs by itself must not count.
_UNIT_SIZE = 60_000
_UNIT_RUNS = 5
# After these a slash divides; after every other word or sign it begins an expression.
_VALUE_ENDS = frozenset(")]}")
_NO_VALUES = frozenset(
    {
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "new",
        "delete",
        "void",
        "throw",
        "do",
        "else",
        "await",
    }
)


class Literal(NamedTuple):
    """A regular expression of a script; `source` is None for one that is built while it runs."""

    script: str
    line: int
    source: str | None
    flags: str = ""


def javascript_patterns() -> list[Literal]:
    """Return every expression of the pages' scripts."""
    scripts = sorted(SOURCE.rglob("*.js"))
    return [one for path in scripts for one in literals(path.read_text(), _name(path))]


def literals(text: str, script: str = "") -> Iterator[Literal]:
    """Yield the expressions of one script: literals, and calls of RegExp."""
    before = ""
    templates: list[int] = []
    depth = at = 0
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        found = _token(text, at, before=before)
        if found is None:
            sign = text[at]
            depth += (sign == "{") - (sign == "}")
            at += 1
            if sign == "`" or (sign == "}" and templates[-1:] == [depth]):
                depth, at = _template(text, at, depth=depth, open_at=templates, is_new=sign == "`")
                sign = ")"
            before = sign
            continue
        at = found.end()
        if found.re is _REGEX:
            yield Literal(script, line, found[1], found[2])
        elif found[0] == "RegExp":
            yield Literal(script, line, None)
        if found.re is not _COMMENT and not found[0].isspace():
            before = found[0] if found.re is _WORD else ")"


@contextmanager
def node(script: str, *arguments: str) -> Iterator["Node"]:
    """Start node with a script of this folder; it ends with the block."""
    with subprocess.Popen(
        [NODE, str(_HERE / script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Node(process)
        assert process.stdin is not None
        process.stdin.close()


class Node:
    """A script that answers a line with a line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def seconds(self, pattern: Literal, given: Input, size: int) -> float:
        """Return the processor time that finding all matches takes, infinite if it was stopped.

        For `timer.mjs`.
        """
        asked = {"source": pattern.source, "flags": pattern.flags, "size": size, **given._asdict()}
        took = self.ask(asked)
        return math.inf if took is None else float(took)

    def unit(self) -> float:
        """Return the seconds that the simple expression takes for a character; for `timer.mjs`."""
        simple = Literal("", 1, REFERENCE.pattern)
        took = (self.seconds(simple, REFERENCE_INPUT, _UNIT_SIZE) for _ in range(_UNIT_RUNS))
        return min(took) / _UNIT_SIZE

    # Any: the JSON that the script answers.
    def ask(self, asked: object) -> Any:
        """Return what the script answers."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(asked) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _token(text: str, at: int, *, before: str) -> re.Match[str] | None:
    kinds = [_COMMENT, _STRING, _WORD]
    is_value = before[-1:] in _VALUE_ENDS or (before[-1:].isalnum() and before not in _NO_VALUES)
    if not is_value:
        kinds.insert(1, _REGEX)
    return next((found for kind in kinds if (found := kind.match(text, at))), None)


def _template(
    text: str, at: int, *, depth: int, open_at: list[int], is_new: bool
) -> tuple[int, int]:
    """Read a template up to its end or to a value in it; returns the depth, and where to go on."""
    if not is_new:
        open_at.pop()
    found = _TEMPLATE.match(text, at)
    assert found is not None, "a template that does not end"
    if found[1] == "`":
        return depth, found.end()
    open_at.append(depth)
    return depth + 1, found.end()

"""Finds the tests that can notice a fault: those that run its line, its number's readers or its query."""

import ast
import re
from functools import cache

from tests.mutants.areas import ROOT
from tests.mutants.faults import Fault
from tests.mutants.operators import functions
from tests.mutants.trace import Trace


class Selector:
    """Answers from a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def tests(self, fault: Fault) -> list[str]:
        """Return the tests that can notice a fault."""
        if fault.is_sql:
            return self._of_places(query_users(fault.path, fault.function.removeprefix("query ")))
        starts = _starts(fault.path)
        if fault.function not in starts:
            return self._of_places(readers(fault.path, fault.function))
        offset = fault.line - starts[fault.function]
        return self._trace.tests(f"{fault.path}::{fault.function}", offset)

    def _of_places(self, places: list[tuple[str, int]]) -> list[str]:
        found = {
            test for function, offset in places for test in self._trace.tests(function, offset)
        }
        return sorted(found)


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def _starts(path: str) -> dict[str, int]:
    return {name: node.lineno for name, node in functions(_tree(path))}


@cache
def readers(path: str, name: str) -> list[tuple[str, int]]:
    """Return where functions of a module read one of its numbers."""
    return [
        (f"{path}::{function}", node.lineno - start.lineno)
        for function, start in functions(_tree(path))
        for node in ast.walk(start)
        if isinstance(node, ast.Name) and node.id == name
    ]


@cache
def _loaders() -> dict[str, list[tuple[str, str]]]:
    """Return which modules load each topic of queries, and under which name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((ROOT / "src/hermes").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, topic in re.findall(r'^(\w+) = load\("(\w+)"', text, re.MULTILINE):
            found.setdefault(topic, []).append((str(path.relative_to(ROOT)), name))
    return found


@cache
def query_users(path: str, query: str) -> list[tuple[str, int]]:
    """Return where functions run a named query."""
    topic = path.rpartition("/")[2].removesuffix(".sql")
    return [
        (f"{module}::{function}", node.lineno - start.lineno)
        for module, name in _loaders().get(topic, [])
        for function, start in functions(_tree(module))
        for node in ast.walk(start)
        if isinstance(node, ast.Subscript) and _names(node, name, query)
    ]


def _names(node: ast.Subscript, table: str, query: str) -> bool:
    """Return whether a subscript may be this query; a computed name may be any."""
    if not (isinstance(node.value, ast.Name) and node.value.id == table):
        return False
    return not isinstance(node.slice, ast.Constant) or node.slice.value == query

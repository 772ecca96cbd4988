"""Finds every regular expression of the source: in Python by its syntax tree, in JavaScript by tokens."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import hermes

SOURCE = Path(hermes.__file__).parent
_CALLS = frozenset(
    {"compile", "match", "search", "sub", "subn", "split", "findall", "finditer", "fullmatch"}
)
_SIGNS = (
    "import re\n",
    "pattern=",
    ".match",
    ".search",
    ".sub",
    ".findall",
    ".finditer",
    ".fullmatch",
)
_TAKES = "schedule/cron_words.py"


class Found(NamedTuple):
    """A regular expression of the source: where it is, as written, and how it is applied."""

    module: str
    line: int
    expression: str
    name: str
    uses: frozenset[str]

    @property
    def place(self) -> str:
        """Name it in a table: its module and its name, or its text where it has none."""
        return f"{self.module} {self.name or self.expression}"


def python_patterns() -> list[Found]:
    """Return every expression of the Python source."""
    texts = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    # The others are not worth the time that parsing takes.
    trees = {
        path: ast.parse(text) for path, text in texts.items() if any(map(text.__contains__, _SIGNS))
    }
    uses = _uses(trees)
    return [one for path, tree in trees.items() for one in _in_module(path, tree, uses)]


def evaluate(found: Found, **names: object) -> re.Pattern[str] | re.Pattern[bytes]:
    """Return the compiled expression; `names` are the local values that it is built with."""
    module = import_module("hermes." + found.module.removesuffix(".py").replace("/", "."))
    value = eval(found.expression, {**vars(module), **names})
    return value if isinstance(value, re.Pattern) else re.compile(value)


def _in_module(
    path: Path, tree: ast.Module, uses: dict[tuple[str, str], set[str]]
) -> Iterator[Found]:
    module = path.relative_to(SOURCE).as_posix()
    names = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        method = _re_method(node)
        if method:
            name = names.get(id(node), "")
            expression = ast.unparse(node) if method == "compile" else _compiled(node, method)
            how = uses.get((module, name), set()) if method == "compile" else {method}
            yield Found(module, node.lineno, expression, name, frozenset(how))
        if module == _TAKES and _is_take(node):
            # Its one call of `search` gets all its expressions as arguments of this method.
            yield Found(module, node.lineno, ast.unparse(node.args[0]), "", frozenset({"search"}))
        for keyword in node.keywords:
            if keyword.arg == "pattern":
                yield Found(
                    module, node.lineno, ast.unparse(keyword.value), "", frozenset({"search"})
                )


def _re_method(node: ast.Call) -> str:
    """Return which function of `re` is called; empty for any other call."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _CALLS:
        return ""
    return func.attr if isinstance(func.value, ast.Name) and func.value.id == "re" else ""


def _is_take(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "take"


def _compiled(node: ast.Call, method: str) -> str:
    """Return the call as if it compiled its expression: with the same flags."""
    at = {"sub": 4, "subn": 4, "split": 3}.get(method, 2)
    flags = [keyword.value for keyword in node.keywords if keyword.arg == "flags"] or node.args[at:]
    return f"re.compile({', '.join(ast.unparse(one) for one in [node.args[0], *flags])})"


def _uses(trees: dict[Path, ast.Module]) -> dict[tuple[str, str], set[str]]:
    """Return by module and name how an expression is applied; a public name also elsewhere."""
    uses: dict[tuple[str, str], set[str]] = {}
    public: dict[str, set[str]] = {}
    for path, tree in trees.items():
        module = path.relative_to(SOURCE).as_posix()
        for name, method in _applied(tree):
            uses.setdefault((module, name), set()).add(method)
            public.setdefault(name, set()).add(method)
    for (_module, name), methods in uses.items():
        methods.update(() if name.startswith("_") else public[name])
    return uses


def _applied(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _CALLS:
            for inner in _choices(node.value):
                if isinstance(inner, ast.Name):
                    yield inner.id, node.attr
                elif isinstance(inner, ast.Attribute):
                    yield inner.attr, node.attr


def _choices(node: ast.expr) -> tuple[ast.expr, ...]:
    return (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,)

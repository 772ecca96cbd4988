"""Measures the modules under src/hermes against the house rules that no linter knows.

Part of `make check`. It reads source text only and imports nothing of Hermes, so it also works
on a tree that does not run. It prints the sizes, then every breach with its place and the fix.
"""

import argparse
import ast
import io
import statistics
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 50
FORBIDDEN_NAMES = frozenset({"utils.py", "helpers.py", "common.py", "manager.py"})
BROAD_NAMES = frozenset({"Exception", "BaseException"})
BOUNDARY_WORD = "boundary"
EXAMPLES = """examples:
  python tools/size_gate.py                    the whole package
  python tools/size_gate.py src/hermes/outbox  one folder
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, order=True)
class Breach:
    """One place where a rule is broken, and what to do about it."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Module:
    """One parsed source file, with the comments that the syntax tree leaves out."""

    path: Path
    line_count: int
    tree: ast.Module
    comments: dict[int, str]

    def functions(self) -> Iterator[Function]:
        """Yields every function, nested ones and methods too."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node


def read_module(path: Path) -> Module:
    """Parses one file; a file that is no Python raises SyntaxError with its name."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=str(path))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}
    return Module(path=path, line_count=len(text.splitlines()), tree=tree, comments=comments)


def body_lines(function: Function) -> int:
    """Counts the lines of a function's body, without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def find_breaches(module: Module) -> list[Breach]:
    """Lists every rule that the module breaks, in the order of its lines."""
    found = [
        *_file_breaches(module),
        *_function_breaches(module),
        *_import_breaches(module),
        *_except_breaches(module),
    ]
    return sorted(set(found))


def _file_breaches(module: Module) -> Iterator[Breach]:
    path = str(module.path)
    if module.path.name in FORBIDDEN_NAMES:
        yield Breach(path, 1, f"{module.path.name} says nothing: name the file by what it knows")
    if module.line_count > MAX_FILE_LINES:
        yield Breach(
            path,
            1,
            f"{module.line_count} lines, at most {MAX_FILE_LINES}: split it by what it knows",
        )
    if not (ast.get_docstring(module.tree) or "").strip():
        yield Breach(
            path, 1, "no module docstring: say what it is, where it sits, what it must not know"
        )


def _function_breaches(module: Module) -> Iterator[Breach]:
    for function in module.functions():
        size = body_lines(function)
        if size > MAX_FUNCTION_LINES:
            yield Breach(
                str(module.path),
                function.lineno,
                f"{function.name} has {size} lines, at most {MAX_FUNCTION_LINES}: take parts out",
            )


def _import_breaches(module: Module) -> Iterator[Breach]:
    for function in module.functions():
        for node in ast.walk(function):
            for name in _first_party_names(node):
                yield Breach(
                    str(module.path),
                    getattr(node, "lineno", function.lineno),
                    f"{function.name} imports {name}: first-party imports stand at the top",
                )


def _first_party_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        name = "." * node.level + (node.module or "")
        return [name] if node.level or _is_first_party(name) else []
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if _is_first_party(alias.name)]
    return []


def _is_first_party(name: str) -> bool:
    return name == "hermes" or name.startswith("hermes.")


def _except_breaches(module: Module) -> Iterator[Breach]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler) or not _is_broad(node.type):
            continue
        if not _names_boundary(module, node):
            yield Breach(
                str(module.path),
                node.lineno,
                "a broad except without its boundary: catch the narrow error, or say in a "
                f"comment on this line or the one before which {BOUNDARY_WORD} this is",
            )


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(one) for one in caught.elts)
    name = caught.attr if isinstance(caught, ast.Attribute) else getattr(caught, "id", "")
    return name in BROAD_NAMES


def _names_boundary(module: Module, handler: ast.ExceptHandler) -> bool:
    nearby = (handler.lineno - 1, handler.lineno)
    return any(BOUNDARY_WORD in module.comments.get(line, "").lower() for line in nearby)


def describe_sizes(sizes: list[int]) -> str:
    """Puts median, 90th percentile and maximum into one cell."""
    if not sizes:
        return "none"
    ordered = sorted(sizes)
    p90 = ordered[max(0, -(-len(ordered) * 9 // 10) - 1)]
    return f"median {statistics.median(ordered):g}, p90 {p90}, max {ordered[-1]}"


def print_report(modules: list[Module], breaches: list[Breach]) -> None:
    """Prints the sizes and then every breach as path:line: text."""
    functions = [body_lines(function) for module in modules for function in module.functions()]
    print(f"files:     {len(modules):5d}  {describe_sizes([m.line_count for m in modules])} lines")
    print(f"functions: {len(functions):5d}  {describe_sizes(functions)} lines")
    for breach in breaches:
        print(f"{breach.path}:{breach.line}: {breach.text}")
    print(f"size gate: {len(breaches)} breaches" if breaches else "size gate: all within the rules")


def main(arguments: list[str] | None = None) -> int:
    """Checks the named folders and fails when a rule is broken."""
    parser = argparse.ArgumentParser(
        description="Check file and function sizes, names, imports, docstrings and broad excepts.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("src/hermes")])
    folders: list[Path] = parser.parse_args(arguments).folders
    missing = [folder for folder in folders if not folder.exists()]
    if missing:
        print(f"size gate: no such folder: {missing[0]}; run it in the project", file=sys.stderr)
        return 2
    modules: list[Module] = []
    breaches: list[Breach] = []
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        try:
            modules.append(read_module(path))
        except SyntaxError as problem:
            breaches.append(Breach(str(path), problem.lineno or 1, f"is no Python: {problem.msg}"))
    for module in modules:
        breaches.extend(find_breaches(module))
    print_report(modules, breaches)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())

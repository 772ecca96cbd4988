"""The modules of the source as their syntax trees, and who imports whom."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import hermes

SOURCE = Path(hermes.__file__).parent


class Module(NamedTuple):
    """One module: its name below `hermes`, its syntax tree and its lines."""

    name: str
    tree: ast.Module
    lines: int

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        return self.name.rpartition(".")[2]


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the source but packages and programs."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name not in {"__init__.py", "__main__.py"}:
            text = path.read_text(encoding="utf-8")
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            found.append(Module(name, ast.parse(text), text.count("\n")))
    return tuple(found)


@cache
def importers() -> dict[str, frozenset[str]]:
    """Return by module which modules and packages import it."""
    found: dict[str, set[str]] = {one.name: set() for one in modules()}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hermes"):
                base = (node.module or "").removeprefix("hermes").removeprefix(".")
                for alias in node.names:
                    target = f"{base}.{alias.name}".removeprefix(".")
                    found.get(target, found.get(base, set())).add(name.removesuffix(".__init__"))
    return {name: frozenset(users) for name, users in found.items()}

"""Puts a fault into this interpreter: the code of live functions, a module's number, or a query.

Functions keep their identity and get other code, so it does not matter who imported them or what
decorates them.
"""

import ast
import gc
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.mutants.faults import Fault, changed
from tests.mutants.sql_guards import queries

_QUERIES = "hermes.store.sql.queries"
_INDEXED = re.compile(r"INDEXED BY \w+")
_Place = tuple[str, str, int]


class NotInjected(Exception):
    """The fault has no effect in this interpreter: what it changes is not there."""


class LiveFunctions:
    """Every function of a source folder that exists now, by the place where it is written."""

    def __init__(self, folder: Path) -> None:
        self._by_place: dict[_Place, list[FunctionType]] = {}
        prefix = str(folder)
        gc.unfreeze()
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename.startswith(prefix):
                self._by_place.setdefault(_place(found.__code__), []).append(found)

    def at(self, code: CodeType) -> list[FunctionType]:
        """Return the functions that run a code."""
        return self._by_place.get(_place(code), [])

    def of_file(self, filename: str, name: str = "") -> Iterator[FunctionType]:
        """Yield the functions of a file, or one of them with what is inside it."""
        for (path, qualified, _), functions in self._by_place.items():
            is_in = not name or qualified == name or qualified.startswith(f"{name}.<locals>.")
            if path == filename and is_in:
                yield from functions


def _place(code: CodeType) -> _Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def module_name(path: str) -> str:
    """Return the module of a path such as `src/hermes/inbox/space.py`."""
    parts = Path(path).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inject(fault: Fault, live: LiveFunctions, *, root: Path) -> None:
    """Put a fault into this process, for good."""
    source = (root / fault.path).read_text(encoding="utf-8")
    if fault.is_sql:
        _change_query(source, fault)
    elif fault.function.isidentifier() and _is_constant(source, fault.function):
        _change_number(source, fault)
    else:
        _change_code(source, fault, live, filename=str(root / fault.path))


def _is_constant(source: str, name: str) -> bool:
    return re.search(rf"^{name} = ", source, re.MULTILINE) is not None


def _change_code(source: str, fault: Fault, live: LiveFunctions, *, filename: str) -> None:
    code = compile(changed(source, fault.edit), filename, "exec", dont_inherit=True)
    count = 0
    for inner in _codes(code):
        if inner.co_qualname == fault.function or inner.co_qualname.startswith(
            f"{fault.function}.<locals>."
        ):
            for function in live.at(inner):
                if len(function.__code__.co_freevars) == len(inner.co_freevars):
                    function.__code__ = inner
                    count += 1
    if not count:
        raise NotInjected(f"{fault.path}: no live function {fault.function}")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _change_number(source: str, fault: Fault) -> None:
    tree = ast.parse(changed(source, fault.edit))
    values = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    module = importlib.import_module(module_name(fault.path))
    old = getattr(module, fault.function)
    for one in list(sys.modules.values()):
        if one is module or _imports(one, fault.function, old):
            setattr(one, fault.function, values[fault.function])


def _imports(module: ModuleType, name: str, value: object) -> bool:
    """Return whether a module has a public number under the same name."""
    is_ours = getattr(module, "__name__", "").startswith(("hermes", "tests"))
    return is_ours and not name.startswith("_") and vars(module).get(name) == value


def _change_query(source: str, fault: Fault) -> None:
    """Change a query where its modules have loaded it; the planner may choose another index."""
    wanted = fault.function.removeprefix("query ")
    # Called as the modules call it: this is the very dictionary that they hold.
    loaded = importlib.import_module(_QUERIES).load(Path(fault.path).stem)
    for name, start, end in queries(source):
        if name == wanted:
            new = changed(source, fault.edit)
            text = new[start : end + len(new) - len(source)]
            lines = [line for line in text.splitlines() if not line.startswith("--")]
            loaded[name] = _INDEXED.sub("", "\n".join(lines).strip())
            return
    raise NotInjected(f"{fault.path}: no query {wanted}")

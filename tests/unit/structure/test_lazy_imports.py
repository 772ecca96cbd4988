"""What is imported late is known to mypy and import-linter all the same."""

import ast
import re

import pytest

from hermes.lazy import lazy
from tests.unit.structure.source import SOURCE

# Who may import a module by a name that is not written down, and what it is for.
PLUGINS = {
    "plugins/loader.py": "the modules and packages that the operator names",
    "tools/modules.py": "the modules of tools that the operator names",
    "app/platforms.py": "a platform's package, by the name that its manifest is found under",
    "app/channel_test.py": "the same, for `hermes channels add`",
    "testing/fork_server.py": "modules to have ready before a fork",
    "lazy.py": "this mechanism",
    "cli/commands.py": "the command of a row of the table, when it is used",
    "ops/lean_imports.py": "structlog and uvicorn, while parts of them are hidden",
    # Optional dependencies.
    "graph/exports/tokenizer_file.py": "transformers and jinja2, where they are installed",
}
NAMED = re.compile(r"(hermes(?:\.\w+)+):(\w+)")


def typed_imports(tree: ast.Module) -> set[str]:
    """Return what a module imports under TYPE_CHECKING, as `module:name`."""
    return {
        f"{node.module}:{alias.name}"
        for guard in tree.body
        if isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING"
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_what_is_lazy_is_also_imported_for_types() -> None:
    unknown = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            str(argument.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy"
            for argument in node.args
            if isinstance(argument, ast.Constant) and NAMED.fullmatch(str(argument.value))
        }
        unknown += [f"{path.name}: {one}" for one in named - typed_imports(tree)]
    assert unknown == []


def test_nothing_else_is_imported_by_a_text() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
    }
    assert found - PLUGINS.keys() == set()


@pytest.mark.parametrize("name", ["hermes.message.ids:make_id"])
def test_a_lazy_function_is_called_with_what_it_is_given(name: str) -> None:
    assert str(lazy(name)("msg")).startswith("msg_")

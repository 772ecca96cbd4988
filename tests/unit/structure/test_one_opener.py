"""Tests speak to the store's port; whoever knows an engine says so by a mark."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.choice import why_skipped

ROOT = Path(__file__).parents[3]
OPENER = ROOT / "tests" / "stores"
ENGINES = ("hermes.store.sqlite", "hermes.store.sql", "apsw", "sqlite3")
MARK = "sqlite_only"
# Who knows an engine without being a test of it, and why.
KNOWN = {
    "bench/graph_store.py": "measures how SQLite stores graphs",
    "bench/many_messages.py": "writes rows of the schema past the store, since turns would take hours",
    "bench/search_index.py": "the search index is a SQLite file, whatever the store is",
    "tests/contract/journal/search_kills.py": "as above",
    "tests/contract/journal/test_search.py": "as above",
    "tests/mutants/sql_check.py": "asks SQLite whether the fault of a query is a query",
    "tests/unit/graph/files/test_file_storage.py": "a file of graphs is a SQLite file without a store",
    "tests/yielding.py": "makes the reads of every engine wait",
}


def engines_of(tree: ast.Module) -> set[str]:
    """Return the modules of engines that a module imports, wherever it does."""
    return {
        name
        for node in ast.walk(tree)
        for name in _imported(node)
        if any(name == engine or name.startswith(f"{engine}.") for engine in ENGINES)
    }


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_marked(tree: ast.Module) -> bool:
    """Return whether every test of a module has the mark."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == MARK
        for statement in tree.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
        for node in ast.walk(statement.value)
    )


def without_mark(folder: Path) -> dict[str, set[str]]:
    """Return who imports an engine without the mark, and what of it."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not path.is_relative_to(OPENER) and not is_marked(tree) and engines_of(tree):
            found[path.relative_to(ROOT).as_posix()] = engines_of(tree)
    return found


@pytest.mark.parametrize("folder", ["bench", "tests"])
def test_only_the_opener_and_tests_of_an_engine_import_it(folder: str) -> None:
    found = without_mark(ROOT / folder)

    told = "open it by tests/stores/opening.py, or mark a test of SQLite itself: sqlite_only"
    assert set(found) == {name for name in KNOWN if name.startswith(f"{folder}/")}, (told, found)


@pytest.mark.parametrize(
    ("text", "is_free"),
    [
        ("from hermes.ports.store import Store", True),
        ("from hermes.store.search.notes import Notes", True),
        ("from hermes.store import sqlite", False),
        ("from hermes.store.sqlite.store import SqliteStore", False),
        ("from hermes.store.sql.inbox import SqlInbox", False),
        ("def test():\n    import hermes.store.sqlite.writer", False),
        ("import apsw", False),
        ("import apsw\npytestmark = pytest.mark.req('J1')", False),
        ("import apsw\npytestmark = pytest.mark.sqlite_only", True),
        ("import apsw\npytestmark = [pytest.mark.req('J1'), pytest.mark.sqlite_only]", True),
    ],
)
def test_an_import_of_an_engine_needs_the_mark(text: str, is_free: bool) -> None:
    tree = ast.parse(text)

    assert (is_marked(tree) or not engines_of(tree)) is is_free


def test_a_marked_test_is_skipped_on_another_engine() -> None:
    assert why_skipped(MARK, "sqlite") is None
    assert why_skipped("req", "postgres") is None
    assert why_skipped(MARK, "postgres") == "about sqlite itself; this run uses postgres"

"""The library needs msgspec and nothing else: no gateway, no database, no SDK."""

import subprocess
import sys
from pathlib import Path

import pytest

ALLOWED = {"hermes", "hermes.errors", "hermes.graph", "hermes.lazy", "msgspec"}
# msgspec uses it where it is installed.
ALLOWED |= {"typing_extensions"}
# Of the standard library, what takes time or that not everybody has.
LATE = {"asyncio", "difflib", "html", "http", "importlib.resources", "json", "sqlite3", "zipfile"}


def imported(program: str) -> set[str]:
    shown = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", shown], check=True, capture_output=True, text=True
    )  # fmt: skip
    return set(done.stdout.split())


def foreign(names: set[str]) -> set[str]:
    """What neither the library nor the standard library is, by its package."""
    outside = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    known = {name for name in outside if name.startswith(("hermes.graph.", "msgspec."))}
    return outside - known - imported("pass") - ALLOWED


@pytest.mark.req("G2")
def test_the_import_of_the_library_is_light() -> None:
    names = imported("import hermes.graph")

    assert foreign(names) == set()
    assert names & LATE - imported("pass") == set()


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    "program",
    [
        "import hermes.graph.clients",
        "import hermes.graph.imports",
        "import hermes.graph.exports",
        "from hermes.graph import MessageGraph as M\nh = M()\nh.user('x')\nh.draw()._repr_html_()",
        "from hermes.graph import MessageGraph as M\nM().verify()",
        "from hermes.graph.files import FileStorage\nFileStorage('{folder}/graphs.db').graphs()",
    ],
)
def test_no_part_of_the_library_needs_the_gateway(program: str, tmp_path: Path) -> None:
    assert foreign(imported(program.format(folder=tmp_path))) <= {"hermes.named_sql"}

"""The architecture page says what the code says: stages, packages, files and the order of imports."""

import re
import tomllib
from itertools import chain

import pytest

from hermes.pipeline.plan import PREPARE
from tests.docs.markdown import ROOT, sections_of

PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "hermes"
CONTRACT = "Imports go one way"

_ROW = re.compile(r"^\| (`[^|]+`) \|", re.MULTILINE)
_NAME = re.compile(r"`([^`]+)`")


def rows_of(heading: str) -> list[list[str]]:
    """Return the names in the first cell of each table row below a heading."""
    return [_NAME.findall(cell) for cell in _ROW.findall(sections_of(PAGE)[heading])]


def contract_order() -> list[str]:
    """Return the names of the import contract from the top, without what only starts `cli`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [each for each in contracts if each["name"] == CONTRACT]
    return [name for name in re.findall(r"\w+", " ".join(contract["layers"])) if name != "__main__"]


def files_below(folder: str) -> list[str]:
    """Return the modules of a folder that hold code, with their path from `src/hermes`."""
    found = (SOURCE / folder).glob("*.py")
    return sorted(str(file.relative_to(SOURCE)) for file in found if file.name != "__init__.py")


def test_the_page_lists_the_stages_of_a_turn_in_their_order() -> None:
    prepare = [stage.__name__ for stage in PREPARE]

    stages = list(chain.from_iterable(rows_of("The stages of a turn")))

    assert stages[: len(prepare)] == prepare
    assert stages[len(prepare) :] == [
        "see_images",
        "call_model",
        "call_adapter",
        "run_tools",
        "save",
    ]


def test_the_page_lists_every_stage_that_has_a_file() -> None:
    files = [f"pipeline/stages/{name}.py" for [name] in rows_of("The stages of a turn")]

    assert sorted(files) == files_below("pipeline/stages")


def test_the_page_lists_the_packages_in_the_order_of_the_import_contract() -> None:
    assert [name for [name] in rows_of("The packages")] == contract_order()


def test_the_page_lists_every_package() -> None:
    folders = [file.parent.name for file in SOURCE.glob("*/__init__.py")]
    modules = [file.stem for file in SOURCE.glob("*.py") if not file.stem.startswith("__")]

    assert sorted(chain.from_iterable(rows_of("The packages"))) == sorted([*folders, *modules])


@pytest.mark.parametrize(
    ("heading", "folders"),
    [
        ("Map of `pipeline`", ("pipeline", "pipeline/commands", "pipeline/replays")),
        ("Map of `outbox`", ("outbox",)),
    ],
)
def test_a_map_names_every_file_once(heading: str, folders: tuple[str, ...]) -> None:
    files = [name for [name] in rows_of(heading.strip("`"))]

    assert sorted(files) == sorted(chain.from_iterable(map(files_below, folders)))


def test_the_state_of_one_process_that_the_page_names_exists() -> None:
    """Each name stands in the file before it, so that a renamed or removed cache is noticed."""
    named = list(chain.from_iterable(rows_of("State of one process")))
    file, missing = "", []
    for name in named:
        if name.endswith(".py"):
            file = name
        elif not re.search(rf"\b{name}\b", (SOURCE / file).read_text(encoding="utf-8")):
            missing.append(f"{file} {name}")

    assert len([name for name in named if name.endswith(".py")]) >= 30
    assert missing == []


def test_every_cache_that_listens_to_the_feed_is_on_the_page() -> None:
    listening = {
        str(file.relative_to(SOURCE))
        for file in (SOURCE / "store" / "sql").glob("*.py")
        if "feed.on(" in file.read_text(encoding="utf-8")
    }

    assert listening <= set(chain.from_iterable(rows_of("State of one process")))

"""Every query of the search index compiles on its database, says what it is, and is used."""

import re
from importlib import resources
from pathlib import Path

import apsw
import pytest

from hermes.store.search.file import open_index
from hermes.store.sql.queries import load

pytestmark = pytest.mark.sqlite_only

PACKAGE = "hermes.store.search"
FILES = resources.files(PACKAGE)


def database(topic: str, folder: Path) -> apsw.Connection:
    """Return the database that a topic's queries are for."""
    if topic == "index":
        return open_index(folder / "search.db", bytes(32))
    db = apsw.Connection(":memory:")
    db.execute(resources.files("hermes.store.sqlite").joinpath("schema.sql").read_text())
    return db


@pytest.mark.req("J25")
@pytest.mark.parametrize("topic", ["index", "following"])
def test_every_query_has_a_sentence_compiles_and_is_used(topic: str, tmp_path: Path) -> None:
    text = FILES.joinpath(f"{topic}.sql").read_text()
    code = "".join(item.read_text() for item in FILES.iterdir() if item.name.endswith(".py"))
    db = database(topic, tmp_path)
    for name, sql in load(topic, package=PACKAGE).items():
        assert re.search(rf"-- name: {name}\n-- [A-Z].*\.\n", text), name
        assert re.search(rf'SQL\[[^]]*"{name}"', code), f"{topic}.{name} is used nowhere"
        db.execute(f"EXPLAIN {sql}", tuple([None] * len(set(re.findall(r"\?(\d+)", sql)))))
    db.close()

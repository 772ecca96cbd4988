"""The schema file and the migrations build the same database; every named query is used."""

import re
from importlib import resources
from pathlib import Path

import apsw
import pytest

from hermes.errors import StoreError
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate, open_database

pytestmark = pytest.mark.sqlite_only

PACKAGE = resources.files("hermes.store.sqlite")
QUERIES_PACKAGE = "hermes.store.sql.queries"
QUERIES = resources.files(QUERIES_PACKAGE)
TOPICS = (
    "access",
    "activity",
    "adoption",
    "agents",
    "answers",
    "approvals",
    "audit",
    "channel_state",
    "compactions",
    "cron",
    "directory",
    "dreams",
    "feed",
    "fleet",
    "graph",
    "hidden_ids",
    "ids",
    "inbox",
    "interactions",
    "keys",
    "memory",
    "messages",
    "offers",
    "operating",
    "outbox",
    "overheard",
    "pairing",
    "people",
    "person_rows",
    "pruning",
    "replays",
    "responses",
    "sealed_tables",
    "secrets",
    "sends",
    "sessions",
    "spend",
    "tasks",
    "transcripts",
    "turns",
    "upkeep",
    "users",
    "vectors",
    "wallet",
)


TRANSCRIPT = (
    "CREATE TABLE transcript (lane TEXT, epoch INTEGER, position INTEGER, message_id TEXT, "
    "person_id TEXT, body INTEGER)"
)


def bring_up(db: Database) -> None:
    """Migrate, with a key of the test's own."""
    migrate(db, steps_beside(Sealer(make_store_keys())))


def shape(db: apsw.Connection) -> list[tuple[object, ...]]:
    """Return what the database is made of, however its definitions are broken into lines."""
    sql = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    return [
        (kind, name, re.findall(r"[^\s,()]+|[,()]", str(text)))
        for kind, name, text in db.execute(sql)
    ]


def test_the_schema_and_the_migrations_build_the_same_database(tmp_path: Path) -> None:
    migrated = open_database(tmp_path / "migrated.db", synchronous="FULL", vfs=None)
    bring_up(migrated)
    direct = apsw.Connection(":memory:")
    direct.execute(PACKAGE.joinpath("schema.sql").read_text())

    assert shape(migrated) == shape(direct)


@pytest.mark.req("J21")
def test_a_database_of_the_first_schema_keeps_what_it_holds(tmp_path: Path) -> None:
    db = open_database(tmp_path / "first.db", synchronous="FULL", vfs=None)
    db.execute(PACKAGE.joinpath("migrations", "0001_first.sql").read_text())
    db.execute("PRAGMA user_version = 1")
    db.execute(
        "INSERT INTO steps (message_id, ordinal, kind, state, name, arguments_hash, person_id, "
        "tokens_in, payer, started_at) "
        "VALUES ('m_1', 0, 'model', 'done', 'fake', x'00', 'p_1', 7, 'person', 1.0)"
    )

    bring_up(db)

    steps = db.rows("SELECT message_id, tokens_in, payer, unpriced FROM steps")
    assert steps == [("m_1", 7, "person", 0)]


def test_every_file_of_queries_is_looked_at() -> None:
    files = {item.name for item in (*QUERIES.iterdir(), *PACKAGE.iterdir())}
    found = {name for name in files if name.endswith(".sql")} - {"schema.sql"}

    assert found == {f"{name}.sql" for name in TOPICS}


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    db = open_database(tmp_path / "twice.db", synchronous="FULL", vfs=None)
    bring_up(db)
    before = shape(db)
    bring_up(db)

    assert shape(db) == before


def test_a_newer_database_is_refused_with_the_way_out(tmp_path: Path) -> None:
    db = open_database(tmp_path / "newer.db", synchronous="FULL", vfs=None)
    bring_up(db)
    db.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreError, match="run the newer Hermes"):
        bring_up(db)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_query_has_a_sentence_compiles_and_is_used(topic: str) -> None:
    # It is SQLite's own: it reads what its migration drops.
    package = "hermes.store.sqlite" if topic == "adoption" else QUERIES_PACKAGE
    text = resources.files(package).joinpath(f"{topic}.sql").read_text()
    # The kinds of ids that a caller can name are the names of their statements.
    kinds = resources.files("hermes.ports").joinpath("ids.py")
    modules = (*PACKAGE.iterdir(), *resources.files("hermes.store.sql").iterdir(), kinds)
    code = "".join(item.read_text() for item in modules if item.name.endswith(".py"))
    db = apsw.Connection(":memory:")
    db.create_scalar_function("hermes_now", lambda *_: 1.0, 0)
    db.execute(PACKAGE.joinpath("schema.sql").read_text())
    if topic == "adoption":
        db.execute(TRANSCRIPT)

    for name, sql in load(topic, package=package).items():
        assert re.search(rf"-- name: {name}\n-- [A-Z].*\.\n", text), name
        assert re.search(rf'"{name}"', code), f"{topic}.{name} is used nowhere"
        db.execute(f"EXPLAIN {sql}", tuple([None] * len(set(re.findall(r"\?(\d+)", sql)))))

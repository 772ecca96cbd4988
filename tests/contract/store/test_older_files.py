"""Files that an older Hermes made: they are opened, and nothing in them is lost."""

from importlib import resources
from pathlib import Path

import apsw
import pytest

from hermes.ports.people import ChannelAccess
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate, open_database
from tests.stores.opening import opened

pytestmark = pytest.mark.sqlite_only


@pytest.mark.req("A3")
async def test_an_older_database_keeps_its_channels_and_nobody_in_it_was_let_in(
    tmp_path: Path,
) -> None:
    migrations = resources.files("hermes.store.sqlite.migrations")
    db = apsw.Connection(str(tmp_path / "hermes.db"))
    db.execute(migrations.joinpath("0001_first.sql").read_text())
    db.execute("INSERT INTO people (id, created_at) VALUES ('p_ann', 5.0)")
    db.execute("INSERT INTO user_channels VALUES ('telegram', 'ann', 'p_ann')")
    db.execute("PRAGMA user_version = 1")
    db.close()

    async with opened(tmp_path) as store:
        user = await store.users.get("p_ann")

        assert user is not None
        assert (user.state, user.channels[0].added_at) == ("guest", 5.0)
        assert await store.users.channel_access("telegram", "ann") == ChannelAccess("p_ann")


@pytest.mark.req("J11", "J21")
async def test_an_older_database_gets_balances_and_codes(tmp_path: Path) -> None:
    db = open_database(tmp_path / "old.db", synchronous="NORMAL", vfs=None)
    old: list[str] = []

    def remember(db: Database) -> None:
        db.execute("INSERT INTO people (id, created_at) VALUES ('p_1', 1.0), ('p_2', 1.0)")
        db.execute("INSERT INTO person_keys VALUES ('p_1', x'00')")
        db.execute(
            "INSERT INTO ledger (person_id, kind, amount, message_id, at)"
            " VALUES ('p_1', 'grant', 9, 'g', 1.0), ('p_1', 'capture', -2, 'm', 1.0)"
        )
        db.execute("INSERT INTO holds VALUES ('m2', 'p_1', 3, 1.0)")
        db.execute("DROP TABLE transcript")
        old.append("filled")

    sealer = Sealer(make_store_keys())
    credits_step = steps_beside(sealer)["0005_credits.sql"]
    migrate(db, {"0003_graph.sql": remember, "0005_credits.sql": credits_step})

    assert old == ["filled"]
    rows = db.rows("SELECT person_id, balance, is_limited, code IS NULL FROM wallets")
    assert rows == [("p_1", 4, 0, 0), ("p_2", 0, 0, 1)]

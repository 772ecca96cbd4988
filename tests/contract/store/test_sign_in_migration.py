"""The migration by which sessions, links and conversations of the web chat have a user."""

from importlib import resources

import apsw
import pytest

pytestmark = [pytest.mark.sqlite_only, pytest.mark.req("W35")]


def test_what_was_there_before_people_signed_in_stays_the_owners() -> None:
    package = resources.files("hermes.store.sqlite")
    db = apsw.Connection(":memory:")
    db.execute(package.joinpath("schema.sql").read_text())
    db.execute("DROP INDEX credentials_user; ALTER TABLE credentials DROP COLUMN user_id")
    kept = "INSERT INTO credentials (kind, digest, label, created_at) VALUES (?, ?, '', 1)"
    db.executemany(kept, [("session", b"1"), ("signin", b"2"), ("token", b"3")])
    lanes = [
        ("agent:main:web:dm:c1", "web"),
        ("agent:main:web:dm:c1/m_1.1", "web"),
        ("agent:main:web:dm:c1#control", "web"),
        ("agent:main:rest:dm:c1", "rest"),
    ]
    db.executemany(
        "INSERT INTO lanes (key, person_id, platform, chat_id, used_at) VALUES (?, 'p', ?, 'c1', 1)",
        lanes,
    )

    db.execute(package.joinpath("migrations", "0047_sign_in.sql").read_text())

    users = dict(db.execute("SELECT kind, user_id FROM credentials"))
    assert users == {"session": "owner", "signin": "owner", "token": ""}
    assert [*db.execute("SELECT * FROM lane_writers")] == [("agent:main:web:dm:c1", "owner")]

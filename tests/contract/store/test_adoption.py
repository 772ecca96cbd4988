"""A database from before the graph: its conversations move onto it, and nothing is lost."""

from importlib import resources
from pathlib import Path

import msgspec
import pytest

from hermes.errors import StoreError
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import TextPart
from hermes.ports.store import Store
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.connection import Database, open_database
from hermes.store.sqlite.tx import SqliteTx
from tests.stores.old_seals import OldSeals
from tests.stores.opening import KEYS, open_store

pytestmark = pytest.mark.sqlite_only

MIGRATIONS = resources.files("hermes.store.sqlite.migrations")
LANE = "agent:main:rest:dm:ann"


class _OldAnswer(msgspec.Struct, omit_defaults=True):
    """An answer as it was kept then."""

    role: str
    parts: tuple[TextPart, ...]
    sampled: bool = False


class OldFile:
    """A database of the second schema, written as that Hermes wrote it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hermes.db"
        self.db: Database = open_database(self.path, synchronous="FULL", vfs=None)
        for name in ("0001_first.sql", "0002_spending.sql"):
            self.db.execute(MIGRATIONS.joinpath(name).read_text())
        self.db.execute("PRAGMA user_version = 2")
        self.sealer = Sealer(KEYS)
        self.seals = OldSeals(self.db, KEYS)
        self.db.execute(
            "INSERT INTO meta (key, value) VALUES ('digest_key', ?)",
            (self.sealer.make_digest_key(),),
        )
        for person_id in ("p_ann", "p_bob"):
            self.db.execute("INSERT INTO people (id, created_at) VALUES (?, 1.0)", (person_id,))
            self.sealer.make_key(SqliteTx(self.db), person_id)
            self.seals.make_old(person_id)
            self.sealer.forget(person_id)
        self.position = 0

    def turn(self, name: str, *messages: object, person_id: str = "p_ann", epoch: int = 0) -> None:
        for message in messages:
            content = msgspec.json.encode(message)
            sealed = self.seals.seal(person_id, content)
            self.db.execute(
                "INSERT INTO bodies (person_id, sealed, kept) VALUES (?, ?, 1)", (person_id, sealed)
            )
            self.db.execute(
                "INSERT INTO transcript VALUES (?, ?, ?, ?, ?, ?)",
                (LANE, epoch, self.position, name, person_id, self.db.last_insert_rowid()),
            )
            self.position += 1
        self.db.execute(
            "INSERT OR REPLACE INTO lanes (key, person_id, platform, chat_id, epoch, head, used_at)"
            " VALUES (?, 'p_ann', 'rest', 'ann', ?, ?, 5.0)",
            (LANE, epoch, self.position),
        )

    async def reopen(self, key_file: bytes = KEYS) -> Store:
        self.db.close()
        return await open_store(self.path.parent, key_file=key_file)


def answer(text: str) -> _OldAnswer:
    return _OldAnswer("assistant", (TextPart(text),), sampled=True)


@pytest.mark.req("G7")
async def test_conversations_move_onto_the_graph(tmp_path: Path) -> None:
    old = OldFile(tmp_path)
    old.turn("m_1", user_text("hello"), answer("hi there"))
    old.turn("m_2", user_text("hello"), answer("again"))
    old.turn("m_3", user_text("afresh"), answer("yes"), epoch=1)

    store = await old.reopen()
    try:
        said = await store.transcripts.history(LANE, epoch=0, head=0)
        assert [message.text for message in said.messages] == [
            *("hello", "hi there"),
            *("hello", "again"),
        ]
        assert said.start == 0
        later = await store.transcripts.history(LANE, epoch=1, head=6)
        assert [message.text for message in later.messages] == ["afresh", "yes"]
        for epoch, turns in ((0, 2), (1, 1)):
            graph = store.graphs.open(f"{LANE}#{epoch}")
            assert graph.verify().problems == ()
            assert len(graph.versions()) == turns
            # Nobody recorded the calls of those days.
            assert not any(graph.is_sampled(index) for index in range(len(graph)))
        assert (await store.transcripts.sessions(platform="rest", limit=5))[0]["title"] == "hello"
    finally:
        await store.close()


@pytest.mark.req("G7", "J24")
async def test_what_was_an_erased_persons_keeps_its_place(tmp_path: Path) -> None:
    old = OldFile(tmp_path)
    old.turn("m_1", user_text("gone"), answer("gone too"), person_id="p_bob")
    old.turn("m_2", user_text("here"), answer("and here"))
    old.db.execute("DELETE FROM person_keys WHERE person_id = 'p_bob'")
    old.db.execute("UPDATE people SET erased_at = 2 WHERE id = 'p_bob'")

    store = await old.reopen()
    try:
        said = await store.transcripts.history(LANE, epoch=0, head=4)
        assert [message.text for message in said.messages] == ["here", "and here"]
        assert said.start is None
        graph = store.graphs.open(f"{LANE}#0")
        assert len(graph) == 4
        assert {one.trouble for one in graph.verify().problems} == {"erased"}
    finally:
        await store.close()


@pytest.mark.req("G7")
async def test_a_damaged_message_does_not_keep_the_gateway_down(tmp_path: Path) -> None:
    old = OldFile(tmp_path)
    old.turn("m_1", user_text("hello"), answer("hi"))
    old.db.execute("UPDATE bodies SET sealed = x'00' WHERE id = 2")

    store = await old.reopen()
    try:
        said = await store.transcripts.history(LANE, epoch=0, head=2)
        assert [message.text for message in said.messages] == ["hello"]
        assert not store.graphs.open(f"{LANE}#0").verify().ok
    finally:
        await store.close()


@pytest.mark.req("G7", "J10")
async def test_a_migration_that_fails_leaves_the_old_database(tmp_path: Path) -> None:
    old = OldFile(tmp_path)
    old.turn("m_1", user_text("hello"), ChatMessage("assistant", (TextPart("hi"),)))

    with pytest.raises(StoreError, match="restore the key file"):
        await old.reopen(key_file=make_store_keys())

    db = open_database(old.path, synchronous="FULL", vfs=None)
    assert int(db.one("PRAGMA user_version")) == 2
    assert db.one("SELECT count(*) FROM transcript") == 2
    assert db.one("SELECT count(*) FROM bodies") == 2
    db.close()

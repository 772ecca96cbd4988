"""G7, J24: whatever is changed in the file is found, named, and hides nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.control.graph_check import CheckReport, check_graphs
from hermes.control.graph_export import GraphExportPlan, export_graphs, write_rows
from hermes.errors import HermesError, StoreError
from hermes.graph import MessageGraph
from hermes.graph.records import Link
from hermes.store.sql.graph_reader import SqlGraphReader
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import migrate, open_database
from hermes.store.sqlite.tx import SqliteTx
from tests.stores.graph_files import WritableGraph
from tests.unit.graph.said import assistant, tool_call, user

pytestmark = pytest.mark.sqlite_only

KEYS = make_store_keys()
ANN, BOB, SUB = (
    "agent:main:rest:dm:ann#0",
    "agent:main:rest:dm:bob#0",
    "agent:main:rest:dm:ann/m.0#0",
)


class Home:
    """A database with ann, whose subagent has a chat of its own, and bob, who is never touched."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hermes.db"
        self.sealer = Sealer(KEYS)
        self.db = open_database(self.path, synchronous="NORMAL", vfs=None)
        migrate(self.db, steps_beside(self.sealer))
        for person_id in ("p_ann", "p_bob"):
            self.db.execute(
                "INSERT INTO people (id, created_at, may_train, consent_at) VALUES (?, 1, 1, 1)",
                (person_id,),
            )
            self.sealer.make_key(SqliteTx(self.db), person_id)
        self._talk(SUB, "p_ann")
        ann = self._talk(ANN, "p_ann")
        call = ann.record_call(tool_call("t1"), model="m")
        ann.link("t1", call=call, child=SUB)
        ann.append({"role": "tool", "tool_call_id": "t1", "content": "12"})
        ann.save()
        self._talk(BOB, "p_bob")

    def _talk(self, name: str, person_id: str) -> MessageGraph:
        storage = WritableGraph(self.db, name, sealer=self.sealer, person_id=person_id)
        graph = MessageGraph(name=name, storage=storage, hasher=self.sealer.hasher())
        for turn in range(3):
            graph.append(user(f"{turn}"))
            context = graph.context(lead=[{"role": "system", "content": "Be brief."}])
            graph.record_call(
                assistant(f"to {turn}"), model="small", context=context, token_ids=[turn]
            )
        graph.save()
        return graph

    def reader(self) -> SqlGraphReader:
        return SqlGraphReader.read(self.path, key_file=KEYS)

    def check(self) -> CheckReport:
        reader = self.reader()
        try:
            return check_graphs(reader, reader.graphs(), progress=lambda *_: None, whole=True)
        finally:
            reader.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.db.close()


OF_ANN = f"graph = (SELECT id FROM graphs WHERE name = '{ANN}')"
CHANGED = [
    f"UPDATE calls SET data = x'00' WHERE {OF_ANN} AND number = 0",
    f"UPDATE calls SET data = substr(data, 1, length(data) - 3) WHERE {OF_ANN} AND number = 0",
    f"UPDATE calls SET data = CAST(replace(data, CAST('small' AS BLOB), CAST('large' AS BLOB)) "
    f"AS BLOB) WHERE {OF_ANN} AND number = 0",
    f"UPDATE calls SET data = 'text' WHERE {OF_ANN} AND number = 1",
    f"UPDATE calls SET id = 'another' WHERE {OF_ANN} AND number = 1",
    f"UPDATE calls SET id = CAST(x'ff41' AS TEXT) WHERE {OF_ANN} AND number = 1",
    f"UPDATE calls SET tokens = NULL WHERE {OF_ANN} AND number = 1",
    f"UPDATE calls SET person_id = 'p_bob' WHERE {OF_ANN} AND number = 1",
    f"UPDATE calls SET number = 9 WHERE {OF_ANN} AND number = 2",
    f"UPDATE moves SET data = x'ff' WHERE {OF_ANN} AND number = 1",
    f"UPDATE moves SET data = (SELECT data FROM moves AS m WHERE m.graph = moves.graph AND "
    f"m.number = 2) WHERE {OF_ANN} AND number = 1",
    f"UPDATE moves SET branch = CAST(x'fe' AS TEXT) WHERE {OF_ANN} AND number = 1",
    f"UPDATE links SET data = x'00ff' WHERE {OF_ANN}",
    f"UPDATE refs SET branch = CAST(x'fe' AS TEXT) WHERE {OF_ANN}",
    f"UPDATE refs SET length = 'long' WHERE {OF_ANN}",
    f"UPDATE refs SET version = version - 1 WHERE {OF_ANN}",
    f"UPDATE refs SET root = (SELECT root FROM refs WHERE graph = 1) WHERE {OF_ANN}",
    f"UPDATE blobs SET person_id = CAST(x'fe' AS TEXT) WHERE {OF_ANN}",
    f"UPDATE blobs SET sealed = 'text' WHERE {OF_ANN}",
    f"UPDATE chunks SET data = 'text' WHERE {OF_ANN}",
    f"UPDATE chunks SET data = x'0101' WHERE {OF_ANN}",
    f"UPDATE graphs SET name = CAST(x'fe' AS TEXT) WHERE name = '{ANN}'",
    f"UPDATE graphs SET name = 'agent:main:rest:dm:carl#0' WHERE name = '{ANN}'",
    "UPDATE person_keys SET wrapped = 7 WHERE person_id = 'p_ann'",
]  # fmt: skip
REMOVED = [
    f"DELETE FROM moves WHERE {OF_ANN} AND number = (SELECT max(number) FROM moves WHERE {OF_ANN})",
    f"DELETE FROM moves WHERE {OF_ANN} AND number = 0",
    f"DELETE FROM moves WHERE {OF_ANN} AND number = 2",
    f"DELETE FROM moves WHERE {OF_ANN}",
    f"DELETE FROM calls WHERE {OF_ANN} AND number = 0",
    f"DELETE FROM calls WHERE {OF_ANN} AND number = 3",
    f"DELETE FROM calls WHERE {OF_ANN}",
    f"DELETE FROM refs WHERE {OF_ANN}",
    f"DELETE FROM links WHERE {OF_ANN}",
    f"DELETE FROM graphs WHERE name = '{ANN}'",
    f"DELETE FROM graphs WHERE name = '{SUB}'",
    "DELETE FROM person_keys WHERE person_id = 'p_ann'",
    "DELETE FROM people WHERE id = 'p_ann'; DELETE FROM person_keys WHERE person_id = 'p_ann'",
]


@pytest.mark.req("G7", "J24")
@pytest.mark.parametrize("damage", [*CHANGED, *REMOVED])
def test_every_damage_is_found_and_the_others_are_checked(home: Home, damage: str) -> None:
    assert home.check().damage == []
    home.db.execute(damage)

    report = home.check()

    assert report.damage
    assert report.erased == []
    assert BOB not in {one.graph for one in report.damage}
    assert report.graphs >= 2
    assert all(one.text for one in report.damage)


@pytest.mark.req("G6", "G7")
@pytest.mark.parametrize("damage", [*CHANGED, *REMOVED])
def test_an_export_of_a_damaged_store_is_an_export_of_the_rest(
    home: Home, damage: str, tmp_path: Path
) -> None:
    home.db.execute(damage)
    reader = home.reader()
    plan = GraphExportPlan(format="openai", file=tmp_path / "rows.jsonl", write=write_rows)

    report = export_graphs(reader, reader.graphs(), plan=plan, progress=lambda *_: None)

    reader.close()
    # Bob's conversation is whole, whatever happened to ann's.
    assert report.rows >= 1
    assert '"large"' not in (tmp_path / "rows.jsonl").read_text()


@pytest.mark.req("G7")
def test_what_was_changed_on_disk_is_said_with_what_to_do(home: Home) -> None:
    home.db.execute(CHANGED[2])
    reader = home.reader()

    with pytest.raises(StoreError, match=r"the call main 0 of graph .*ann#0' is not as it was"):
        reader.open(ANN)
    home.db.execute("UPDATE calls SET id = CAST(x'ff41' AS TEXT)")
    with pytest.raises(StoreError, match=r"not UTF-8 .*hermes restore"):
        reader.open(BOB)

    reader.close()


@pytest.mark.req("G7", "J24")
def test_only_a_person_who_was_marked_as_erased_is_erased(home: Home) -> None:
    home.db.execute("DELETE FROM person_keys WHERE person_id = 'p_ann'")
    lost = home.check()
    home.db.execute("UPDATE people SET erased_at = 5 WHERE id = 'p_ann'")

    erased = home.check()

    assert "they were not erased" in lost.damage[0].text
    assert erased.damage == []
    assert {one.graph for one in erased.erased} == {ANN, SUB}
    # Six and eight messages, and in each the prompt that stood in front of them.
    assert (erased.erased_messages, len(erased.erased)) == (14, 16)


@pytest.mark.req("G6", "J24")
def test_an_erased_person_has_not_agreed(home: Home) -> None:
    reader = home.reader()
    before = {entry.name: entry.may_train for entry in reader.graphs()}
    home.db.execute("UPDATE people SET erased_at = 5 WHERE id = 'p_ann'")

    after = {entry.name: entry.may_train for entry in reader.graphs()}

    reader.close()
    assert before == {ANN: True, BOB: True, SUB: True}
    assert after == {ANN: False, BOB: True, SUB: False}


@pytest.mark.req("G7")
def test_a_link_to_a_subagent_that_never_spoke_is_no_damage(home: Home) -> None:
    storage = WritableGraph(home.db, ANN, sealer=home.sealer, person_id="p_ann")
    graph = MessageGraph.open(ANN, storage, hasher=home.sealer.hasher())
    call = graph.calls()[-1]
    graph.link("t1", call=call, child="agent:main:rest:dm:ann/m.1#0")
    graph.save()
    reader = home.reader()

    (nowhere,) = home.check().damage
    home.db.execute(
        "INSERT INTO lanes (key, platform, chat_id, person_id, used_at) VALUES "
        "('agent:main:rest:dm:ann/m.1', 'rest', 'ann', 'p_ann', 1)"
    )

    assert nowhere.where == "the link of t1"
    assert home.check().damage == []
    assert [link.child for link in reader.open(ANN).links()] == [
        SUB,
        "agent:main:rest:dm:ann/m.1#0",
    ]
    assert isinstance(reader.open(ANN).links()[0], Link)
    reader.close()


@pytest.mark.req("G7")
@pytest.mark.parametrize(
    "keys", [b"garbage", b"\x00\xff", KEYS + b"garbage\n"], ids=["garbage", "bytes", "second line"]
)
def test_a_key_file_of_something_else_is_said_to_be_none(home: Home, keys: bytes) -> None:
    with pytest.raises(StoreError, match=r"not a key: .* put your copy of it there"):
        SqlGraphReader.read(home.path, key_file=keys)


@pytest.mark.req("G7")
def test_a_file_that_is_no_database_and_one_without_its_key(home: Home, tmp_path: Path) -> None:
    (tmp_path / "none.db").write_bytes(b"not a database, " * 100)
    with pytest.raises(HermesError, match=r"damaged .*hermes restore"):
        SqlGraphReader.read(tmp_path / "none.db", key_file=KEYS)
    home.db.execute("DELETE FROM meta WHERE key = 'digest_key'")
    with pytest.raises(StoreError, match="lost the key of its digests"):
        SqlGraphReader.read(home.path, key_file=KEYS)

"""G7, J24: what a graph is promised of its storage, kept by the twin in memory and by SQLite."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes.errors import BadRequest, Conflict, NotFound, PersonErased
from hermes.graph import MemoryStorage, MessageGraph, keyed_hasher
from hermes.graph.hasher import Hasher
from hermes.graph.storage import GraphStorage
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate, open_database
from hermes.store.sqlite.tx import SqliteTx
from tests.stores.graph_files import WritableGraph
from tests.unit.graph.said import assistant, user

pytestmark = pytest.mark.sqlite_only

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]


class Files:
    """A database of its own, with one person."""

    def __init__(self, folder: Path) -> None:
        self.sealer = Sealer(make_store_keys())
        self.db: Database = open_database(folder / "graphs.db", synchronous="NORMAL", vfs=None)
        migrate(self.db, steps_beside(self.sealer))
        for person_id in ("p_ann", "p_bob"):
            self.db.execute("INSERT INTO people (id, created_at) VALUES (?, 1)", (person_id,))
            self.sealer.make_key(SqliteTx(self.db), person_id)
        self.hasher: Hasher = self.sealer.hasher()

    def storage(self, name: str = "talk", person_id: str = "p_ann") -> WritableGraph:
        return WritableGraph(self.db, name, sealer=self.sealer, person_id=person_id)

    def erase(self, person_id: str) -> None:
        self.db.execute("UPDATE people SET erased_at = 2 WHERE id = ?", (person_id,))
        self.lose_key(person_id)

    def lose_key(self, person_id: str) -> None:
        self.db.execute("DELETE FROM person_keys WHERE person_id = ?", (person_id,))
        self.sealer.forget(person_id)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path)
    yield made
    made.db.close()


class Kept:
    """Where a test keeps its graph, and how it opens it again."""

    def __init__(self, hasher: Hasher, again: Callable[[], GraphStorage]) -> None:
        self.hasher = hasher
        self.again = again

    def open(self, branch: str = "main") -> MessageGraph:
        return MessageGraph.open("talk", self.again(), branch=branch, hasher=self.hasher)


@pytest.fixture(params=["memory", "sqlite"])
def kept(request: pytest.FixtureRequest, files: Files) -> Kept:
    if request.param == "sqlite":
        return Kept(files.hasher, files.storage)
    twin = MemoryStorage()
    return Kept(keyed_hasher(b"a key of thirty-two bytes, dummy"), lambda: twin)


def talk(kept: Kept, length: int = 2) -> MessageGraph:
    graph = MessageGraph(
        [user(f"riddle {number}") for number in range(length)],
        name="talk",
        storage=kept.again(),
        hasher=kept.hasher,
    )
    graph.record_call(
        assistant("hello"), model="m", tools=TOOLS, token_ids=[1, 2], logprobs=[-0.5, -1.5]
    )
    graph.save()
    return graph


@pytest.mark.req("G7")
@pytest.mark.parametrize("length", [0, 1, 50, 2_000])
def test_a_graph_comes_back_whole(kept: Kept, length: int) -> None:
    graph = talk(kept, length)
    graph[0]["content"] = "another"
    graph.insert(1, user("between"))
    graph.save()

    opened = kept.open()

    assert opened.to_list() == graph.to_list()
    assert [v.edit for v in opened.versions()] == [v.edit for v in graph.versions()]
    assert opened.calls() == graph.calls()
    assert opened.edges() == graph.edges()
    assert opened.tools_of(opened.calls()[0]) == TOOLS
    assert opened.verify() == graph.verify()
    assert opened.verify().ok


@pytest.mark.req("G7")
def test_branches_links_and_calls_of_all_branches_come_back(kept: Kept) -> None:
    graph = talk(kept)
    call = graph.record_call(
        {"role": "assistant", "tool_calls": [{"id": "t1", "function": {"name": "f"}}]}, model="m"
    )
    graph.link("t1", call=call, child="other", metadata={"ms": 3})
    graph.save()
    other = graph.branch("other")
    other.pop()
    other.record_call(assistant("instead"), model="n")
    other.save()

    opened = kept.open("other")

    assert opened.branches() == ["main", "other"]
    assert opened.to_list() == other.to_list()
    assert {one.id for one in opened.calls()} == {one.id for one in other.calls()}
    assert opened.links() == graph.links()
    assert opened.verify().ok
    assert kept.open().to_list() == graph.to_list()


@pytest.mark.req("G7", "J5")
def test_of_two_writers_one_wins_and_nothing_of_the_other_is_written(kept: Kept) -> None:
    talk(kept)
    one, two = kept.open(), kept.open()
    one.append(user("first"))
    one.save()
    two.append(user("second"))
    two.record_call(assistant("to the second"), model="m")

    with pytest.raises(Conflict, match="another writer moved it"):
        two.save()

    assert kept.open().to_list() == one.to_list()
    assert len(kept.open().calls()) == 1
    rescued = two.branch("rescued")
    rescued.save()
    assert kept.open("rescued").to_list() == two.to_list()


@pytest.mark.req("G7", "J5")
def test_the_same_branch_cannot_be_made_twice(kept: Kept) -> None:
    first = talk(kept)
    with pytest.raises(Conflict):
        talk(kept)

    assert kept.open().to_list() == first.to_list()
    with pytest.raises(NotFound, match="main"):
        kept.open("nowhere")


@pytest.mark.req("J24")
def test_nothing_that_was_said_can_be_read_in_the_file(files: Files, tmp_path: Path) -> None:
    kept = Kept(files.hasher, files.storage)
    talk(kept)
    files.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    content = (tmp_path / "graphs.db").read_bytes()

    assert b"riddle" not in content
    assert b"hello" not in content
    # Names are keyed: who guesses a message cannot look for its hash.
    assert MessageGraph([user("riddle 0")]).at(0).root not in content


@pytest.mark.req("J24")
def test_an_erased_person_is_said_to_be_erased(files: Files) -> None:
    talk(Kept(files.hasher, files.storage))
    files.erase("p_ann")

    opened = MessageGraph.open("talk", files.storage(), hasher=files.hasher)

    with pytest.raises(PersonErased, match="p_ann"):
        opened.to_list()
    assert {one.trouble for one in opened.verify().problems} == {"erased"}
    assert opened.calls()[0].token_ids is None


@pytest.mark.req("J24")
def test_what_two_people_said_stays_until_both_are_erased(files: Files) -> None:
    graph = MessageGraph([user("ok")], name="talk", storage=files.storage(), hasher=files.hasher)
    graph.save()
    bobs = MessageGraph.open("talk", files.storage(person_id="p_bob"), hasher=files.hasher)
    bobs.append(user("ok"))
    bobs.save()

    files.erase("p_ann")
    opened = MessageGraph.open("talk", files.storage(), hasher=files.hasher)
    assert [message["content"] for message in opened] == ["ok", "ok"]

    files.erase("p_bob")
    opened = MessageGraph.open("talk", files.storage(), hasher=files.hasher)
    with pytest.raises(PersonErased):
        opened.to_list()


@pytest.mark.req("J24")
def test_the_same_words_in_two_conversations_share_nothing(files: Files) -> None:
    for name, person_id in (("one", "p_ann"), ("two", "p_bob")):
        storage = files.storage(name, person_id)
        MessageGraph([user("hi")], name=name, storage=storage, hasher=files.hasher).save()

    files.erase("p_ann")

    two = MessageGraph.open("two", files.storage("two"), hasher=files.hasher)
    assert two.to_list() == [user("hi")]
    with pytest.raises(PersonErased):
        MessageGraph.open("one", files.storage("one"), hasher=files.hasher).to_list()


@pytest.mark.req("G7")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunks WHERE rowid = 1",
        "UPDATE chunks SET data = substr(data, 1, length(data) - 16) WHERE rowid = 1",
        "DELETE FROM blobs WHERE id = 1",
        "UPDATE blobs SET sealed = (SELECT sealed FROM blobs WHERE id = 2) WHERE id = 1",
        "UPDATE blobs SET sealed = substr(sealed, 1, 20) WHERE id = 1",
    ],
)
def test_damage_in_the_file_is_found(files: Files, damage: str) -> None:
    talk(Kept(files.hasher, files.storage), 60)
    files.db.execute(damage)

    opened = MessageGraph.open("talk", files.storage(), hasher=files.hasher)

    assert not opened.verify().ok
    assert "erased" not in {one.trouble for one in opened.verify().problems}


@pytest.mark.req("G7")
def test_a_storage_keeps_one_graph(files: Files) -> None:
    graph = MessageGraph([user("hi")], name="other", storage=files.storage(), hasher=files.hasher)

    with pytest.raises(BadRequest, match="open a storage for that one"):
        graph.save()

"""Kill -9 in the middle of a save leaves the old state, and what was confirmed stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.graph import MessageGraph
from hermes.graph.files import FileStorage
from tests.unit.graph.said import user

# It saves again and again, and says which version is saved.
SAVING = """
import sys
from hermes.graph import MessageGraph
graph = MessageGraph.open(sys.argv[1])
while True:
    graph.extend({"role": "user", "content": f"{graph.version} {n} " + "x" * 200} for n in range(200))
    graph.save()
    print(graph.version, flush=True)
"""
# It dies by a signal after so many messages of its batch are in the database.
DYING = """
import os, signal, sys
from hermes.graph import MessageGraph
from hermes.graph.files import FileStorage
from hermes.graph.storage import Batch

class Dying(dict):
    def items(self):
        for number, item in enumerate(super().items()):
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield item

class Killed(FileStorage):
    def write(self, batch):
        super().write(Batch(blobs=Dying(batch.blobs), chunks=batch.chunks, moves=batch.moves))

storage = Killed(sys.argv[1])
graph = MessageGraph.open("talk", storage)
graph.extend({"role": "user", "content": f"{n} " + "x" * 60_000} for n in range(200))
graph.save()
"""


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.req("G7", "J1")
@pytest.mark.parametrize("written", [0, 199])
def test_a_save_that_dies_inside_its_transaction_leaves_the_old_state(
    tmp_path: Path, written: int
) -> None:
    file = tmp_path / "talk.db"
    MessageGraph([user("hi")], name="talk").save(file)

    with started(DYING, file, written) as process:
        process.wait()

    # With 12 MB in it, SQLite has written into the file itself by then, beside a journal.
    assert (process.returncode, (tmp_path / "talk.db-journal").exists()) == (-9, bool(written))
    assert (file.stat().st_size > 1_000_000) is bool(written)
    graph = MessageGraph.open(file)
    assert (graph.to_list(), graph.version, graph.verify().ok) == ([user("hi")], 0, True)
    assert FileStorage(file).collect().blobs == 0
    graph.user("more")
    graph.save()
    assert MessageGraph.open(file).version == 1


@pytest.mark.req("G7", "J1")
def test_what_was_confirmed_before_a_kill_is_there(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    MessageGraph([user("hi")], name="talk").save(file)

    for kills in range(6):
        with started(SAVING, file) as process:
            assert process.stdout is not None
            confirmed = [int(process.stdout.readline()) for _ in range(1 + kills % 3)]
            process.kill()
            confirmed += map(int, process.stdout.read().split())

        graph = MessageGraph.open(file)
        assert graph.version in {confirmed[-1], confirmed[-1] + 1}
        assert len(graph) == 1 + 200 * graph.version
        assert graph.verify().ok

"""The bench around its measurements: groups, verdicts, the flat file, and a load that is honest."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

import bench.groups
import bench.peers
from bench.load import carry_out
from bench.process import cpu_s, rss_mb, tree_cpu_s
from bench.registry import Target, choose, find_groups
from bench.report import OUT, result_rows, table, write
from bench.turn_plan import TurnPlan


def test_every_module_of_a_group_is_found_by_its_name() -> None:
    assert "turns" in find_groups()
    for folder in (bench.groups, bench.peers):
        groups = find_groups(folder)
        assert {name: group.name for name, group in groups.items()} == {
            name: name for name in groups
        }
    assert [group.name for group in choose(["turns"])] == ["turns"]


def test_a_peer_runs_only_when_peers_are_asked_for() -> None:
    assert "litellm" not in find_groups()
    assert [group.name for group in choose([], bench.peers)] == ["litellm"]


def test_an_unknown_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match=r"'turn'; known groups: .*turns"):
        choose(["turn"])


@pytest.mark.parametrize(
    ("target", "value", "is_met"),
    [
        (Target(at_most=1.5), 1.5, True),
        (Target(at_most=1.5), 1.51, False),
        (Target(at_least=500), 500, True),
        (Target(at_least=500), 499, False),
    ],
)
def test_a_target_bounds_from_above_or_from_below(
    target: Target, value: float, is_met: bool
) -> None:
    assert target.is_met(value) is is_met


def test_bad_numbers_are_printed_too() -> None:
    targets = {"cost": Target(at_most=1.5, peer="peer: 157"), "rate": Target(at_least=500)}

    rows = result_rows({"cost": 2.0, "rate": 612.4, "extra": 0.5, "small": 0.00123}, targets)

    assert rows == [
        ("number", "value", "target", "", "peer"),
        ("cost", "2.000", "<= 1.5", "OVER", "peer: 157"),
        ("rate", "612", ">= 500", "ok", ""),
        ("extra", "0.500", "", "", ""),
        ("small", "0.00123", "", "", ""),
    ]
    assert table([("a", "1"), ("bbb", "22")], right=frozenset({1})) == "a     1\nbbb  22"


def test_the_file_is_one_flat_object_of_numbers(tmp_path: Path) -> None:
    path = write({"cost": 1.23456, "rate": 500, "ratio": 0.000123456}, tmp_path / OUT)

    assert path == tmp_path / "bench" / "out" / "latest.json"
    assert json.loads(path.read_text()) == {"cost": 1.2346, "rate": 500, "ratio": 0.0001235}


def test_the_numbers_of_peers_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    write({"cost": 1, "rate": 500}, tmp_path / OUT)

    path = write({"ratio": 20, "rate": 600}, tmp_path / OUT, keep=True)

    assert json.loads(path.read_text()) == {"cost": 1, "rate": 600, "ratio": 20}


class Answers:
    """A server that answers every request with the same JSON and keeps the bodies it saw."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._writers: list[asyncio.StreamWriter] = []
        self.bodies: list[dict[str, str]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                self.bodies.append(json.loads(await reader.readexactly(length)))
                size = len(self._answer)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
                writer.write(self._answer)
        except asyncio.IncompleteReadError:
            return

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
            await writer.wait_closed()


async def send(answers: Answers, *, own_pid: int, turns: int, workers: int) -> tuple[int, int]:
    server = await asyncio.start_server(answers.serve, "127.0.0.1", 0)
    async with server:
        plan = TurnPlan(
            port=server.sockets[0].getsockname()[1],
            token="t",
            pid=own_pid,
            name="test",
            workers=workers,
            count=turns,
            conversation_turns=2,
        )
        outcome = await carry_out(plan)
        await answers.close()
    return outcome.count, outcome.errors


async def test_the_load_sends_each_message_once_and_no_more_than_planned() -> None:
    answers = Answers(b'{"outcome":"answered","duplicate":false}')

    counted = await send(answers, own_pid=own_pid(), turns=11, workers=3)

    assert counted == (11, 0)
    assert len({body["id"] for body in answers.bodies}) == 11
    senders = [body["sender"] for body in answers.bodies]
    assert max(senders.count(sender) for sender in senders) == 2


@pytest.mark.parametrize(
    "answer",
    [b'{"outcome":"failed","duplicate":false}', b'{"outcome":"answered","duplicate":true}'],
)
async def test_an_answer_that_is_no_fresh_turn_is_an_error(answer: bytes) -> None:
    assert await send(Answers(answer), own_pid=own_pid(), turns=4, workers=2) == (0, 4)


def test_cpu_and_memory_are_those_of_the_process() -> None:
    before = cpu_s(own_pid())
    while cpu_s(own_pid()) == before:
        sum(range(100_000))

    assert cpu_s(own_pid()) > before
    assert 1 < rss_mb(own_pid()) < 4_000


def test_the_cpu_of_a_tree_is_also_that_of_children_running_and_ended() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True); input()"
    before = tree_cpu_s(own_pid())
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = tree_cpu_s(own_pid())
        child.communicate()

    assert running - before > 0.15
    assert tree_cpu_s(own_pid()) >= running


def own_pid() -> int:
    return int(Path("/proc/self").resolve().name)

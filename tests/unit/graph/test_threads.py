"""Threads that share a graph wait for each other: nothing is lost, and every version holds."""

import sys
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from hermes.graph import MemoryStorage, MessageGraph
from tests.unit.graph.said import assistant, user


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*works: Callable[[], None]) -> None:
    threads = [Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.req("G7")
def test_what_threads_append_and_record_is_all_there() -> None:
    graph = MessageGraph(storage=MemoryStorage())

    def talk(name: str) -> None:
        for number in range(300):
            graph.append(user(f"{name} {number}"))
            graph.record_call(assistant(f"to {name} {number}"), model="m")
            if number % 50 == 0:
                graph.save()

    at_once(*(lambda name=name: talk(name) for name in "abcd"))

    assert (len(graph), len(graph.calls())) == (2_400, 1_200)
    assert len({message["content"] for message in graph}) == 2_400
    assert [version.number for version in graph.versions()] == list(range(2_401))
    assert graph.verify().ok


@pytest.mark.req("G7")
def test_threads_that_change_and_undo_leave_a_whole_graph() -> None:
    graph = MessageGraph([user(f"{number}") for number in range(40)])

    def change() -> None:
        for number in range(100):
            graph[number % 20]["content"] = f"changed {number}"
            graph.insert(3, user("between"))
            del graph[5]
            graph.undo()

    at_once(change, change, change)

    assert graph.verify().ok
    assert len(graph.versions()) == len({version.number for version in graph.versions()})


@pytest.mark.req("G7")
def test_several_changes_under_the_lock_are_one() -> None:
    graph = MessageGraph()

    def pair(name: str) -> None:
        for _ in range(200):
            with graph.lock, graph.editing(name):
                graph.append(user(name))
                graph.append(assistant(name))

    at_once(lambda: pair("a"), lambda: pair("b"))

    contents = [message["content"] for message in graph]
    assert contents[::2] == contents[1::2]
    assert [version.actor for version in graph.versions()[1:]] == contents

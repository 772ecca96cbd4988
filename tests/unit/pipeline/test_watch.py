"""Watching a turn: late watchers get a snapshot, everyone gets the end."""

import asyncio
from typing import Literal

import pytest

from hermes.pipeline.watch import WatchHub
from hermes.ports.upward import Progress


@pytest.mark.req("W19")
async def test_a_late_watcher_gets_the_text_so_far_and_then_the_rest() -> None:
    hub = WatchHub()
    hub.publish("m_1", Progress(kind="delta", text="one "))
    watch = hub.subscribe("m_1")

    assert await anext(watch) == Progress(kind="snapshot", text="one ")
    hub.publish("m_1", Progress(kind="delta", text="two"))
    hub.publish("m_2", Progress(kind="delta", text="not mine"))
    hub.publish("m_1", Progress(kind="done"))

    assert [progress.kind async for progress in watch] == ["delta", "done"]
    assert hub.text("m_1") == ""


@pytest.mark.req("W19")
async def test_the_last_status_is_told_to_whoever_comes_later() -> None:
    hub = WatchHub()
    hub.broadcast(Progress(kind="status", text="loading"))
    watch = hub.subscribe("m_1")

    assert [(await anext(watch)).kind, (await anext(watch)).text] == ["snapshot", "loading"]
    hub.close()
    assert [progress.kind async for progress in watch] == ["stopping"]


@pytest.mark.req("W19")
@pytest.mark.parametrize("kind", ["done", "parked", "stopping", "question"])
async def test_who_waits_for_the_end_is_woken_by_it_alone(kind: Literal["done"]) -> None:
    hub = WatchHub()
    waiting = asyncio.create_task(hub.end("m_1"))
    await asyncio.sleep(0)

    hub.publish("m_1", Progress(kind="delta", text="one "))
    hub.publish("m_2", Progress(kind=kind))
    await asyncio.sleep(0)
    assert not waiting.done()
    hub.publish("m_1", Progress(kind=kind, text="last"))
    hub.publish("m_1", Progress(kind=kind, text="later"))

    assert await waiting == Progress(kind=kind, text="last")


@pytest.mark.req("W19")
async def test_a_question_that_was_asked_before_is_told_to_who_comes_to_wait() -> None:
    hub = WatchHub()
    hub.publish("m_1", Progress(kind="question", text="Which one?"))

    assert (await hub.end("m_1")).text == "Which one?"

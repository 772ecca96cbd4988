"""Watching a turn: late watchers get a snapshot, everyone gets the end."""

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

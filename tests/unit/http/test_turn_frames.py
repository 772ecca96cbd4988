"""A turn as events: what a client that follows it is sent, in order."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.errors import NotFound
from hermes.http.turn import Ticket, turn_frames
from hermes.message.ids import make_id
from hermes.message.outcome import Outcome
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.server.auth import StoredAccess
from hermes.testing.access import MemoryAccessStore
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from hermes.testing.manual_time import ManualClock


class Watched(MemoryGatewayApi):
    """A gateway in which one turn makes the given progress."""

    def __init__(self, *told: Progress, error: Exception | None = None) -> None:
        clock = ManualClock()
        access = StoredAccess(MemoryAccessStore(), clock=clock)
        super().__init__(Script(), access=access, clock=clock, make_id=make_id)
        self._told = told
        self._error = error

    async def watch(self, message_id: str) -> AsyncIterator[Progress]:
        for progress in self._told:
            yield progress
        if self._error is not None:
            raise self._error


async def events(api: Watched) -> list[tuple[str, object]]:
    found = []
    async for frame in turn_frames(api, Ticket(id="m_1", conversation="c", duplicate=False)):
        name, _, data = frame.decode().strip().partition("\ndata: ")
        found.append((name.removeprefix("event: "), msgspec.json.decode(data)))
    return found


@pytest.mark.req("W1")
async def test_every_kind_of_progress_is_an_event_of_its_own() -> None:
    asked = TurnResult(text="", question="q_1")
    api = Watched(
        Progress(kind="snapshot", text="Once"),
        Progress(kind="delta", text=" upon"),
        Progress(kind="restart"),
        Progress(kind="snapshot", text="Again"),
        Progress(kind="snapshot"),
        Progress(kind="tool", text="look"),
        Progress(kind="status", text="thinking"),
        Progress(kind="question", text="Which?", result=asked),
        Progress(kind="settled", result=asked),
        Progress(kind="stopping"),
    )

    assert await events(api) == [
        ("accepted", {"id": "m_1", "duplicate": False}),
        # Nothing was seen yet: the text so far is a piece like any other.
        ("delta", {"text": "Once"}),
        ("delta", {"text": " upon"}),
        ("snapshot", {"text": ""}),
        ("snapshot", {"text": "Again"}),
        ("tool", {"name": "look"}),
        ("status", {"text": "thinking"}),
        ("question", {"id": "q_1", "text": "Which?"}),
        ("settled", {"id": "q_1", "text": ""}),
    ]


@pytest.mark.req("W1")
async def test_the_end_of_a_turn_and_its_failure_are_events() -> None:
    done = Progress(kind="done", outcome=Outcome.ANSWERED, result=TurnResult(text="Fine."))

    ended = await events(Watched(done))
    failed = await events(Watched(error=NotFound("There is no message m_1.")))

    assert [name for name, _ in ended] == ["accepted", "done"]
    assert "Fine." in str(ended[1][1])
    assert failed[1] == ("error", {"code": "not_found", "message": "There is no message m_1."})

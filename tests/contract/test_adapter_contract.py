"""What every adapter keeps to: the in-memory twin and a real program pass the same tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.errors import AdapterError, AdapterLost
from hermes.ports.adapter import (
    MAX_SESSION,
    Adapter,
    AdapterAgent,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
)
from hermes.ports.provider import TextDelta
from hermes.testing.scripted_adapter import ScriptedAdapter
from hermes.tools.terminal.sandbox import SandboxKind, missing_tools
from tests.unit.tools.programs.program_rig import asking, make_adapter

pytestmark = pytest.mark.req("A25")
KIND: SandboxKind = "unsafe" if missing_tools() else "bubblewrap"
AGENT = AdapterAgent(key="w_1", name="coder")
MAKERS: dict[str, Callable[[Path], Adapter]] = {
    "twin": lambda _folder: ScriptedAdapter(),
    "program": lambda folder: make_adapter(folder, kind=KIND),
}


@pytest.fixture(params=MAKERS)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Adapter:
    return MAKERS[request.param](tmp_path)


async def events_of(adapter: Adapter, call: AdapterCall) -> list[AdapterEvent]:
    return [event async for event in adapter.stream(call)]


def session_in(events: list[AdapterEvent]) -> str:
    return [event.id for event in events if isinstance(event, AdapterSession)][-1]


async def test_a_stream_is_the_whole_answer_and_ends_once(adapter: Adapter) -> None:
    events = await events_of(adapter, asking("hello"))
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    ends = [event for event in events if isinstance(event, AdapterEnd)]

    assert ends == events[-1:]
    assert [getattr(part, "text", "") for part in ends[0].parts] == [text]
    assert text.endswith("hello")
    assert 0 < len(session_in(events)) <= MAX_SESSION


async def test_complete_is_the_end_of_the_stream(adapter: Adapter) -> None:
    whole = await adapter.complete(asking("hello"))

    assert whole.usage.tokens_in > 0
    assert whole.parts


async def test_a_session_goes_on(adapter: Adapter) -> None:
    first = session_in(await events_of(adapter, asking("hello")))
    again = asking("and now", "hello", "said", session=first, id="m_2.1")

    assert session_in(await events_of(adapter, again)) == first


async def test_a_call_that_was_cut_off_is_not_begun_anew(adapter: Adapter) -> None:
    with pytest.raises(AdapterLost):
        await adapter.complete(asking("hello", was_cut_off=True))


async def test_a_failure_is_an_adapter_error(adapter: Adapter) -> None:
    with pytest.raises(AdapterError):
        await adapter.complete(asking("crash"))


async def test_a_stream_can_be_closed_at_any_time(adapter: Adapter) -> None:
    events = adapter.stream(asking("hang"))
    await anext(events)
    await events.aclose()


async def test_a_health_check_says_nothing_if_all_is_well(adapter: Adapter) -> None:
    assert await adapter.health_check(AGENT) == ""
    assert isinstance(adapter.needs_grant, bool)
    assert isinstance(adapter.supports_tools, bool)

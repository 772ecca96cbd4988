"""A set of replays: which messages are chosen, the limit of costs, and a stop that keeps what is done."""

import threading

import msgspec
import pytest

from hermes.cli.replay_set import ReplaySet, ReplaySetReport, SetLine, choose
from hermes.control.replays import ReplayReport
from hermes.errors import Conflict
from hermes.pipeline.replays.answers import AnswerSide
from hermes.ports.interactions import InteractionRow
from hermes.ports.replays import ReplayRecord


def row(name: str, model: str | None = "m") -> InteractionRow:
    return InteractionRow(
        message_id=name,
        at=1.0,
        person_id="p",
        agent="main",
        platform="rest",
        llm_backend=model,
        llm_cache_hit=False,
        soul_load_ms=0.0,
        semantic_recall_used=False,
        tools=(),
        tool_exec_ms=0.0,
        tokens_in=0,
        tokens_out=0,
        cost_usd=0.0,
    )


def replayed(message: str, cost: float) -> ReplayReport:
    record = ReplayRecord(
        id=f"rp_{message}",
        message_id=message,
        person_id="p",
        agent="main",
        model="m",
        label="",
        has_prompt=False,
        is_live=False,
        state="answered",
        reason="",
        started_at=0.0,
        ended_at=1.0,
        calls=1,
        tools_started=0,
        tokens_in=1,
        tokens_out=1,
        cost_usd=cost,
        unpriced=0,
        change=0.0,
    )
    side = AnswerSide(model="m", cost_usd=1.0)
    return ReplayReport(replay=record, before=side, after=side)


def silent(_done: int, _total: int, _note: str) -> None:
    """Show no progress."""


@pytest.mark.req("A32")
def test_a_sample_is_the_same_for_the_same_messages_and_keeps_their_order() -> None:
    rows = [row(f"m_{number}") for number in range(40)]

    drawn = choose(rows, 5)

    assert drawn == choose(list(reversed(rows)), 5)[::-1]
    assert len(drawn) == 5
    assert drawn != choose(rows[1:], 5) or "m_0" not in drawn
    assert choose([row("m_1"), row("m_2", None)], None) == ("m_1",)
    assert choose(rows[:3], 9) == ("m_0", "m_1", "m_2")


@pytest.mark.req("A32")
def test_each_replay_gets_what_is_left_of_the_costs_and_none_begins_beyond() -> None:
    given: list[tuple[str, float | None]] = []

    def one(message: str, left: float | None) -> ReplayReport:
        given.append((message, left))
        return replayed(message, 0.4)

    done = ReplaySet(["a", "b", "c", "d"], one, max_usd=1.0).run(1, show=silent)

    assert given == [("a", 1.0), ("b", 0.6), ("c", pytest.approx(0.2))]
    assert (done.left, done.is_over_cost, done.is_stopped) == (1, True, False)
    assert done.before_usd == 3.0
    assert done.after_usd == pytest.approx(1.2)


@pytest.mark.req("A32")
def test_a_message_that_cannot_be_replayed_does_not_end_the_set() -> None:
    def one(message: str, _left: float | None) -> ReplayReport:
        if message == "a":
            raise Conflict("it was erased")
        return replayed(message, 0.0)

    done = ReplaySet(["a", "b"], one, max_usd=None).run(2, show=silent)

    lines = {line.message: line for line in done.lines}
    assert lines["a"] == SetLine(message="a", problem="it was erased")
    assert lines["b"].replay == replayed("b", 0.0).replay
    assert done.left == 0


@pytest.mark.req("A32")
def test_ctrl_c_keeps_what_is_done_and_begins_nothing_more() -> None:
    begun, go_on = list[str](), threading.Event()

    def one(message: str, _left: float | None) -> ReplayReport:
        begun.append(message)
        if message == "b":
            go_on.wait(30)
        return replayed(message, 0.1)

    def interrupt(done: int, _total: int, _note: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    stopped = ReplaySet(["a", "b", "c"], one, max_usd=None)
    done = stopped.run(1, show=interrupt)
    go_on.set()

    assert done == ReplaySetReport(
        lines=done.lines, left=2, before_usd=1.0, after_usd=0.1, is_stopped=True
    )
    assert [line.message for line in done.lines] == ["a"]
    assert begun in (["a"], ["a", "b"])
    assert msgspec.json.decode(msgspec.json.encode(done), type=ReplaySetReport) == done

"""W36: calling hooks, however they behave."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.hook_book import HookBook
from hermes.plugins.hook_worker import HookLimits, HookWorker
from hermes.ports.hooks import Context, Handle, Hook
from hermes.testing.manual_time import ManualClock

LIMITS = HookLimits(timeout_s=20, queue=10, failures=3)
# Long past every test: only a limit ends it.
FOREVER_S = 3600.0


def hook(name: str, handle: Handle, *events: str, **more: object) -> Hook:
    return Hook(name=name, events=events, handle=handle, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def started(*hooks: Hook, limits: HookLimits = LIMITS) -> AsyncIterator[HookBook]:
    book = HookBook(hooks, limits=limits)
    try:
        yield book
    finally:
        await book.stop()


class Ear:
    """A hook that notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Context]] = []
        self.thread = 0

    async def __call__(self, event: str, context: Context) -> None:
        self.thread = threading.get_ident()
        self.heard.append((event, context))


async def raises(_event: str, _context: Context) -> None:
    raise LookupError("no such thing")


async def answers(_event: str, _context: Context) -> str:
    return "yes"


@pytest.mark.req("W36")
async def test_a_hook_hears_of_its_events_in_order_off_the_path_of_the_turn() -> None:
    ear, other = Ear(), Ear()
    async with started(
        hook("one", ear, "agent:*", "command:new"), hook("two", other, "command:*")
    ) as book:
        for event in ("agent:start", "session:start", "agent:end", "command:new", "command:stop"):
            book.tell(event, {"id": event})
        assert (book.hears("session:start"), book.hears("command:x")) == (False, True)

    heard = [event for event, _ in ear.heard]
    assert heard == ["agent:start", "agent:end", "command:new"]
    assert [event for event, _ in other.heard] == ["command:new", "command:stop"]
    assert ear.thread not in (threading.get_ident(), other.thread)


@pytest.mark.req("W36")
async def test_only_hooks_that_ask_for_words_get_them_and_each_has_its_own_context() -> None:
    deaf, ear = Ear(), Ear()
    context = {"id": "m_1", "text": "secret", "reply": "told", "argument": "all"}
    async with started(
        hook("deaf", deaf, "agent:end"), hook("ear", ear, "agent:end", text=True)
    ) as book:
        book.tell("agent:end", context)

    assert deaf.heard == [("agent:end", {"id": "m_1"})]
    assert ear.heard == [("agent:end", context)]
    assert ear.heard[0][1] is not context


@pytest.mark.req("W36")
async def test_a_failing_hook_is_counted_and_switched_off_after_failures_in_a_row() -> None:
    ear = Ear()
    async with started(hook("bad", raises, "agent:end"), hook("good", ear, "agent:end")) as book:
        for number in range(7):
            book.tell("agent:end", {"n": number})

    bad, good = book.report()
    assert (bad.state, bad.runs, bad.failures) == ("off", 3, 3)
    assert bad.last_error == "LookupError: no such thing"
    assert (good.state, good.runs, good.failures) == ("on", 7, 0)


@pytest.mark.req("W36")
async def test_a_success_between_failures_keeps_a_hook_on() -> None:
    async def odd(_event: str, context: Context) -> None:
        if context["n"] % 2:
            raise ValueError(context["n"])

    async with started(hook("odd", odd, "agent:end")) as book:
        for number in range(9):
            book.tell("agent:end", {"n": number})

    (report,) = book.report()
    assert (report.state, report.runs, report.failures) == ("on", 9, 4)


@pytest.mark.req("W36")
@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, KeyError, TimeoutError])
async def test_whatever_a_hook_raises_the_next_event_reaches_it(kind: type[BaseException]) -> None:
    ear = Ear()

    async def handle(event: str, context: Context) -> None:
        await ear(event, context)
        raise kind

    async with started(hook("own", handle, "agent:end")) as book:
        book.tell("agent:end", {"n": 1})
        book.tell("agent:end", {"n": 2})

    assert [context["n"] for _, context in ear.heard] == [1, 2]
    assert book.report()[0].failures == 2


@pytest.mark.req("W36")
async def test_a_slow_hook_is_given_up_at_its_limit() -> None:
    async def slow(_event: str, _context: Context) -> None:
        await asyncio.sleep(FOREVER_S)

    async with started(hook("slow", slow, "agent:end", timeout_s=0.01)) as book:
        book.tell("agent:end", {})
        book.tell("agent:end", {})

    (report,) = book.report()
    assert (report.failures, report.last_error) == (2, "it took longer than 0.01 s")


@pytest.mark.req("W36")
async def test_nobody_waits_longer_than_the_limit_for_a_hook_that_blocks_its_thread() -> None:
    free = threading.Event()

    async def blocks(_event: str, _context: Context) -> str:
        free.wait(FOREVER_S)
        return "late"

    began = time.monotonic()
    async with started(
        hook("blocks", blocks, "command:*", decides=True, timeout_s=0.05),
        hook("quick", answers, "command:*", decides=True),
        limits=HookLimits(timeout_s=20, queue=10, failures=2),
    ) as book:
        first = await book.collect("command:new", {}, read=str)
        second = await book.collect("command:new", {}, read=str)
        third = await book.collect("command:new", {}, read=str)
        free.set()

    assert first == second == third == [("quick", "yes")]
    report = book.report()[0]
    assert (report.state, report.runs, report.failures) == ("off", 2, 2)
    assert time.monotonic() - began < 20


@pytest.mark.req("W36")
async def test_a_flood_is_bounded_and_what_is_dropped_is_counted() -> None:
    free, begun = threading.Event(), threading.Event()
    ear = Ear()

    async def handle(event: str, context: Context) -> None:
        begun.set()
        free.wait(FOREVER_S)
        await ear(event, context)

    async with started(hook("slow", handle, "agent:step")) as book:
        book.tell("agent:step", {"n": -1})
        await asyncio.to_thread(begun.wait, 20)
        for number in range(1000):
            book.tell("agent:step", {"n": number})
        (full,) = book.report()
        free.set()

    (report,) = book.report()
    assert (full.waiting, full.dropped) == (10, 990)
    assert (report.runs, report.waiting, report.dropped) == (11, 0, 990)
    assert [context["n"] for _, context in ear.heard] == [-1, *range(10)]


@pytest.mark.req("W36")
async def test_answers_are_collected_from_those_that_decide_by_name() -> None:
    ear = Ear()

    async def none(_event: str, _context: Context) -> None:
        return None

    def read(answer: object) -> str | None:
        if answer == 7:
            raise ValueError("it answered 7")
        return None if answer is None else str(answer)

    async def seven(_event: str, _context: Context) -> int:
        return 7

    async with started(
        hook("d", answers, "command:new", decides=True),
        hook("c", seven, "command:*", decides=True),
        hook("b", none, "command:*", decides=True),
        hook("a", answers, "command:*", decides=True),
        hook("e", ear, "command:*"),
        hook("0", answers, "command:*", decides=True),
    ) as book:
        found = await book.collect("command:new", {"id": 1}, read=read)
        other = await book.collect("command:stop", {"id": 2}, read=read)

    assert found == [("0", "yes"), ("a", "yes"), ("d", "yes")]
    assert other == [("0", "yes"), ("a", "yes")]
    assert ear.heard == [("command:new", {"id": 1}), ("command:stop", {"id": 2})]
    assert {one.name: one.last_error for one in book.report() if one.failures} == {
        "c": "ValueError: it answered 7"
    }


@pytest.mark.req("W36")
async def test_after_its_end_a_hook_is_told_nothing() -> None:
    ear = Ear()
    async with started(hook("own", ear, "agent:end")) as book:
        book.tell("agent:end", {"n": 1})
    book.tell("agent:end", {"n": 2})

    assert ear.heard == [("agent:end", {"n": 1})]
    assert await book.collect("agent:end", {}, read=str) == []


@pytest.mark.req("W36")
def test_two_hooks_of_one_name_are_refused() -> None:
    hooks = [hook("own", answers, "agent:end", place=place) for place in ("here", "there")]

    with pytest.raises(ConfigurationError, match="two hooks are named 'own': here and there"):
        HookBook(hooks, limits=LIMITS)


@pytest.mark.req("W36")
async def test_a_hook_that_blocks_past_its_limit_has_failed_though_it_returns() -> None:
    async def blocks(_event: str, _context: Context) -> None:
        threading.Event().wait(0.02)

    async with started(hook("blocks", blocks, "agent:end", timeout_s=0.01)) as book:
        book.tell("agent:end", {})

    (report,) = book.report()
    assert (report.runs, report.failures) == (1, 1)
    assert report.last_error == "it took longer than 0.01 s"


@pytest.mark.req("W36")
async def test_a_hook_that_never_returns_is_told_while_it_blocks_its_thread() -> None:
    is_in, free, clock = threading.Event(), threading.Event(), ManualClock()

    async def blocks(_event: str, _context: Context) -> None:
        is_in.set()
        free.wait(FOREVER_S)

    worker = HookWorker(hook("blocks", blocks, "agent:end"), limits=LIMITS, clock=clock)
    worker.tell("agent:end", {})
    await asyncio.to_thread(is_in.wait, FOREVER_S)
    before = worker.report()
    clock.advance(LIMITS.timeout_s + 1)
    blocked = worker.report()
    free.set()
    await worker.stop()

    assert (before.runs, before.failures) == (0, 0)
    assert (blocked.runs, blocked.failures) == (1, 1)
    assert blocked.last_error == "it took longer than 20 s"
    assert worker.report().runs == 1

"""Several answers to one request (`n`): each is a model call of its own, with its own charge."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from hermes.calls.events import CallEvent, FullAnswer
from hermes.errors import StreamTruncated
from hermes.server.v1.record import Record

StartCall = Callable[[], AsyncGenerator[CallEvent, None]]


async def one_after_another(start: StartCall, count: int) -> AsyncGenerator[CallEvent, None]:
    """Yield the events of `count` calls, for a stream; each ends with its `FullAnswer`."""
    for _ in range(count):
        async with aclosing(start()) as events:
            async for event in events:
                yield event


async def all_at_once(
    start: StartCall, count: int, *, record: Record
) -> AsyncGenerator[CallEvent, None]:
    """Yield one answer that holds those of `count` calls; the first failure ends them all.

    Fewer answers than asked for would look like a success: clients read `choices[count - 1]`.
    """
    tasks: list[asyncio.Task[FullAnswer]] = []
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_answer(start, record)) for _ in range(count)]
    except ExceptionGroup as failed:
        failure = failed.exceptions[0]
    if failure is not None:
        failure.args = (f"{failure} (one of {count} answers failed, so none is returned)",)
        raise failure  # raised here, so that the exception group does not become its cause
    first, *others = [task.result() for task in tasks]
    yield msgspec.structs.replace(first, others=tuple(others))


async def _answer(start: StartCall, record: Record) -> FullAnswer:
    async with aclosing(start()) as events:
        async for event in events:
            record.hear(event)
            if isinstance(event, FullAnswer):
                return event
    raise StreamTruncated("the call ended without an answer")

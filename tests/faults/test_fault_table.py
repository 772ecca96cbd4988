"""Every fault, met by every provider, streaming and not: what the caller sees is what the table says.

No fault passes for a success unless the table says why it is one, none takes longer than its
limit, and no error repeats the key that the service repeats in all of its own.
"""

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_args

import pytest

from hermes.net.client import HttpClient, HttpSettings
from hermes.testing.faulty_upstream import FaultyUpstream
from hermes.testing.faulty_upstream_answers import TEXT, Dialect
from hermes.testing.faulty_upstream_faults import FAULTS, REFUSED
from tests.faults.callers import (
    DIALECTS,
    EMBEDDING,
    KEY,
    NAME,
    Limits,
    Seen,
    View,
    ask,
    provider_at,
)
from tests.faults.table import ROWS, Cell, Row, cell_of

PATIENT = Limits(silence_s=15.0, limit_s=15.0)
HASTY = Limits(silence_s=0.5, limit_s=1.0)
# What a busy machine may add to a limit.
SLACK_S = 5.0
VIEWS: tuple[View, ...] = get_args(View)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def cells() -> Iterator[Any]:
    for row in ROWS:
        for dialect in DIALECTS:
            for view in VIEWS:
                cell = cell_of(row, dialect, view)
                if cell is not None:
                    name = f"{row.fault}-{dialect}-{view}"
                    yield pytest.param(row, cell, dialect, view, id=name)


@pytest.mark.req("A23", "P5", "W35")
@pytest.mark.parametrize(("row", "cell", "dialect", "view"), tuple(cells()))
async def test_the_caller_sees_what_the_table_says(
    row: Row, cell: Cell, dialect: Dialect, view: View, *, client: HttpClient
) -> None:
    limits = HASTY if row.slow else PATIENT
    loop = asyncio.get_running_loop()

    async with FaultyUpstream(row.fault) as upstream:
        provider = provider_at(upstream, dialect, client=client, limits=limits)
        began = loop.time()
        seen = await ask(provider, view, limits=limits)
        took = loop.time() - began

    assert upstream.complaints == []
    assert len(upstream.requests) == (row.fault != REFUSED), "no provider tries again by itself"
    assert took < limits.limit_s + SLACK_S
    assert told(seen, cell) == expected(cell)
    assert KEY not in log_of(seen)


@pytest.mark.req("A23")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("view", VIEWS)
async def test_without_a_fault_every_dialect_is_answered(
    dialect: Dialect, view: View, client: HttpClient
) -> None:
    async with FaultyUpstream() as upstream:
        provider = provider_at(upstream, dialect, client=client, limits=PATIENT)
        seen = await ask(provider, view, limits=PATIENT)

    answer = "2 vectors" if view == "whole" and dialect in EMBEDDING else TEXT
    assert (upstream.complaints, seen.error, seen.answer) == ([], None, answer)


@pytest.mark.req("A23")
def test_every_fault_has_its_row() -> None:
    assert len(ROWS) == len({row.fault for row in ROWS}) >= 30
    assert {row.fault for row in ROWS} == {REFUSED, *FAULTS}


@pytest.mark.req("A23")
def test_a_success_and_a_dialect_of_its_own_are_explained() -> None:
    found = [cell for row in ROWS for cell in (row.streaming, row.embedding) if cell is not None]
    special = [c for row in ROWS for c in (*row.own.values(), *row.own_embedding.values())]

    unexplained = [cell for cell in found if cell.error is None and not cell.because]
    assert unexplained + [cell for cell in special if not cell.because] == []


def told(seen: Seen, cell: Cell) -> dict[str, object]:
    """Return what was seen, in the words of the table."""
    error = seen.error
    shown = cell.shown if cell.goes_on and seen.shown.startswith(cell.shown) else seen.shown
    return {
        "error": None if error is None else type(error),
        "answer": seen.answer,
        "shown": shown,
        "says": error is None or cell.says in str(error) or str(error),
        "names the provider": error is None or NAME in str(error),
        "status": getattr(error, "status", None),
        "retry_after": getattr(error, "retry_after", None),
        "everywhere": getattr(error, "everywhere", False),
    }


def expected(cell: Cell) -> dict[str, object]:
    return {
        "error": cell.error,
        "answer": cell.answer,
        "shown": cell.shown,
        "says": True,
        "names the provider": True,
        "status": cell.status,
        "retry_after": cell.retry_after,
        "everywhere": cell.everywhere,
    }


def log_of(seen: Seen) -> str:
    """Return everything that a log would hold of the error, down to its first cause."""
    return "" if seen.error is None else "".join(traceback.format_exception(seen.error))

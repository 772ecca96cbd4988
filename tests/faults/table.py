"""The fault table: what a caller sees of every fault, as data.

A row has a cell for callers that stream and one for calls whose answer comes in one piece. Where a
dialect differs, its own cell says why. A provider that has no call of the second kind is collected:
its caller sees what a streaming one sees, but nothing before the end.
"""

from collections.abc import Mapping

import msgspec

from hermes.errors import (
    PromptTooLong,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.testing.faulty_upstream_answers import TEXT, Dialect
from tests.faults.callers import EMBEDDING, View

HALF = "Good morning"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What one caller sees; a cell without an error is a whole answer, and `because` says why.

    `goes_on` means that what was shown only begins with `shown`.
    """

    error: type[ProviderError] | None = None
    answer: str | None = None
    shown: str = ""
    goes_on: bool = False
    says: str = ""
    status: int | None = None
    retry_after: float | None = None
    everywhere: bool = False
    because: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One fault; `slow` ones end by a limit of time, and only these do."""

    fault: str
    streaming: Cell
    embedding: Cell | None
    own: Mapping[Dialect, Cell] = {}
    own_embedding: Mapping[Dialect, Cell] = {}
    slow: bool = False


def cell_of(row: Row, dialect: Dialect, view: View) -> Cell | None:
    """Return what the caller of `dialect` sees, or None where the fault cannot be."""
    if view == "whole" and dialect in EMBEDDING:
        return row.own_embedding.get(dialect, row.embedding)
    streaming = row.own.get(dialect, row.streaming)
    if view == "streaming":
        return streaming
    return msgspec.structs.replace(streaming, shown="", goes_on=False)


def down(says: str, *, status: int | None = None, retry_after: float | None = None) -> Cell:
    return Cell(error=ProviderUnavailable, says=says, status=status, retry_after=retry_after)


def refused(says: str, status: int, *, everywhere: bool = False) -> Cell:
    return Cell(error=ProviderRejected, says=says, status=status, everywhere=everywhere)


def cut(says: str, *, shown: str = HALF) -> Cell:
    return Cell(error=StreamTruncated, says=says, shown=shown)


def late(shown: str = "", *, goes_on: bool = False) -> Cell:
    return Cell(error=ProviderTimeout, shown=shown, goes_on=goes_on)


def own(cell: Cell, because: str) -> Cell:
    return msgspec.structs.replace(cell, because=because)


def both(fault: str, cell: Cell, *, slow: bool = False) -> Row:
    return Row(fault=fault, streaming=cell, embedding=cell, slow=slow)


LOST = down("its answer was cut off")
NOT_WHOLE = cut("its answer was cut off; the answer is not whole")
NO_END = "ended without"
NO_VECTORS = down("expected a list of embeddings")
BROKEN = down("the answer is not whole")
DOUBLED = "GoodGood morning morning, Lima, Lima"
NO_NUMBERS = "nothing in this dialect tells a piece sent twice from a model that repeats itself"

CONNECTIONS = (
    both("refused", down("connection refused); nothing was sent")),
    both("reset_before_headers", LOST),
    both("closed_before_headers", LOST),
    both("half_headers", LOST),
    both("not_http", LOST),
    both("huge_header", LOST),
    both("hang_before_headers", late(), slow=True),
    Row(fault="hang_mid_stream", streaming=late(HALF), embedding=late(), slow=True),
    Row(fault="reset_mid_stream", streaming=NOT_WHOLE, embedding=LOST),
    Row(fault="closed_mid_stream", streaming=NOT_WHOLE, embedding=LOST),
    Row(fault="short_body", streaming=NOT_WHOLE, embedding=LOST),
    Row(fault="bad_chunk", streaming=NOT_WHOLE, embedding=LOST),
    both("closed_after_preamble", LOST),
)

PULL = own(refused("`ollama pull stand-in-1`", 404), "the server has a cure of its own")

STATUSES = (
    both("status_400", refused("400: messages: at least one", 400, everywhere=True)),
    both("status_400_parameter", refused("Unsupported parameter: 'top_p'", 400)),
    both(
        "status_400_context",
        Cell(error=PromptTooLong, says="the prompt is too long", status=400),
    ),
    both("status_401", refused("401: the key is wrong (asked with ****)", 401)),
    both("cut_401", refused("401: it gave no reason", 401)),
    both("status_403", refused("403", 403)),
    Row(
        fault="status_404",
        streaming=refused("check the name of the model and providers.", 404),
        embedding=refused("404: the model stand-in-1 does not exist", 404),
        own={"ollama": PULL},
        own_embedding={"ollama": PULL},
    ),
    both("status_405", refused("405", 405)),
    both("status_413", refused("413: the body is enormous", 413, everywhere=True)),
    both("status_422", refused("422: messages: must be a list", 422, everywhere=True)),
    both("status_429", down("429: slow down", status=429)),
    both("status_429_seconds", down("429: slow down", status=429, retry_after=7.0)),
    both("status_429_date", down("429: slow down", status=429, retry_after=7.0)),
    both("status_429_millis", down("429: slow down", status=429, retry_after=1.5)),
    both("status_500", down("500: something broke", status=500)),
    both("huge_500", down("500: it gave no reason", status=500)),
    both("page_502", down("502: 502 Bad Gateway", status=502)),
    both("status_503", down("503: come back", status=503, retry_after=3.0)),
    both("status_529", down("529: overloaded", status=529)),
    both("redirect", refused("a redirect, which is not followed: set providers.", 307)),
)

REPORTED = down("the backend is down (asked with ****)")
NAMED = "its errors name their status"
REPORTED_503 = own(msgspec.structs.replace(REPORTED, status=503), NAMED)
OVERLOADED = "overloaded (asked with ****)"

BODIES = (
    Row(fault="empty_body", streaming=cut(NO_END, shown=""), embedding=NO_VECTORS),
    Row(fault="ended_after_preamble", streaming=cut(NO_END, shown=""), embedding=NO_VECTORS),
    Row(fault="garbage", streaming=BROKEN, embedding=NO_VECTORS),
    Row(fault="garbage_mid_stream", streaming=cut("the answer is not whole"), embedding=NO_VECTORS),
    Row(
        fault="garbage_between",
        streaming=Cell(
            answer=TEXT, shown=TEXT, because="the answer goes on: what cannot be read is skipped"
        ),
        embedding=None,
    ),
    Row(fault="half_json", streaming=BROKEN, embedding=NO_VECTORS),
    Row(
        fault="other_json",
        streaming=cut(NO_END, shown=""),
        embedding=NO_VECTORS,
        own={"anthropic": own(BROKEN, "an event without a type is none; elsewhere it is skipped")},
    ),
    both("page", down("the service answered 200 with text/html, expected ")),
    Row(
        fault="error_in_json",
        streaming=REPORTED,
        embedding=REPORTED,
        own={"gemini": REPORTED_503},
        own_embedding={"gemini": REPORTED_503},
    ),
    both("unknown_encoding", down("the content encoding x-cipher")),
    Row(fault="bomb", streaming=down("exceeds"), embedding=down("")),
)

STREAMS = (
    Row(fault="no_end", streaming=cut(NO_END, shown=TEXT), embedding=NO_VECTORS),
    Row(
        fault="no_last_marker",
        streaming=cut(NO_END, shown=TEXT),
        embedding=NO_VECTORS,
        own={
            "openai": Cell(
                answer=TEXT,
                shown=TEXT,
                because="the finish reason has ended the answer; only [DONE] is missing behind it",
            )
        },
    ),
    Row(fault="cut_mid_delta", streaming=cut("the answer is not whole"), embedding=NO_VECTORS),
    Row(
        fault="error_first",
        streaming=down(OVERLOADED),
        embedding=down(OVERLOADED),
        own={"gemini": own(down(OVERLOADED, status=503), NAMED)},
        own_embedding={"gemini": own(down(OVERLOADED, status=500), NAMED)},
    ),
    Row(
        fault="error_mid_stream",
        streaming=cut(f"{OVERLOADED}; the answer is not whole"),
        embedding=NO_VECTORS,
    ),
    Row(
        fault="double_deltas",
        streaming=Cell(answer=DOUBLED, shown=DOUBLED, because=NO_NUMBERS),
        embedding=NO_VECTORS,
        own={
            "openai_responses": Cell(
                answer=TEXT, shown=TEXT, because="its events are numbered: a second one is dropped"
            )
        },
    ),
    Row(
        fault="double_end",
        streaming=Cell(
            answer=TEXT, shown=TEXT, because="the answer is whole at its first end, told once"
        ),
        embedding=NO_VECTORS,
    ),
    Row(
        fault="cut_arguments",
        streaming=Cell(answer="", because="the model ended there: the tool refuses the arguments"),
        embedding=None,
        own={
            "gemini": own(BROKEN, "arguments are part of the event, which is then no JSON"),
            "ollama": own(BROKEN, "arguments are part of the line, which is then no JSON"),
        },
    ),
    Row(fault="huge_line", streaming=cut("bytes: the service does not send"), embedding=NO_VECTORS),
    both("endless_comments", late(), slow=True),
    Row(fault="slow_drip", streaming=late("Good", goes_on=True), embedding=late(), slow=True),
    Row(
        fault="wrong_charset",
        streaming=cut("the answer is not whole", shown="Good"),
        embedding=NO_VECTORS,
        own={
            "openai_responses": Cell(
                answer=TEXT, shown="Good", because="its last event holds the whole answer"
            )
        },
    ),
)

ROWS = (*CONNECTIONS, *STATUSES, *BODIES, *STREAMS)

"""`hermes deadletters list|show|replay|drop`: replies that could not be sent."""

from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    console,
    examples,
    make_table,
    print_done,
    print_json,
    print_report,
)
from hermes.cli.who import operator_name
from hermes.control.deadletters import (
    MOST_LETTERS,
    DeadLetter,
    LetterAsk,
    LetterOrder,
    LetterReport,
    LettersAsk,
    LettersReport,
)
from hermes.control.orders import (
    DEADLETTERS_DROP,
    DEADLETTERS_LIST,
    DEADLETTERS_REPLAY,
    DEADLETTERS_SHOW,
)
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound

LIST_EPILOG = examples(
    "hermes deadletters list", "hermes deadletters list --platform telegram --json"
)
SHOW_EPILOG = examples("hermes deadletters show o_0k3v9c2h6l1g")
REPLAY_EPILOG = examples("hermes deadletters replay o_0k3v9c2h6l1g")
DROP_EPILOG = examples("hermes deadletters drop o_0k3v9c2h6l1g")
_COLUMNS = (
    Column("id", "id"),
    Column("platform", rank=1),
    Column("chat", rank=3),
    Column("person", "id", rank=6),
    Column("state", "state"),
    Column("why", rank=2),
    Column("attempts", "number", rank=5),
    Column("written", "time", rank=4),
)

LetterId = Annotated[
    str, typer.Argument(metavar="LETTER", help="The reply's id, as the list shows it, or its end.")
]


def list_all(
    *,
    platform: Annotated[
        str, typer.Option(help="Only replies of this platform.", show_default=False)
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_LETTERS, help="At most this many replies.")
    ] = 50,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List replies that Hermes stopped sending, or that may have arrived: you decide."""
    ask = LettersAsk(platform=platform, limit=limit)
    report = call(home, DEADLETTERS_LIST, ask, empty=LettersReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def show(letter: LetterId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Show one of these replies with its text."""
    ask = LetterAsk(id=letter)
    report = call(home, DEADLETTERS_SHOW, ask, empty=_nothing)
    if as_json:
        print_json(report)
        return
    out = console()
    _print(LettersReport(letters=(report.letter,)), out)
    _print_tries(report.letter, out)
    text = report.letter.text
    print(clean("(its text can no longer be read)" if text is None else text))


def replay(letter: LetterId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Send one of these replies again as new; if it had arrived, it may arrive twice."""
    order = LetterOrder(id=letter, by=operator_name())
    report = call(home, DEADLETTERS_REPLAY, order, empty=_nothing)
    _tell(report, "will be sent again", as_json=as_json)


def drop(letter: LetterId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Give up one of these replies for good; `hermes why` still shows it."""
    order = LetterOrder(id=letter, by=operator_name())
    report = call(home, DEADLETTERS_DROP, order, empty=_nothing)
    _tell(report, "is given up", as_json=as_json)


def _nothing() -> NoReturn:
    raise NotFound("There is no such reply: nothing is stored here yet.")


def _tell(report: LetterReport, did: str, *, as_json: bool) -> None:
    print_done(report, f"{report.letter.id} {report.note or did}.", as_json=as_json)


def _print(report: LettersReport, out: Console) -> None:
    if not report.letters:
        out.print("There are none: every reply was sent or is being sent.")
        return
    print_table(out, _COLUMNS, map(_cells, report.letters))
    for one in report.letters:
        if one.reason:
            out.print(Text(clean(f"{one.id}: {one.reason}"), style="dim"))


def _print_tries(letter: DeadLetter, out: Console) -> None:
    if not letter.tries:
        return
    table = make_table("time (UTC)", "what", "")
    for one in letter.tries:
        what = " ".join(piece for piece in (one.failure, one.reason) if piece)
        table.add_row(clock_time(one.at), Text(clean(what)), Text(clean(one.then), style="dim"))
    out.print(table)


def _cells(one: DeadLetter) -> tuple[Cell, ...]:
    state = "may have arrived" if one.state == "unknown" else one.state
    return (
        one.id,
        one.platform,
        one.chat_id if one.thread_id is None else f"{one.chat_id} ({one.thread_id})",
        one.person_id,
        state,
        one.failure,
        str(one.attempts),
        one.created_at,
    )

"""`hermes messages`: every message by any filter, the newest first."""

from collections.abc import Iterator
from typing import Annotated, get_args

import msgspec
import typer
from rich.console import Console

from hermes.cli.operator_calls import call, money
from hermes.cli.since import since_time
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import AsJson, Home, Since, Wide, examples, print_report
from hermes.control.messages import MOST_MESSAGES, ListedMessage, MessagesAsk, MessagesReport
from hermes.control.orders import MESSAGES_LIST, MESSAGES_LIST_TEXT
from hermes.ports.messages import Ending

LIST_EPILOG = examples(
    "hermes messages list",
    "hermes messages list --user telegram:4711 --since 7d",
    "hermes messages list --outcome failed --model openai:gpt-4o-mini",
    "hermes messages list --cost 0.10 --text --json",
)
_OUTCOMES = get_args(Ending)
_COLUMNS = (
    Column("when", "time"),
    Column("message", "id"),
    Column("person", "id", rank=5),
    Column("platform", rank=4),
    Column("agent", rank=6),
    Column("model", rank=2),
    Column("outcome", rank=1),
    Column("took", "number", rank=3),
    Column("cost", "number", rank=2),
)
_WITH_TEXT = (*_COLUMNS, Column("said", rank=1), Column("reply", rank=3))


def _only(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, show_default=False)
    return option


def list_all(
    *,
    user: Annotated[
        str | None, _only("Only messages of this person: PLATFORM:USER_ID, or the id of a person.")
    ] = None,
    platform: Annotated[str | None, _only("Only messages of this platform.")] = None,
    agent: Annotated[str | None, _only("Only messages that this agent answered.")] = None,
    model: Annotated[
        str | None, _only("Only messages that this model answered, PROVIDER:MODEL.")
    ] = None,
    outcome: Annotated[
        str | None, _only(f"Only messages that ended so: {', '.join(_OUTCOMES)}.")
    ] = None,
    cost: Annotated[
        float | None, _only("Only messages that cost at least this many dollars.")
    ] = None,
    since: Since = None,
    until: Annotated[
        str | None, _only("Only what is not newer: a day, or how long ago (30m, 12h, 7d).")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_MESSAGES, help="At most this many messages.")
    ] = 20,
    text: Annotated[
        bool, typer.Option("--text", help="Also show the beginning of what was said.")
    ] = False,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List messages, the newest first: who, where, which model, how it ended, and the cost."""
    ask = MessagesAsk(
        user=user,
        platform=platform,
        agent=agent,
        model=model,
        outcome=_outcome(outcome),
        least_usd=cost,
        since=since_time(since, home),
        until=since_time(until, home),
        limit=limit,
    )
    report = _search(home, ask, has_text=text)
    print_report(
        report, lambda found, out: _print(found, out, has_text=text), as_json=as_json, wide=wide
    )


def _outcome(text: str | None) -> Ending | None:
    if text is None:
        return None
    try:
        ending: Ending = msgspec.convert(text, Ending)
    except msgspec.ValidationError:
        raise typer.BadParameter(
            f"{text!r} is not an outcome: expected {', '.join(_OUTCOMES)}"
        ) from None
    return ending


def _search(home: Home, ask: MessagesAsk, *, has_text: bool) -> MessagesReport:
    """Return the first page that is full, or all there is: a rare message takes several searches."""
    order = MESSAGES_LIST_TEXT if has_text else MESSAGES_LIST
    found: list[ListedMessage] = []
    while True:
        report = call(home, order, ask, empty=MessagesReport)
        found += report.messages
        if report.searched_to is None or report.next is None:
            return msgspec.structs.replace(report, messages=tuple(found))
        if len(found) >= ask.limit:
            return msgspec.structs.replace(report, messages=tuple(found), searched_to=None)
        ask = msgspec.structs.replace(ask, before=report.next, limit=ask.limit - len(found))


def _print(report: MessagesReport, out: Console, *, has_text: bool) -> None:
    if not report.messages:
        out.print("No messages were found.")
        return
    rows = (tuple(_cells(one, has_text=has_text)) for one in report.messages)
    print_table(out, _WITH_TEXT if has_text else _COLUMNS, rows)


def _cells(one: ListedMessage, *, has_text: bool) -> Iterator[Cell]:
    yield one.at
    yield one.id
    yield one.person_id
    yield one.platform
    yield one.agent or ""
    yield one.model or ""
    yield one.outcome or one.state
    yield "" if one.duration_s is None else f"{one.duration_s:.1f} s"
    yield "" if one.cost_usd is None else money(one.cost_usd)
    if has_text:
        yield one.text or ""
        yield one.reply or ""

"""`hermes memory show|set|forget|dream|export`: what is known of a person."""

import sys
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway, call, operator_name
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Person,
    Wide,
    clean,
    console,
    examples,
    print_json,
    print_report,
)
from hermes.control.consent import unknown_person
from hermes.control.memory import (
    DreamOrder,
    FactLine,
    FactOrder,
    ForgetOrder,
    MemoryAsk,
    MemoryPeopleAsk,
    MemoryPeopleReport,
    MemoryReport,
)
from hermes.control.orders import (
    MEMORY_DREAM,
    MEMORY_FORGET,
    MEMORY_LIST,
    MEMORY_RECORD,
    MEMORY_SET,
    MEMORY_SHOW,
)
from hermes.control.person_export import export_lines
from hermes.control.why_answer import clock_time
from hermes.lazy import lazy
from hermes.ports.dreams import Dream

if TYPE_CHECKING:
    from hermes.cli.offline import open_graph_reader
else:
    open_graph_reader = lazy("hermes.cli.offline:open_graph_reader")

LIST_EPILOG = examples("hermes memory", "hermes memory list --limit 500 --json")
SHOW_EPILOG = examples("hermes memory show telegram:4711", "hermes memory show rest:ann --json")
SET_EPILOG = examples(
    "hermes memory set rest:ann diet vegan",
    'hermes memory set telegram:4711 home_city "Ubud, Bali"',
    'hermes memory set telegram:4711 dog "is called Rex" --json',
)
FORGET_EPILOG = examples(
    "hermes memory forget rest:ann diet",
    "hermes memory forget rest:ann --everything",
)
DREAM_EPILOG = examples("hermes memory dream telegram:4711", "hermes memory dream rest:ann --json")
# A model may think for a while.
_DREAM_S = 300.0
EXPORT_EPILOG = examples(
    "hermes memory export rest:ann > ann.jsonl",
)
_COLUMNS = (
    Column("key", "id"),
    Column("value"),
    Column("since", "time", rank=1),
    Column("from", "id", rank=2),
)
_PEOPLE_COLUMNS = (
    Column("person", "id"),
    Column("user"),
    Column("facts", "number"),
    Column("last learned", "time"),
)


def list_all(
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many people.")] = 50,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the people about whom facts are stored, without the facts."""
    ask = MemoryPeopleAsk(limit=limit)
    report = call(home, MEMORY_LIST, ask, empty=MemoryPeopleReport)
    print_report(report, _print_people, as_json=as_json, wide=wide)


def show(user: Person, *, home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """Show what is known of a person, and the message each fact came from."""
    report = _known(home, user)
    print_report(report, _print, as_json=as_json, wide=wide)


def set_fact(
    user: Person,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the fact, such as diet.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value of the fact.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Store a fact about a person; it replaces the fact with the same key."""
    # Asked in any case: an order for somebody unknown is not to make a home.
    _known(home, user)
    order = FactOrder(user=user, key=key, value=value, by=operator_name())
    report = call(home, MEMORY_SET, order)
    if as_json:
        print_json(report)
        return
    did = "stored" if report.changed else "was stored already"
    print(clean(f"{report.fact.key}: {report.fact.value} ({did})"))
    if report.removed:
        print(clean(f"Removed to make room: {', '.join(report.removed)}."))


def forget(
    user: Person,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="The key of the fact to delete.", show_default=False),
    ] = "",
    *,
    everything: Annotated[bool, typer.Option("--everything", help="Delete all facts.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Delete a fact about a person, or all of them; the conversations stay."""
    if everything == bool(key):
        raise typer.BadParameter("name a key, or give --everything, not both")
    _known(home, user)
    order = ForgetOrder(user=user, key=key, is_everything=everything, by=operator_name())
    report = call(home, MEMORY_FORGET, order)
    if as_json:
        print_json(report)
        return
    names = ", ".join(fact.key for fact in report.forgotten) or "nothing, because nothing was known"
    print(clean(f"Forgotten: {names}."))


def dream(user: Person, *, home: Home = None, as_json: AsJson = False) -> None:
    """Summarize what is known of a person now; the platform pays for the model call."""
    order = DreamOrder(user=user, by=operator_name())
    report = ask_gateway(connect(home_for(home)), MEMORY_DREAM, order, timeout_s=_DREAM_S)
    if as_json:
        print_json(report)
    elif report.dream is None:
        print(clean(f"Nothing is known of {user}, and they have not written anything."))
    else:
        _print_dream(report.dream, console())


def export(user: Person, *, home: Home = None) -> None:
    """Print everything stored about a person as JSON lines: facts, credits, consent, messages."""
    record = call(home, MEMORY_RECORD, MemoryAsk(user=user), empty=partial(_nobody, user))
    with open_graph_reader(settings_for(home)) as reader:
        _write(export_lines(record, reader))


def _write(lines: Iterable[dict[str, object]]) -> None:
    for line in lines:
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")


def _known(home: Home, user: str) -> MemoryReport:
    ask = MemoryAsk(user=user)
    return call(home, MEMORY_SHOW, ask, empty=partial(_nobody, user))


def _nobody(user: str) -> NoReturn:
    raise unknown_person(user)


def _print_people(report: MemoryPeopleReport, out: Console) -> None:
    if not report.people:
        out.print("Nothing is known about anybody yet.")
        return
    rows = ((one.person_id, one.user, f"{one.facts:,}", one.at) for one in report.people)
    print_table(out, _PEOPLE_COLUMNS, rows)


def _print(report: MemoryReport, out: Console) -> None:
    if report.dream is not None:
        _print_dream(report.dream, out)
    if not report.facts:
        out.print(Text(clean(f"Nothing is known of {report.user}.")))
        return
    print_table(out, _COLUMNS, map(_cells, report.facts))


def _print_dream(dream: Dream, out: Console) -> None:
    out.print(Text(f"Summary of {clock_time(dream.at)}:", style="dim"))
    for insight in dream.insights:
        out.print(Text(clean(f"- {insight}")))
    for gap in dream.gaps:
        out.print(Text(clean(f"- unknown: {gap}")))
    if not (dream.insights or dream.gaps):
        out.print(Text("- no insight"))


def _cells(fact: FactLine) -> tuple[Cell, ...]:
    return (fact.key, fact.value, fact.updated_at, fact.source)

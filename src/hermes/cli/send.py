"""`hermes send`: sends a message to a chat, by the running gateway or without one."""

import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.environment import home_for, settings_for
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import AsJson, Home, clean, examples, print_done, print_json
from hermes.control.orders import SENDS_SEND
from hermes.control.sends import SendOrder, SendReport
from hermes.errors import BadRequest
from hermes.lazy import lazy
from hermes.ops.instance import find_running
from hermes.ports.clock import SystemClock

if TYPE_CHECKING:
    from hermes.app.sent_files import keep_files
else:
    keep_files = lazy("hermes.app.sent_files:keep_files")

# Kept, and tried again by the next gateway: that of sendmail for the same.
_KEPT = 75
_OTHERS_S = 20.0
_LOOK_AGAIN_S = 0.05

EPILOG = examples(
    'hermes send telegram:4711 "The backup is done."',
    'hermes send "slack:#general" "Lunch?"',
    'hermes send telegram/sales:4711 "By the bot of sales."',
    "df -h | hermes send telegram -",
    'hermes send slack:C042:1712.55 "In that thread." --json',
    'hermes send telegram "The report." --file report.pdf --file chart.png',
    'hermes send telegram "When the gateway is up again." --later',
)


def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="PLATFORM (its home channel), PLATFORM:CHAT, PLATFORM:CHAT:THREAD, or local (a "
            "file). Of several bots on one platform, PLATFORM/ACCOUNT names one. CHAT is an id, or a "
            "name that `hermes channels directory` shows.",
        ),
    ],
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="The text to send; - reads it from standard input. May be left out with --file.",
        ),
    ] = "",
    *,
    home: Home = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="A file to send with it. May be repeated.",
            show_default=False,
        ),
    ] = None,
    later: Annotated[
        bool,
        typer.Option("--later", help="If no gateway runs, leave it to the next one to send it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a message to a chat; it becomes part of the conversation there.

    A running gateway sends it; if none runs, it is sent at once by this command.
    """
    said = _read() if text == "-" else text
    files = keep_files(home_for(home), settings_for(home).settings, file) if file else ()
    order = SendOrder(to=target, text=said, by=operator_name(), files=files, later=later)
    is_here = _is_here(home_for(home))
    report = call(home, SENDS_SEND, order)
    told = _told(report, is_here=is_here)
    if report.state == "failed" or report.problem:
        if as_json:
            print_json(report)
        typer.echo(clean(told), err=True)
        raise typer.Exit(1 if report.state == "failed" else _KEPT)
    print_done(report, told, as_json=as_json)


def _is_here(home: Path) -> bool:
    """Return whether this command sends; wait for another command that does, or a gateway's start."""
    clock = SystemClock()
    until = clock.monotonic() + _OTHERS_S
    while (running := find_running(home)) is not None and running.address is None:
        if clock.monotonic() > until:
            break
        Event().wait(_LOOK_AGAIN_S)
    return running is None


def _read() -> str:
    try:
        return sys.stdin.read().rstrip("\n")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"Standard input is not UTF-8 text ({error}). Convert it to UTF-8 first."
        ) from error


def _told(report: SendReport, *, is_here: bool) -> str:
    if report.state == "written":
        return f"Written to {report.where} in the home."
    if report.state == "shown":
        return f"Delivered to {report.to} ({report.id})."
    if report.state == "sent":
        return f"Sent to {report.to} ({report.id})."
    why = report.problem.rstrip(".")
    if report.state == "failed":
        return (
            f"Not sent to {report.to} ({report.id}): {why}. It is a dead letter: correct the cause, "
            f"then `hermes deadletters replay {report.id}`."
        )
    if report.state == "unknown":
        return (
            f"It is not known whether it arrived at {report.to} ({report.id}): {why}. Do not send it "
            "again: the next gateway finds out, and repeats it only if that is safe."
        )
    if report.problem:
        return (
            f"Not sent to {report.to} yet ({report.id}): {why}. Do not send it again: it is kept, and "
            "the next gateway sends it."
        )
    if is_here:
        return f"Queued for {report.to} ({report.id}): no gateway runs; the next one sends it."
    return f"Queued for {report.to} ({report.id}); the gateway is sending it."

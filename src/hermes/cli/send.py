"""`hermes send`: sends a message to a chat, now or when the next gateway starts."""

import sys
from typing import Annotated

import typer

from hermes.cli.environment import home_for
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import AsJson, Home, examples, print_done
from hermes.control.orders import SENDS_SEND
from hermes.control.sends import SendOrder, SendReport
from hermes.errors import BadRequest
from hermes.ops.instance import find_running

EPILOG = examples(
    'hermes send telegram:4711 "The backup is done."',
    'hermes send "slack:#general" "Lunch?"',
    "df -h | hermes send telegram -",
    'hermes send slack:C042:1712.55 "In that thread." --json',
)


def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="PLATFORM (its home channel), PLATFORM:CHAT, PLATFORM:CHAT:THREAD, or local (a "
            "file). CHAT is an id, or a name that `hermes channels directory` shows.",
        ),
    ],
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="The text to send; - reads it from standard input."),
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Send a message to a chat; it becomes part of the conversation there."""
    order = SendOrder(to=target, text=_read() if text == "-" else text, by=operator_name())
    is_here = find_running(home_for(home)) is None
    report = call(home, SENDS_SEND, order)
    print_done(report, _told(report, is_here=is_here), as_json=as_json)


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
    if is_here:
        return f"Queued for {report.to} ({report.id}): no gateway runs; the next one sends it."
    return f"Queued for {report.to} ({report.id}); the gateway is sending it."

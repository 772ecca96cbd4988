"""`hermes search`: searches what all people and agents wrote, by words or parts of words."""

import re
import threading
from datetime import datetime
from functools import partial
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import GatewayClient, client_for
from hermes.cli.operator_calls import ask_gateway, call, call_here
from hermes.cli.progress import Show, progress_bar
from hermes.cli.terminal import AsJson, Home, Since, clean, examples, print_json, print_report
from hermes.control.order import NoFields
from hermes.control.orders import SEARCH_FIND, SEARCH_REBUILD, SEARCH_STATE
from hermes.control.search import SearchOrder
from hermes.control.why_answer import clock_time
from hermes.ops.instance import find_running
from hermes.ports.clock import SystemClock
from hermes.ports.search import MOST_RESULTS, IndexState, SearchResult

EPILOG = examples(
    "hermes search umbrella",
    'hermes search "next tuesday" --user telegram:4711 --since 7d',
    "hermes search 東京 --platform telegram --limit 5 --json",
    "hermes search art --words",
    "hermes search --rebuild",
)
_AGO = re.compile(r"(\d{1,6})([mhd])")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}
_LOOK_S = 0.5


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help='The words to search for; all must occur. "Words in quotes" are one phrase.',
            show_default=False,
        ),
    ] = None,
    *,
    user: Annotated[
        str | None,
        typer.Option(
            help="Only messages of this person: PLATFORM:USER_ID, or the id of a person.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Only messages to and from this agent.", show_default=False)
    ] = None,
    platform: Annotated[
        str | None, typer.Option(help="Only messages on this platform.", show_default=False)
    ] = None,
    since: Since = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_RESULTS, help="At most this many messages.")
    ] = 20,
    whole: Annotated[
        bool, typer.Option("--words", help="Find whole words only, not parts of words.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build the index again from the conversations.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Search what people and agents wrote, the newest first; in any script, parts of words too."""
    if rebuild and words:
        raise typer.BadParameter("give words to search for, or --rebuild, not both")
    if not rebuild and not words:
        raise typer.BadParameter("give words to search for, such as: hermes search invoice")
    if rebuild:
        _rebuild(home, as_json=as_json)
        return
    order = SearchOrder(
        text=" ".join(_quoted(one) for one in words or ()),
        words=whole,
        user=user,
        agent=agent,
        platform=platform,
        since=None if since is None else _since(since, home),
        limit=limit,
    )
    result = _find(order, home)
    print_report(result, _print, as_json=as_json)


def _quoted(argument: str) -> str:
    """Return one shell argument as one search term."""
    return f'"{argument}"' if " " in argument and '"' not in argument else argument


def _since(text: str, home: Home) -> float:
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return SystemClock().now() - int(ago[1]) * _SECONDS[ago[2]]
    zone = settings_for(home).settings.time_zone
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time: expected a day such as 2026-11-01, or 30m, 12h, 7d"
        ) from None
    if day.tzinfo is None and zone is not None:
        day = day.replace(tzinfo=ZoneInfo(zone))
    return day.timestamp()


def _find(order: SearchOrder, home: Home) -> SearchResult:
    return call(home, SEARCH_FIND, order, empty=SearchResult)


def _print(result: SearchResult, out: Console) -> None:
    for found in result.found:
        who = "person" if found.role == "user" else "agent"
        where = f"{clock_time(found.at)}  {who}  {found.session}  {found.message_id}"
        out.print(Text(clean(where), style="dim"))
        out.print(Text(clean(f"  {found.snippet}")))
    if not result.found:
        out.print("Nothing was found.")
    for note in _notes(result):
        out.print(Text(clean(note), style="dim"))


def _notes(result: SearchResult) -> list[str]:
    notes = []
    if result.ignored:
        notes.append(f"Ignored: {' '.join(result.ignored)}. These terms match no message.")
    if not result.is_complete:
        notes.append(
            "The time limit was reached before everything was searched: add words, or --since."
        )
    if result.unread:
        notes.append(f"{result.unread:,} turns are not in the index yet; search again in a moment.")
    return notes


def _rebuild(home: Home, *, as_json: bool) -> None:
    with progress_bar("index") as show:
        running = find_running(home_for(home))
        if running is None:
            state = call_here(
                home,
                lambda operator: operator.act(
                    SEARCH_REBUILD, lambda do: do.search.rebuild(partial(_move, show))
                ),
                empty=lambda: IndexState(messages=0, waiting=0, bytes=0, is_whole=True),
                logs=True,
            )
        else:
            state = _wait_for(client_for(running), show)
    if as_json:
        print_json(state)
    else:
        print(
            f"The index is built: {state.messages:,} messages, {state.bytes / 1000000.0:,.1f} MB."
        )


def _wait_for(gateway: GatewayClient, show: Show) -> IndexState:
    state, pause = ask_gateway(gateway, SEARCH_REBUILD, NoFields()), threading.Event()
    while not state.is_whole:
        _move(show, state)
        pause.wait(_LOOK_S)
        state = ask_gateway(gateway, SEARCH_STATE, NoFields())
    return state


def _move(show: Show, state: IndexState) -> None:
    # A turn is a question and an answer, as a rule.
    show(state.messages, state.messages + 2 * state.waiting, "messages")

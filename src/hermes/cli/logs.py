"""`hermes logs`: shows the last lines of the gateway's log file, or follows it."""

import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.since import since_time
from hermes.cli.terminal import AsJson, Home, Since, clean, console, examples
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound
from hermes.ops.log_reader import LEVELS, Fields, LineFilter, follow, last_lines, mark_of

EPILOG = examples(
    "hermes logs",
    "hermes logs --follow --level warning",
    "hermes logs --message m_0k3v9c2h6l1g",
    "hermes logs --since 1h --limit 500 --json",
)
_LOOK_S = 0.25
_STYLES = {"warning": "yellow", "error": "red", "critical": "bold red", "debug": "dim"}


def _check_level(value: str) -> str:
    if value not in LEVELS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(LEVELS)}")
    return value


def command(
    *,
    follows: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Keep printing new lines as they are written."),
    ] = False,
    level: Annotated[
        str,
        typer.Option(help=f"The lowest level to show: {', '.join(LEVELS)}.", callback=_check_level),
    ] = "debug",
    message: Annotated[
        str | None, typer.Option(help="Only lines about this message.", show_default=False)
    ] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=0, max=1_000_000, help="At most this many lines.")] = 50,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show the gateway's log file, the newest line last; secrets were masked when written."""
    path = _file(home)
    at = since_time(since, home)
    line_filter = LineFilter(level=level, message=message, since=None if at is None else _utc(at))
    end = mark_of(path)
    _print(last_lines(path, line_filter, limit=limit, until=end) if limit else (), as_json=as_json)
    if follows:
        pause = threading.Event()
        try:
            _print(
                follow(path, line_filter, start=end, wait=lambda: pause.wait(_LOOK_S)),
                as_json=as_json,
            )
        except KeyboardInterrupt:
            return


def _file(home: Home) -> Path:
    loaded = settings_for(home)
    file = loaded.settings.logs.file
    if file is None:
        raise NotFound(
            "There is no log file: set logs.file in config.yaml, or look where the gateway's "
            "standard error goes (`journalctl` under systemd)."
        )
    return loaded.home / file


def _utc(at: float) -> str:
    """Return a time in the format of the log lines."""
    return clock_time(at).removesuffix(" UTC").replace(" ", "T")


def _print(lines: Iterable[Fields], *, as_json: bool) -> None:
    out = console()
    for fields in lines:
        if as_json:
            sys.stdout.write(msgspec.json.encode(fields).decode() + "\n")
            sys.stdout.flush()
        else:
            _show(fields, out)


def _show(fields: Fields, out: Console) -> None:
    rest = dict(fields)
    time, level = str(rest.pop("time", "")), str(rest.pop("level", ""))
    event, trace = str(rest.pop("event", "")), rest.pop("traceback", None)
    pairs = "  ".join(f"{name}={value}" for name, value in rest.items())
    out.print(
        Text(f"{clean(time)}  ", style="dim")
        + Text(f"{clean(level):<8}", style=_STYLES.get(level, ""))
        + Text(f"  {clean(event)}  {clean(pairs)}".rstrip())
    )
    if trace:
        out.print(Text(clean(str(trace)), style="dim"))

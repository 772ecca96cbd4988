"""`hermes config show`: every setting and its source; `hermes.config` masks the secrets."""

from typing import Annotated

import typer
from rich.table import Table

from hermes.cli.environment import settings_for
from hermes.cli.terminal import AsJson, Home, console, error_console, examples, print_json
from hermes.config import show

EPILOG = examples("hermes config show", "hermes config show --origin", "hermes config show --json")


def command(
    *,
    home: Home = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show the source of each value.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print every setting as the gateway would use it."""
    loaded = settings_for(home)
    rows = show(loaded, origin)
    for warning in loaded.warnings:
        error_console().print(f"warning: {warning}", markup=False)
    if as_json:
        print_json([_as_object(row.key, row.value, origin=row.origin) for row in rows])
        return
    table = Table("setting", "value", box=None, pad_edge=False)
    if origin:
        table.add_column("from")
    for row in rows:
        cells = [row.key, _plain(row.value)]
        table.add_row(*(_escape(cell) for cell in [*cells, *([row.origin] if row.origin else [])]))
    console().print(table)


def _as_object(key: str, value: object, *, origin: str | None) -> dict[str, object]:
    found: dict[str, object] = {"key": key, "value": value}
    return found | {"origin": origin} if origin else found


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)


def _escape(text: str) -> str:
    return text.replace("[", "\\[")

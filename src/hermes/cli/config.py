"""`hermes config show`: every setting and its source; `hermes.config` masks the secrets."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.terminal import AsJson, Home, clean, console, error_console, examples, print_json
from hermes.config import show

EPILOG = examples("hermes config show", "hermes config show --origin", "hermes config show --json")
# Longer values do not widen the column of all others.
_WIDEST_VALUE = 30
# A setting, its value, and where that comes from.
_Cells = tuple[str, str, str]


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
        error_console().print(Text(clean(f"warning: {warning}")), soft_wrap=True)
    if as_json:
        print_json([_as_object(row.key, row.value, origin=row.origin) for row in rows])
        return
    _print([(row.key, _plain(row.value), row.origin or "") for row in rows], origin=origin)


def _print(rows: Sequence[_Cells], *, origin: bool) -> None:
    """Print the settings in columns; a long value is never cut, and moves only its own line."""
    out = console()
    heading = ("setting", "value", "from" if origin else "")
    keys = max(len(key) for key, _, _ in (heading, *rows))
    values = max(len(value) for _, value, _ in (heading, *rows) if len(value) <= _WIDEST_VALUE)
    for style, cells in (("dim", heading), *(("", row) for row in rows)):
        key, value, source = cells
        line = f"{key:{keys}}  {value:{values}}  {source}".rstrip()
        out.print(Text(clean(line), style=style), soft_wrap=True)


def _as_object(key: str, value: object, *, origin: str | None) -> dict[str, object]:
    found: dict[str, object] = {"key": key, "value": value}
    return found | {"origin": origin} if origin else found


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)

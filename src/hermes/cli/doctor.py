"""`hermes doctor`: finds what is wrong, says why it matters, and what to do."""

from collections.abc import Callable
from typing import Annotated

import typer

from hermes.cli.lazy import load_named
from hermes.cli.terminal import AsJson, Home, examples

EPILOG = examples(
    "hermes doctor",
    "hermes doctor --fix",
    "hermes doctor --call   (also asks each model one short question)",
    "hermes doctor --json | jq '.checks[] | select(.status != \"ok\")'",
)
Examine = Callable[..., bool]


def command(
    *,
    home: Home = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Set right what is safe: permissions, folders, what a dead gateway left."
        ),
    ] = False,
    call: Annotated[
        bool, typer.Option("--call", help="Make one short, real call to each model service.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find what is wrong with this home and say what to do; exit code 1 if something fails."""
    # Loaded by name: it brings the whole composition root with it.
    examine: Examine = load_named("hermes.cli.doctor_alone:examine_and_show")
    if not examine(home, fix=fix, call=call, as_json=as_json):
        raise typer.Exit(1)

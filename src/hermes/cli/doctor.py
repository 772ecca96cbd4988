"""`hermes doctor`: finds problems, says why they matter, and how to fix them."""

from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.terminal import AsJson, Home, examples
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.doctor_alone import examine_and_show
else:
    examine_and_show = lazy("hermes.cli.doctor_alone:examine_and_show")

EPILOG = examples(
    "hermes doctor",
    "hermes doctor --fix",
    "hermes doctor --call   (also asks each model a short question, and each platform who the bot is)",
    "hermes doctor --json | jq '.checks[] | select(.status != \"ok\")'",
)


def command(
    *,
    home: Home = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Fix what is safe to fix: permissions, folders, files of a dead gateway."
        ),
    ] = False,
    call: Annotated[
        bool,
        typer.Option(
            "--call", help="Make one short, real call to each model service and platform."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check this home and say how to fix each problem; exit code 1 if a check fails."""
    if not examine_and_show(home, fix=fix, call=call, as_json=as_json):
        raise typer.Exit(1)

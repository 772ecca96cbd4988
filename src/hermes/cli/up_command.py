"""The options of `hermes up` for its `--help`; a start itself goes past typer."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hermes.cli.terminal import Home, examples
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.up import main as start_gateway
else:
    start_gateway = lazy("hermes.cli.up:main")

EPILOG = examples(
    "hermes up",
    "hermes up --port 8090",
    "hermes up --host 0.0.0.0 --log-format json",
    "hermes up --replace",
    "HERMES_HOME=./second hermes up --port 0",
)


def command(
    *,
    home: Home = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="The port; 0 picks a free one.", show_default=False)
    ] = None,
    log_format: Annotated[
        Literal["auto", "console", "json"] | None,
        typer.Option(help="The format of log lines.", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take over from a gateway that runs in this home.")
    ] = False,
    accept_lone_database: Annotated[
        bool,
        typer.Option(
            "--accept-lone-database",
            help="Start with a hermes.db whose hermes.db-wal is gone, without what was in it.",
        ),
    ] = False,
    no_copy: Annotated[
        bool,
        typer.Option("--no-copy", help="Upgrade the database without keeping a copy of it first."),
    ] = False,
) -> None:
    """Start the gateway and run it until it is stopped (Ctrl-C, or `hermes stop`)."""
    given = {"--home": home, "--host": host, "--port": port, "--log-format": log_format}
    arguments = [
        text for name, value in given.items() if value is not None for text in (name, str(value))
    ]
    switches = {
        "--replace": replace,
        "--accept-lone-database": accept_lone_database,
        "--no-copy": no_copy,
    }
    arguments += [name for name, is_on in switches.items() if is_on]
    raise typer.Exit(start_gateway(arguments))

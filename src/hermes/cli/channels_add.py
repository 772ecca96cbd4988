"""`hermes channels add PLATFORM`: sets up a platform, tests it, and writes its settings.

Questions go to standard error, so that standard output holds only the result.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.terminal import AsJson, Home, examples
from hermes.lazy import lazy
from hermes.message.channel_name import channel_name

if TYPE_CHECKING:
    from hermes.cli.channels_setup import add as add_platform
else:
    add_platform = lazy("hermes.cli.channels_setup:add")

EPILOG = examples(
    "hermes channels add telegram",
    "TELEGRAM_BOT_TOKEN=123:abc hermes channels add telegram --set mode=poll --json",
    "hermes channels add telegram --account sales",
    "hermes channels add slack --set reply_in_thread=false --no-test",
    "hermes channels add webhook --set routes.ci.scheme=github --set routes.ci.deliver=local",
)

Platform = Annotated[
    str, typer.Argument(metavar="PLATFORM", help="The platform, such as telegram.")
]


def command(
    platform: Platform,
    *,
    account: Annotated[
        str,
        typer.Option(
            "--account",
            metavar="NAME",
            help="Add one more bot on the platform under this name; it is called PLATFORM/NAME.",
            show_default=False,
        ),
    ] = "",
    home: Home = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SETTING=VALUE",
            help="A setting of the platform, or TABLE.ROW.SETTING in a table; it is then not asked "
            "for. May be repeated.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        bool,
        typer.Option(
            "--test/--no-test", help="Connect to the platform before anything is written."
        ),
    ] = True,
    register: Annotated[
        bool | None,
        typer.Option(
            "--register/--no-register",
            help="Register on the platform what it needs, such as the list of commands. By default a "
            "terminal is asked, and a script does not register.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set up a platform: ask for its settings, connect to it once, write .env and config.yaml.

    Without a terminal nothing is asked: options, the environment and existing settings decide.
    """
    given = dict(map(_pair, chosen or ()))
    asks = sys.stdin.isatty() and not as_json
    name = channel_name(platform, account)
    add_platform(name, home, given=given, test=test, wanted=register, asks=asks, as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # What stands behind it may be a secret.
        raise typer.BadParameter("--set: expected SETTING=VALUE, such as --set mode=poll")
    return name.strip(), value

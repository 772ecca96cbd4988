"""`hermes channels try PLATFORM`: a stand-in platform with a page to type in; needs no account.

It is only for tests and trials and not part of the gateway, so it runs as its own program.
"""

import subprocess
import sys
from enum import StrEnum
from importlib import resources
from typing import Annotated

import typer

from hermes.cli.environment import home_for, settings_for
from hermes.cli.model_offers import ask_here
from hermes.cli.terminal import Home, examples
from hermes.control.models import route_report
from hermes.errors import NotFound
from hermes.plugins.manifest import manifests_in
from hermes.routing.plan import CallNeeds
from hermes.similar_words import did_you_mean

EPILOG = examples(
    "hermes channels try telegram",
    "hermes channels try slack --model demo",
    "hermes channels try matrix --model echo --port 9000",
)
_PROGRAM = "hermes.testing.try_page"


class TryModel(StrEnum):
    """Which model answers."""

    DEMO = "demo"
    CONFIGURED = "configured"
    ECHO = "echo"


def command(
    platform: Annotated[
        str, typer.Argument(metavar="PLATFORM", help="The platform, such as telegram.")
    ],
    *,
    home: Home = None,
    model: Annotated[
        TryModel | None,
        typer.Option(
            help="Which model answers: the built-in demonstration model, the models configured in the "
            "home, or an echo. By default the configured ones, or an echo if there are none.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port of the page; 0 picks a free one.")
    ] = 0,
) -> None:
    """Try a platform without an account: a stand-in, its own gateway, and a page to type in.

    Everything runs on this machine and ends with Ctrl-C; nothing is kept.
    """
    _check(platform)
    chosen = _model_of(home, model)
    program = [sys.executable, "-m", _PROGRAM, platform]
    program += ["--model", chosen.value, "--port", str(port)]
    if chosen is TryModel.CONFIGURED:
        program += ["--models-of", str(home_for(home))]
    # Its input ends with this process, however that ends, and so it does, too.
    process = subprocess.Popen([*program, "--with-stdin"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    while True:
        try:
            raise typer.Exit(process.wait())
        except KeyboardInterrupt:
            process.stdin.close()


def _check(platform: str) -> None:
    """Raise `NotFound` if a platform has no stand-in; the error lists those that have one."""
    programs = resources.files("hermes") / "testing"
    found = {**manifests_in("hermes.channels"), **manifests_in("hermes.contrib")}
    # Platforms of one package have one program, which is told which of them it is.
    known = sorted(
        name
        for name, one in found.items()
        if (programs / one.package.rpartition(".")[2] / "__main__.py").is_file()
    )
    if platform in known:
        return
    guess = did_you_mean(platform, known)
    raise NotFound(
        f"there is no platform {platform[:40]!r} to try{guess}: expected one of {', '.join(known)}"
    )


def _model_of(home: Home, asked: TryModel | None) -> TryModel:
    """Return which model answers, and print it: by default the home's own models, or an echo."""
    if asked in (TryModel.DEMO, TryModel.ECHO):
        return asked
    loaded = settings_for(home)
    offers = ask_here(loaded)
    demonstrations = {offer.info.name for offer in offers if offer.info.demonstration}
    candidates = route_report(CallNeeds(), offers, settings=loaded.settings).candidates
    first = candidates[0] if candidates else None
    if first is not None and first.provider not in demonstrations:
        typer.echo(f"{first.provider}:{first.model} answers.", err=True)
        return TryModel.CONFIGURED
    if asked is TryModel.CONFIGURED:
        who = "nobody" if first is None else "the built-in demonstration model"
        typer.echo(f"No model is configured: {who} answers.", err=True)
        return TryModel.CONFIGURED
    typer.echo(
        "An echo answers: no model is configured. The built-in demonstration model answers with "
        "--model demo.",
        err=True,
    )
    return TryModel.ECHO

"""The work of `hermes channels add`: steps, questions, connection test, files.

Imported by name only when used, because it imports the whole composition root. Secrets that were
typed or found are never printed; a secret that was generated here is printed once.
"""

import asyncio
import logging
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import structlog
import typer
from rich.text import Text

from hermes.app.channel_test import (
    ConnectionResult,
    PlatformPackage,
    look_up,
    suggest,
    try_channel,
)
from hermes.cli.channels_prove import proven, registered, scanned
from hermes.cli.channels_questions import ask_all
from hermes.cli.channels_sheet import ChannelSheet
from hermes.cli.environment import environment, home_for
from hermes.cli.init_questions import confirm
from hermes.cli.terminal import Home, clean, console, error_console, print_json
from hermes.config import Settings, ensure_home, load
from hermes.config.change import locked_files
from hermes.config.files import YAML
from hermes.config.first_files import file_text, replace_file
from hermes.config.keys import dotted
from hermes.config.layers import DOTENV
from hermes.config.platform_files import Place, platform_variables, write_platform
from hermes.config.section import ACCOUNT_MEANING, ACCOUNT_PATTERN, OWN_ACCOUNT
from hermes.errors import Refused
from hermes.message.channel_name import account_of, platform_of
from hermes.ops.instance import find_running
from hermes.plugins.manifest import Manifest
from hermes.ports.clock import SystemClock

_DEBUG = "HERMES_DEBUG"
# How often a terminal is asked again for what the platform did not take.
_AGAIN = 3


class Answers(msgspec.Struct, frozen=True):
    """The settings to write: secrets for `.env`, everything else for `config.yaml`.

    `made` holds the secrets that were generated here.
    """

    secrets: dict[Place, str]
    settings: dict[Place, Any]
    made: dict[Place, str]
    variables: dict[Place, str]
    plugin: str | None = None


def add(
    name: str,
    home: Home,
    *,
    given: Mapping[str, str],
    test: bool,
    wanted: bool | None,
    asks: bool,
    as_json: bool,
) -> None:
    """Set up a channel and report what was written."""
    account = account_of(name)
    if account and (re.fullmatch(ACCOUNT_PATTERN, account) is None or account == OWN_ACCOUNT):
        raise typer.BadParameter(f"--account {account[:64]!r}: expected {ACCOUNT_MEANING}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    folder = ensure_home(home_for(home))
    loaded = load(_environ(), folder)
    found = look_up(platform_of(name), loaded.settings, home=folder)
    sheet = ChannelSheet(found.manifest, loaded, given=given, channel=name)
    if asks:
        _explain(found.manifest)
        scanned(sheet, loaded.settings)
    answers, settings, checked = _settled(name, found, sheet, folder=folder, test=test, asks=asks)
    with locked_files(folder):
        files = _write(folder, name, answers)
    done = registered(name, settings, folder, wanted=wanted, asks=asks) if test or wanted else ()
    report = {
        "platform": name,
        "files": [str(path) for path in files],
        "set": sorted(map(dotted, (*answers.secrets, *answers.settings))),
        "made": {dotted(place): secret for place, secret in answers.made.items()},
        "proven": checked.get("proven"),
        "tested": checked.get("tested"),
        "registered": msgspec.to_builtins(done),
        "restart_needed": find_running(folder) is not None,
    }
    if as_json:
        print_json(report)
    else:
        _print(report, files, answers.made)


def _settled(
    name: str, found: PlatformPackage, sheet: ChannelSheet, *, folder: Path, test: bool, asks: bool
) -> tuple[Answers, Settings, dict[str, object]]:
    """Return what is to be written, and how the platform took it; a terminal may correct it."""
    again = _AGAIN if asks else 0
    while True:
        answers = _gather(found, sheet, asks=asks)
        settings = _drafted(name, answers, folder)
        if not test:
            return answers, settings, {}
        checked, problem = _checked(name, settings, folder, asks=asks)
        if not problem:
            return answers, settings, checked
        if not asks:
            raise Refused(f"{problem} Nothing was written; correct it, or add --no-test.")
        error_console().print(Text(clean(problem)))
        if again and sheet.can_ask_again() and confirm("Enter it again?", default=True):
            again -= 1
            sheet.ask_again()
        elif confirm("Keep the settings anyway?", default=False):
            return answers, settings, checked
        else:
            raise Refused("Nothing was written.")


def _checked(
    name: str, settings: Settings, folder: Path, *, asks: bool
) -> tuple[dict[str, object], str]:
    """Ask whose the credential is, then connect with it once; return what is wrong, too."""
    proof = proven(name, settings, folder, asks=asks)
    told = {"proven": None if proof is None else msgspec.to_builtins(proof)}
    if proof is not None and proof.problem is not None:
        return told, f"{name} cannot be used: {proof.problem.rstrip('.')}."
    tried = _tested(name, settings, folder)
    problem = "" if tried.problem is None else tried.problem.rstrip(".")
    told["tested"] = msgspec.to_builtins(tried)
    return told, problem and f"{name} cannot be connected: {problem}."


def _environ(hidden: Collection[str] = ()) -> dict[str, str]:
    """Return the environment without the variables that are being replaced."""
    without = {_DEBUG, *hidden}
    return {name: text for name, text in environment().items() if name not in without}


def _explain(manifest: Manifest) -> None:
    out = error_console()
    out.print(f"Setting up {manifest.emoji} {manifest.label}".replace("  ", " "), style="bold")
    for number, step in enumerate(manifest.setup.steps, start=1):
        out.print(Text(f"{number}. {step}"))
    if manifest.needs:
        out.print(Text(manifest.needs))


def _gather(found: PlatformPackage, sheet: ChannelSheet, *, asks: bool) -> Answers:
    """Return the given and asked settings; raises if one is still missing."""
    if asks:
        ask_all(
            sheet,
            lambda setting: asyncio.run(suggest(found, setting, table=sheet.table(whole=False))),
        )
    sheet.complete()
    sheet.table()
    secrets = sheet.secrets()
    variables = {place: sheet.variable(place) for place in secrets}
    return Answers(secrets, sheet.plain(), sheet.made, variables, found.plugin)


def _tested(name: str, settings: Settings, folder: Path) -> ConnectionResult:
    """Connect with the settings to be written."""
    out = error_console()
    with out.status(f"Connecting to {name} ..."):
        tried = asyncio.run(try_channel(name, settings, home=folder, clock=SystemClock()))
    if tried.problem is None:
        out.print(f"{name} is connected, after {tried.seconds:.1f} s.")
    return tried


def _drafted(name: str, answers: Answers, folder: Path) -> Settings:
    """Return the settings as they will be once the files are written."""
    with TemporaryDirectory(prefix="hermes-add-") as made:
        draft = Path(made)
        for file in (YAML, DOTENV):
            if (folder / file).exists():
                replace_file(draft / file, file_text(folder / file))
        _write(draft, name, answers)
        # What was given is what is tested, whatever the environment holds.
        given = (*answers.secrets, *answers.settings)
        hidden = {one for place in given for one in platform_variables(name, *place)}
        hidden |= set(answers.variables.values())
        return load(_environ(hidden), draft).settings


def _write(folder: Path, name: str, answers: Answers) -> list[Path]:
    return write_platform(
        folder,
        name,
        secrets=answers.secrets,
        settings=answers.settings,
        plugin=answers.plugin,
        variables=answers.variables,
    )


def _print(report: Mapping[str, object], files: list[Path], made: Mapping[Place, str]) -> None:
    out = console()
    for place, secret in made.items():
        told = f"{dotted(place)} was generated; it is shown only this once: {secret}"
        out.print(told, markup=False, highlight=False, soft_wrap=True)
    for path in files:
        out.print(f"kept  {path}" if ".old" in path.name else f"wrote {path}", markup=False)
    restart = "hermes stop && hermes up" if report["restart_needed"] else "hermes up"
    out.print(f"Next: `{restart}`; then `hermes channels list` shows its state.")

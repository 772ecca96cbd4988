"""What `hermes init` does with the answers: tests the key, asks before replacing, writes.

Imported by name only when used.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hermes.cli.environment import environment, home_for
from hermes.cli.failure import INTERRUPTED
from hermes.cli.init_questions import InitAnswers, ask_all, ask_key, confirm
from hermes.cli.picker import pick
from hermes.cli.terminal import Home, clean, console, error_console, print_json
from hermes.config import ensure_home
from hermes.config.change import locked_files
from hermes.config.entries import EMBEDDER, PROVIDERS
from hermes.config.first_files import (
    ExistingFiles,
    FirstChoices,
    existing,
    secret_variable,
    write_files,
)
from hermes.config.home import check_home
from hermes.errors import Conflict, HermesError, Refused
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.cli.channels_setup import add as add_platform
    from hermes.cli.init_alone import models_of, platform_names, try_key
else:
    add_platform = lazy("hermes.cli.channels_setup:add")
    models_of = lazy("hermes.cli.init_alone:models_of")
    platform_names = lazy("hermes.cli.init_alone:platform_names")
    try_key = lazy("hermes.cli.init_alone:try_key")

_NO_PLATFORM = "none"
_NO_WORDS = frozenset({"n", "no"})
_SHOWN = [name for name in PROVIDERS if name != EMBEDDER]


# Any: the options as the command line has read them, by name.
def set_up(
    given: Mapping[str, Any], home: Home, *, test: bool, yes: bool, force: bool, as_json: bool
) -> None:
    """Set up a home and report what was written."""
    report = _set_up(InitAnswers(**given), home, test=test, yes=yes, force=force)
    if as_json:
        print_json(report)
        return
    _print(report)
    if not yes:
        _offer_more(home_for(home))


def _offer_more(folder: Path) -> None:
    """Offer a chat platform, and to start; what is written already stays, whatever happens here."""
    platform = pick(
        "Add a chat platform now? Its number or name",
        platform_names(),
        default=_NO_PLATFORM,
        unlisted=_no_platform,
        declines=_NO_WORDS,
    )
    if platform != _NO_PLATFORM:
        _add_platform(platform, folder)
    if find_running(folder) is None and confirm("Start Hermes now?", default=True):
        sys.stdout.flush()
        command = (sys.executable, "-m", "hermes", "up", "--home", str(folder))
        os.execv(sys.executable, command)


def _no_platform(name: str) -> str | None:
    error_console().print(f"There is no platform {name[:40]!r}.", markup=False)
    return None


def _add_platform(platform: str, folder: Path) -> None:
    try:
        add_platform(platform, folder, given={}, test=True, wanted=None, asks=True, as_json=False)
    except HermesError as error:
        again = f"`hermes channels add {platform}` asks again."
        error_console().print(Text(clean(f"{error} {again}")))


def _set_up(
    given: InitAnswers, home: Home, *, test: bool, yes: bool, force: bool
) -> dict[str, object]:
    folder = check_home(home_for(home))
    if yes and not force and (folder / "config.yaml").exists():
        raise Conflict(
            f"{folder / 'config.yaml'} exists already, so nothing was changed. Add --force to "
            "replace it and keep the old file beside it, or leave out --yes to be asked."
        )
    with _stopping():
        choices, api_key = ask_all(
            given,
            environment(),
            yes=yes,
            known=_SHOWN,
            list_models=lambda choices, key: _offered_models(home, choices, key),
        )
        tried: dict[str, object] | None = None
        if test and choices.provider != "local":
            choices, api_key, tried = _tested(home, choices, api_key=api_key, yes=yes)
        found = existing(folder, provider=choices.provider, api_key=api_key)
        if not force and not _may_replace(found, yes=yes, provider=choices.provider):
            raise Refused("Nothing was written.")
    home_folder = ensure_home(folder)
    with _finishing(), locked_files(home_folder):
        files = write_files(home_folder, choices, api_key=api_key)
    return {
        "home": str(folder),
        "files": [str(path) for path in files],
        "provider": choices.provider,
        "model": choices.model,
        "tested": tried,
        "restart_needed": find_running(folder) is not None,
    }


@contextmanager
def _stopping() -> Iterator[None]:
    """Say on Ctrl-C that nothing was written, as long as that is so."""
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):
        error_console().print("\nStopped. Nothing was written.")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _finishing() -> Iterator[None]:
    """Let Ctrl-C wait until both files are written: one alone would be half a home."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _offered_models(home: Home, choices: FirstChoices, api_key: str | None) -> tuple[str, ...]:
    """Return the models that the service lists; none, with the reason, if it does not."""
    out = error_console()
    try:
        with out.status(f"Asking {choices.provider} for its models ..."):
            return models_of(home, choices, api_key)
    except HermesError as error:
        out.print(Text(clean(f"{choices.provider} does not list its models: {error}")))
        return ()


def _tested(
    home: Home, choices: FirstChoices, *, api_key: str | None, yes: bool
) -> tuple[FirstChoices, str | None, dict[str, object]]:
    """Call the service with the key until it answers, or until the person keeps the key anyway."""
    while True:
        out = error_console()
        with out.status(f"Asking {choices.provider} for one word ..."):
            tried = try_key(home, choices, api_key)
        problem = tried["problem"]
        if problem is None:
            out.print(f"{choices.provider} answered after {tried['seconds']:.1f} s.")
            return choices, api_key, tried
        said = f"{choices.provider} did not answer: {problem}"
        if yes:
            raise Refused(
                f"{said.rstrip('.')}. Nothing was written; correct the key, the address or the model, or add "
                "--no-test."
            )
        out.print(Text(clean(said)))
        if confirm("Try another key?", default=True):
            api_key = ask_key() or None
        elif confirm("Keep the settings anyway?", default=False):
            return choices, api_key, tried
        else:
            raise Refused("Nothing was written.")


def _may_replace(found: ExistingFiles, *, yes: bool, provider: str) -> bool:
    """Ask before replacing an operator's file or key."""
    if yes and found.key:
        raise Conflict(
            f".env holds another {secret_variable(provider)}, so nothing was changed. Add --force "
            "to replace it and keep the old file beside it."
        )
    asked = []
    if found.config:
        asked.append("config.yaml exists already. Replace it (the old file is kept beside it)?")
    if found.key:
        asked.append(f".env holds another {secret_variable(provider)}. Replace it?")
    return all(confirm(question, default=False) for question in asked)


def _print(report: dict[str, object]) -> None:
    out = console()
    files = report["files"]
    assert isinstance(files, list)
    for path in files:
        out.print(f"wrote {path}" if ".old" not in path else f"kept  {path}", markup=False)
    restart = "hermes stop && hermes up" if report["restart_needed"] else "hermes up"
    out.print(f"Next: `{restart}` starts the gateway, `hermes doctor` checks it.")

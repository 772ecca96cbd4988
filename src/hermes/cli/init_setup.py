"""What `hermes init` does with the answers: tests the key, asks before replacing, writes.

Imported by name only when used.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hermes.cli.environment import environment, home_for
from hermes.cli.init_questions import InitAnswers, ask_all, ask_key, confirm
from hermes.cli.terminal import Home, clean, console, error_console, print_json
from hermes.config import ensure_home
from hermes.config.entries import EMBEDDER, PROVIDERS
from hermes.config.first_files import (
    ExistingFiles,
    FirstChoices,
    existing,
    secret_variable,
    write_files,
)
from hermes.errors import Conflict, Refused
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.cli.init_alone import try_key
else:
    try_key = lazy("hermes.cli.init_alone:try_key")

_SHOWN = [name for name in PROVIDERS if name != EMBEDDER]


# Any: the options as the command line has read them, by name.
def set_up(
    given: Mapping[str, Any], home: Home, *, test: bool, yes: bool, force: bool, as_json: bool
) -> None:
    """Set up a home and report what was written."""
    report = _set_up(InitAnswers(**given), home, test=test, yes=yes, force=force)
    if as_json:
        print_json(report)
    else:
        _print(report)


def _set_up(
    given: InitAnswers, home: Home, *, test: bool, yes: bool, force: bool
) -> dict[str, object]:
    folder = ensure_home(home_for(home))
    if yes and not force and (folder / "config.yaml").exists():
        raise Conflict(
            f"{folder / 'config.yaml'} exists already, so nothing was changed. Add --force to "
            "replace it and keep the old file beside it, or leave out --yes to be asked."
        )
    choices, api_key = ask_all(given, environment(), yes=yes, known=_SHOWN)
    tried: dict[str, object] | None = None
    if test and choices.provider != "local":
        choices, api_key, tried = _tested(home, choices, api_key=api_key, yes=yes)
    found = existing(folder, provider=choices.provider, api_key=api_key)
    if not force and not _may_replace(found, yes=yes, provider=choices.provider):
        raise Refused("Nothing was written.")
    files = write_files(folder, choices, api_key=api_key)
    return {
        "home": str(folder),
        "files": [str(path) for path in files],
        "provider": choices.provider,
        "model": choices.model,
        "tested": tried,
        "restart_needed": find_running(folder) is not None,
    }


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

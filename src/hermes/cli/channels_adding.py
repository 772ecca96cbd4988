"""What `hermes channels add` does: the steps, the questions, the test, the files.

Loaded by name only when it is used: it brings the whole composition root with it. No secret is ever
printed, neither asked for nor found.
"""

import asyncio
import logging
from collections.abc import Mapping
from getpass import getpass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import structlog
import typer
from rich.text import Text

from hermes.app.channel_test import Connected, look_up, try_channel
from hermes.cli.init_asking import confirm
from hermes.cli.surroundings import environment, home_for
from hermes.cli.terminal import Home, clean, console, error_console, print_json
from hermes.config import Settings, ensure_home, load
from hermes.config.files import YAML
from hermes.config.first_files import file_text, replace_file
from hermes.config.layers import DOTENV
from hermes.config.platform_files import platform_variable, write_platform
from hermes.errors import Refused
from hermes.ops.instance import find_running
from hermes.plugins.manifest import Manifest, Setting, read_settings
from hermes.ports.clock import SystemClock

_DEBUG = "HERMES_DEBUG"


class Answers(msgspec.Struct, frozen=True):
    """What is to be written: secrets for `.env`, everything else for `config.yaml`."""

    secrets: dict[str, str] = {}
    settings: dict[str, Any] = {}
    plugin: str | None = None


def add(
    name: str, home: Home, *, given: Mapping[str, str], test: bool, asks: bool, as_json: bool
) -> None:
    """Set a platform up and tell what was written."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    folder = ensure_home(home_for(home))
    settings = load(_environ(), folder).settings
    found = look_up(name, settings, home=folder)
    manifest = found.manifest
    _check_names(manifest, given)
    if asks:
        _explain(manifest)
    answers = _gather(manifest, settings, given=given, asks=asks)
    answers = msgspec.structs.replace(answers, plugin=found.plugin)
    tried = _tested(name, answers, folder, asks=asks) if test else None
    files = _write(folder, name, answers)
    report = {
        "platform": name,
        "files": [str(path) for path in files],
        "set": sorted((*answers.secrets, *answers.settings)),
        "tested": tried,
        "restart_needed": find_running(folder) is not None,
    }
    if as_json:
        print_json(report)
    else:
        _print(report, files)


def _environ(hidden: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment, without what is being replaced."""
    without = {_DEBUG, *(hidden or {})}
    return {name: text for name, text in environment().items() if name not in without}


def _check_names(manifest: Manifest, given: Mapping[str, str]) -> None:
    unknown = sorted(set(given) - set(manifest.settings))
    if unknown:
        known = ", ".join(sorted(manifest.settings))
        raise typer.BadParameter(
            f"--set {unknown[0]}: {manifest.label} has no such setting; known: {known}"
        )


def _explain(manifest: Manifest) -> None:
    out = error_console()
    out.print(f"Setting up {manifest.emoji} {manifest.label}".replace("  ", " "), style="bold")
    for number, step in enumerate(manifest.setup, start=1):
        out.print(Text(f"{number}. {step}"))
    if manifest.needs:
        out.print(Text(manifest.needs))


def _gather(
    manifest: Manifest, settings: Settings, *, given: Mapping[str, str], asks: bool
) -> Answers:
    """Return what was given and asked for; raises for what is still missing."""
    known = settings.platforms.get(manifest.name)
    present = {} if known is None else {k: v for k, v in known.extra.items() if v not in (None, "")}
    answers: dict[str, str] = dict(given)
    for name, setting in manifest.settings.items():
        if name in answers:
            continue
        if asks and (setting.required or setting.type == "secret" or setting.choices):
            answer = _ask(name, setting, is_there=name in present)
            answers.update({name: answer} if answer else {})
        elif setting.required and name not in present:
            variable = platform_variable(manifest.name, name)
            hint = f"set {variable} in the environment" if setting.type == "secret" else ""
            raise typer.BadParameter(
                f"{name} is missing: {setting.help} Add --set {name}=VALUE"
                + (f", or {hint}" if hint else "")
            )
    found = _from_environment(manifest, without=answers)
    table = {**present, **found, **answers}
    checked = read_settings(manifest, {k: v for k, v in table.items() if k in manifest.settings})
    chosen = {**found, **answers}
    return Answers(
        {name: text for name, text in chosen.items() if _is_secret(manifest, name)},
        {name: _plain(checked[name]) for name in answers if not _is_secret(manifest, name)},
    )


def _is_secret(manifest: Manifest, name: str) -> bool:
    return manifest.settings[name].type == "secret"


def _from_environment(manifest: Manifest, *, without: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of the environment: the gateway may start without it."""
    environ = environment()
    names = {
        name: environ.get(platform_variable(manifest.name, name), "")
        for name in manifest.settings
        if name not in without and _is_secret(manifest, name)
    }
    return {name: text for name, text in names.items() if text}


# Any: a setting as it was read, and as YAML writes it.
def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _ask(name: str, setting: Setting, *, is_there: bool) -> str:
    """Ask for one setting; nothing is what Enter says where it may stay as it is."""
    out = error_console()
    out.print(Text(f"\n{setting.help}"))
    if setting.example:
        out.print(Text(f"Such as {setting.example}", style="dim"))
    may_skip = is_there or not setting.required
    note = " (Enter keeps what is set)" if is_there else " (Enter for none)" if may_skip else ""
    while True:
        if setting.type == "secret":
            # typer would write the question before it hides what is typed.
            answer = getpass(f"{name}{note}: ").strip()
        else:
            answer = _ask_openly(name, setting, note=note, is_there=is_there)
        if answer or may_skip:
            return answer
        out.print("Please write something.")


def _ask_openly(name: str, setting: Setting, *, note: str, is_there: bool) -> str:
    default = "" if is_there or setting.default is None else str(setting.default)
    choices = f" [{'/'.join(setting.choices)}]" if setting.choices else ""
    question = f"{name}{choices}{'' if default else note}"
    while True:
        answer = str(typer.prompt(question, default=default, err=True, show_default=bool(default)))
        answer = answer.strip()
        if answer in ("", *setting.choices) or not setting.choices:
            return answer
        error_console().print(f"Please write one of {', '.join(setting.choices)}.")


def _tested(name: str, answers: Answers, folder: Path, *, asks: bool) -> dict[str, object]:
    """Connect as the files, once written, would; raises unless it stood or is kept all the same."""
    out = error_console()
    with out.status(f"Connecting to {name} ..."):
        tried = _try(name, answers, folder)
    if tried.problem is None:
        out.print(f"{name} is connected, after {tried.seconds:.1f} s.")
        return dict(msgspec.to_builtins(tried))
    said = f"{name} cannot be connected: {tried.problem.rstrip('.')}."
    if not asks:
        raise Refused(f"{said} Nothing was written; correct it, or add --no-test.")
    out.print(Text(clean(said)))
    if not confirm("Keep it all the same?", default=False):
        raise Refused("Nothing was written.")
    return dict(msgspec.to_builtins(tried))


def _try(name: str, answers: Answers, folder: Path) -> Connected:
    with TemporaryDirectory(prefix="hermes-add-") as made:
        draft = Path(made)
        for file in (YAML, DOTENV):
            if (folder / file).exists():
                replace_file(draft / file, file_text(folder / file))
        _write(draft, name, answers)
        # What was given is what is tested, whatever the environment holds.
        hidden = {platform_variable(name, one): "" for one in answers.secrets}
        settings = load(_environ(hidden), draft).settings
    return asyncio.run(try_channel(name, settings, home=folder, clock=SystemClock()))


def _write(folder: Path, name: str, answers: Answers) -> list[Path]:
    return write_platform(
        folder,
        name,
        secrets=answers.secrets,
        settings=answers.settings,
        plugin=answers.plugin,
    )


def _print(report: Mapping[str, object], files: list[Path]) -> None:
    out = console()
    for path in files:
        out.print(f"kept  {path}" if ".old" in path.name else f"wrote {path}", markup=False)
    restart = "hermes stop && hermes up" if report["restart_needed"] else "hermes up"
    out.print(f"Next: `{restart}`; `hermes channels list` tells how it stands.")

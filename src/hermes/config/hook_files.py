"""Reads the folder `hooks/` of a home: one folder for each hook, with HOOK.yaml and handler.py.

Part of config; it never runs the code of a hook. What is wrong becomes a finding.
"""

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hermes.config.findings import Finding
from hermes.config.section import NAME_MEANING, NAME_PATTERN
from hermes.ports.hooks import problem_of

FOLDER = "hooks"
FILE = "HOOK.yaml"
HANDLER = "handler.py"
_NAME = re.compile(NAME_PATTERN)
_LONGEST_S = 3600
_SHAPE = "see docs/hooks.md for what it may hold"


class HookText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of HOOK.yaml; `timeout` is in seconds."""

    events: tuple[str, ...]
    name: str | None = None
    description: str = ""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=_LONGEST_S)] | None = None
    decides: bool = False
    text: bool = False


class HookFile(msgspec.Struct, frozen=True):
    """One hook on disk: its name, where its code is, and the content of its HOOK.yaml."""

    name: str
    handler: Path
    said: HookText


class _Wrong(Exception):
    """A hook that cannot be used; its two arguments are the problem and what to do."""


def read_hook_files(home: Path) -> tuple[tuple[HookFile, ...], list[Finding]]:
    """Return the hooks of a home by name, and what is wrong with the others."""
    found: list[HookFile] = []
    problems: list[Finding] = []
    for folder in _folders(home / FOLDER):
        place = f"{FOLDER}/{folder.name}/{FILE}"
        try:
            found.append(_read(folder))
        except _Wrong as wrong:
            problem, fix = wrong.args
            problems.append(Finding(place, "", f"{place}: {problem}", fix))
    return tuple(found), problems


def _folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [one for one in inside if one.is_dir() and one.name[0] not in "._"]


def _read(folder: Path) -> HookFile:
    if _NAME.fullmatch(folder.name) is None:
        raise _Wrong(f"the folder is named {folder.name!r}, expected {NAME_MEANING}", "rename it")
    try:
        said = msgspec.convert(_parse(folder / FILE), HookText)
    except msgspec.ValidationError as error:
        raise _Wrong(_plain(error), _SHAPE) from None
    if said.name not in (None, folder.name):
        raise _Wrong(
            f"name is {said.name!r}, expected {folder.name!r}, as the folder is named",
            "remove name, or rename the folder",
        )
    problem = problem_of(said.events, decides=said.decides)
    if problem is not None:
        raise _Wrong(*problem)
    if not (folder / HANDLER).is_file():
        raise _Wrong(
            f"there is no {HANDLER} beside it",
            "write one with async def handle(event_type, context)",
        )
    return HookFile(folder.name, folder / HANDLER, said)


# Any: a file's values can be anything until they are converted.
def _parse(path: Path) -> Any:
    # A third-party package, imported on use only: most homes have no hooks.
    import yaml  # noqa: PLC0415

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        raise _Wrong(
            f"the file cannot be read ({why})", "write one, or remove the folder"
        ) from None
    try:
        tree = yaml.safe_load(text)
    except yaml.MarkedYAMLError as fault:
        line = "?" if fault.problem_mark is None else fault.problem_mark.line + 1
        raise _Wrong(f"line {line} is not YAML: {fault.problem}", "correct it") from None
    except yaml.YAMLError:
        raise _Wrong("it is not YAML", "correct it") from None
    if not isinstance(tree, dict):
        raise _Wrong("it is not a table of keys and values", _SHAPE)
    return tree


def _plain(error: msgspec.ValidationError) -> str:
    """Return the error with the key in front, where it names one."""
    text, _, place = str(error).partition(" - at `$.")
    return f"{place.rstrip('`')}: {text}" if place else text

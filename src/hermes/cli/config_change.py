"""`hermes config set|edit|check|schema`: changes and checks `config.yaml` and the files beside it.

They work on the files, so with and without a running gateway; that takes a change over by a reload
or a restart, and the commands say which.
"""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from hermes.cli.environment import environment, home_for
from hermes.cli.failure import DEBUG, FAILED
from hermes.cli.init_questions import confirm
from hermes.cli.platform_keys import check_platform_keys
from hermes.cli.terminal import AsJson, Home, clean, console, error_console, examples, print_json
from hermes.config import ensure_home
from hermes.config.change import (
    ConfigDraft,
    draft_of,
    draft_with,
    draft_without,
    key_of_name,
    locked_files,
    read_value,
    value_in_file,
    write_draft,
)
from hermes.config.files import LEGACY, YAML
from hermes.config.findings import Finding, masked, printed
from hermes.config.first_files import file_text
from hermes.config.json_schema import put_schema, shipped_schema
from hermes.config.keys import dotted, node_at
from hermes.config.layers import DOTENV, ENVIRONMENT
from hermes.config.load import ConfigExamination, examine
from hermes.config.settings import Key
from hermes.config.yaml_edit import line_of
from hermes.control.reload import is_reloadable
from hermes.durable_file import write_durably
from hermes.errors import ConfigurationError, Conflict, Refused
from hermes.ops.instance import find_running

SET_EPILOG = examples(
    "hermes config set server.port 8090",
    'hermes config set agents.main.name "Iris"',
    "hermes config set access.platforms.telegram.allow_from 4711,4712",
    """hermes config set outbox.quick_delays_s '[1, 5, 30]'""",
    "hermes config set server.port --unset",
)
EDIT_EPILOG = examples("hermes config edit", "EDITOR=nano hermes config edit")
CHECK_EPILOG = examples("hermes config check", "hermes config check --json")
SCHEMA_EPILOG = examples("hermes config schema > config.schema.json")
_EDITORS = ("VISUAL", "EDITOR")
_USUAL_EDITORS = ("editor", "nano", "vim", "vi")
_LOST_DRAFT = f"{YAML}.draft"
_RESTART = "`hermes stop && hermes up`"
_ELSEWHERE = (ENVIRONMENT, DOTENV, LEGACY)


class ConfigLine(msgspec.Struct, frozen=True, kw_only=True):
    """One problem or warning; `line` is its line in config.yaml, if it comes from there."""

    key: str
    value: str
    line: int | None
    problem: str
    fix: str


class ConfigReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a configuration, and what is only surprising."""

    file: str
    problems: tuple[ConfigLine, ...]
    warnings: tuple[ConfigLine, ...]


class ConfigSetReport(msgspec.Struct, frozen=True, kw_only=True):
    """A value that was written; `next` says what makes the gateway use it.

    Secrets are masked. `hidden_by` is what also sets the key and takes precedence, `problems` were there before.
    """

    key: str
    value: object
    before: object
    file: str
    changed: bool
    next: str
    hidden_by: str | None
    problems: tuple[ConfigLine, ...]


def set_setting(
    setting: Annotated[
        str, typer.Argument(metavar="SETTING", help="The setting, such as server.port.")
    ],
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE",
            help="Its value; lists are separated by commas, tables and lists may be JSON.",
            show_default=False,
        ),
    ] = None,
    *,
    unset: Annotated[
        bool, typer.Option("--unset", help="Remove it from the file, so that its default applies.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change one setting in config.yaml; comments and every other line stay as they are.

    The whole configuration is checked first; a wrong value is not written.
    """
    if unset == (value is not None):
        raise typer.BadParameter("give a value, or --unset, and not both")
    folder, named = ensure_home(home_for(home)), key_of_name(setting)
    with locked_files(folder):
        draft = _drafted(folder, named, value)
        before = value_in_file(folder, named)
        if draft.new_problems:
            raise ConfigurationError(_refusal(draft))
        if value is not None and draft.found.loaded is not None:
            settings = draft.found.loaded.settings
            check_platform_keys(named, read_value(named, value), settings, home=folder)
        if draft.is_changed:
            write_draft(draft)
    report = _set_report(folder, named, draft, before=before)
    print_json(report) if as_json else _print_set(report, named, is_unset=unset)


def _drafted(folder: Path, key: Key, text: str | None) -> ConfigDraft:
    if text is None:
        return draft_without(_environ(), folder, key)
    return draft_with(_environ(), folder, key, value=read_value(key, text))


def _environ() -> dict[str, str]:
    return {name: text for name, text in environment().items() if name != DEBUG}


def _refusal(draft: ConfigDraft) -> str:
    lines = [str(problem) for problem in draft.new_problems]
    listed = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n- {line}" for line in lines)
    return f"Nothing was written, because the configuration would be invalid:{listed}"


def _set_report(folder: Path, key: Key, draft: ConfigDraft, *, before: object) -> ConfigSetReport:
    name, loaded = dotted(key), draft.found.loaded
    origin = None if loaded is None else loaded.origins.get(name)
    is_hidden = loaded is not None and loaded.layers.get(name) in _ELSEWHERE
    return ConfigSetReport(
        key=name,
        value=masked(key, value_in_file(folder, key)),
        before=masked(key, before),
        file=str(draft.path),
        changed=draft.is_changed,
        next=_next(folder, name, draft),
        hidden_by=origin if is_hidden else None,
        problems=_lines(draft.found.problems, draft.after),
    )


def _next(folder: Path, name: str, draft: ConfigDraft) -> str:
    """Return what makes the gateway use a change: nothing, start, reload or restart."""
    if not draft.is_changed:
        return "nothing"
    if find_running(folder) is None:
        return "start"
    channels = {} if draft.found.loaded is None else draft.found.loaded.settings.channels
    enabled = [one for one, chosen in channels.items() if chosen.enabled]
    return "reload" if is_reloadable(name, enabled) else "restart"


_NEXT = {
    "nothing": "It already had this value; nothing was changed.",
    "start": "It takes effect at the next `hermes up`.",
    "reload": "Next: `hermes reload` applies it.",
    "restart": f"Next: restart the gateway, for example with {_RESTART}.",
}


def _print_set(report: ConfigSetReport, key: Key, *, is_unset: bool) -> None:
    out = console()
    before = "not set" if report.before is None else printed(key, report.before)
    now = "not set any more" if is_unset else printed(key, report.value)
    if report.changed:
        said = f"{report.key} is {now} (was {before}) in {report.file}."
        out.print(Text(clean(said)), soft_wrap=True)
        if is_unset:
            out.print(Text(clean(_default(key))), soft_wrap=True)
    out.print(_NEXT[report.next])
    if report.hidden_by is not None:
        said = f"{report.hidden_by} also sets {report.key} and takes precedence; remove it there."
        error_console().print(Text(clean(said)), style="yellow", soft_wrap=True)
    if report.problems:
        said = "Other settings are wrong; `hermes config check` lists them."
        error_console().print(said, style="yellow")


def _default(key: Key) -> str:
    node = node_at(key)
    default = None if node is None or node.is_secret else node.default
    return f"The default is {printed(key, default)}." if default is not None else ""


def edit(*, home: Home = None) -> None:
    """Open config.yaml in your editor; the file is replaced only if the new one is valid.

    The editor is that of VISUAL or EDITOR.
    """
    folder = ensure_home(home_for(home))
    put_schema(folder)
    with TemporaryDirectory(prefix="hermes-edit-") as made:
        copy = Path(made) / YAML
        before = file_text(folder / YAML)
        write_durably(copy, before.encode())
        draft = replace(_edited(folder, copy), before=before)
    if not draft.is_changed:
        console().print("Nothing was changed.")
        return
    with locked_files(folder):
        _write_or_keep(folder, draft)
    console().print(f"wrote {folder / YAML}", markup=False)
    _print_warnings(draft.found, draft.after)
    is_running = find_running(folder) is not None
    console().print(
        "Next: `hermes reload` applies what it can, and names what needs a restart."
        if is_running
        else _NEXT["start"]
    )


def _edited(folder: Path, copy: Path) -> ConfigDraft:
    """Run the editor until the text is right or the person gives up; their text is kept then."""
    while True:
        _run_editor(copy)
        draft = draft_of(_environ(), folder, file_text(copy))
        if not draft.is_changed or not draft.found.problems:
            return draft
        _print_problems(_lines(draft.found.problems, draft.after), out=error_console())
        if sys.stdin.isatty() and confirm("Edit again?", default=True):
            continue
        raise Refused(f"{folder / YAML} is unchanged. {_keep(folder, draft)}")


def _write_or_keep(folder: Path, draft: ConfigDraft) -> None:
    try:
        write_draft(draft)
    except Conflict as error:
        raise Conflict(f"{error} {_keep(folder, draft)}") from None


def _keep(folder: Path, draft: ConfigDraft) -> str:
    kept = folder / _LOST_DRAFT
    write_durably(kept, draft.after.encode())
    return f"What you wrote is kept in {kept}."


def _run_editor(file: Path) -> None:
    editor = _editor(environment())
    try:
        with _leaving_ctrl_c():
            done = subprocess.run([*editor, str(file)], check=False)
    except OSError as error:
        raise ConfigurationError(
            f"The editor {editor[0]} cannot be started ({error.strerror}); set EDITOR to another one."
        ) from None
    if done.returncode:
        raise Refused(f"{editor[0]} ended with {done.returncode}; nothing was changed.")


@contextmanager
def _leaving_ctrl_c() -> Iterator[None]:
    """Leave Ctrl-C to the editor, as a program that starts one does."""
    # A handler that does nothing, and not SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _editor(environ: Mapping[str, str]) -> list[str]:
    named = next((environ[name] for name in _EDITORS if environ.get(name, "").strip()), None)
    if named is not None:
        return shlex.split(named)
    found = next((name for name in _USUAL_EDITORS if which(name)), None)
    if found is None:
        raise ConfigurationError(
            "There is no editor: set EDITOR to one, such as EDITOR=nano. `hermes config set` changes "
            "single settings without one."
        )
    return [found]


def check(*, home: Home = None, as_json: AsJson = False) -> None:
    """Check config.yaml, .env, gateway.json and the environment; exit code 1 if something is wrong.

    It lists each problem with its key, value and line, and how to fix it.
    """
    folder = home_for(home)
    found, text = examine(_environ(), folder), file_text(folder / YAML)
    report = ConfigReport(
        file=str(folder / YAML),
        problems=_lines(found.problems, text),
        warnings=_lines(found.warnings, text),
    )
    if as_json:
        print_json(report)
    else:
        _print_check(report, is_there=bool(text))
    if report.problems:
        raise typer.Exit(FAILED)


def _print_check(report: ConfigReport, *, is_there: bool) -> None:
    out = console()
    _print_problems(report.problems, out=out)
    _print_lines("warning", report.warnings, out=out)
    if not report.problems:
        where = report.file if is_there else f"{report.file} (there is no such file; `hermes init`)"
        out.print(Text(clean(f"The configuration is right: {where}")), soft_wrap=True)


def _print_problems(problems: Sequence[ConfigLine], *, out: Any) -> None:
    _print_lines("error", problems, out=out)
    if problems:
        count = len(problems)
        out.print(f"{count} problem{'' if count == 1 else 's'}.", style="red")


def _print_warnings(found: ConfigExamination, text: str) -> None:
    _print_lines("warning", _lines(found.warnings, text), out=error_console())


def _print_lines(kind: str, lines: Sequence[ConfigLine], *, out: Any) -> None:
    for one in lines:
        place = "" if one.line is None else f"line {one.line}: "
        out.print(Text(clean(f"{kind}: {place}{one.problem}; {one.fix}")), soft_wrap=True)


def _lines(findings: Sequence[Finding], text: str) -> tuple[ConfigLine, ...]:
    return tuple(
        ConfigLine(
            key=one.key,
            value=one.value,
            line=_line(one, text),
            problem=one.problem,
            fix=one.fix,
        )
        for one in findings
    )


def _line(finding: Finding, text: str) -> int | None:
    if finding.line is not None or finding.layer in _ELSEWHERE:
        return finding.line
    return line_of(text, finding.key)


def schema() -> None:
    """Print the JSON Schema of config.yaml, with which an editor completes and checks it."""
    sys.stdout.write(shipped_schema())

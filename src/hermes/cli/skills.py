"""`hermes skills [list|add|show|remove]`: folders with instructions that agents use by name."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    console,
    error_console,
    examples,
    print_done,
    print_fields,
    print_report,
)
from hermes.control.order import NoFields
from hermes.control.orders import SKILLS_ADD, SKILLS_LIST, SKILLS_REMOVE, SKILLS_SHOW
from hermes.control.skills import (
    NewSkill,
    SkillAsk,
    SkillLine,
    SkillOrder,
    SkillReport,
    SkillsReport,
    report_of,
)
from hermes.errors import BadRequest
from hermes.lazy import lazy
from hermes.skills.archive import pack, unpack
from hermes.skills.package import MOST_DOWNLOADED, SkillPackage, read_folder

if TYPE_CHECKING:
    from hermes.app.make_skills import skills_alone
    from hermes.app.skill_archive import fetch_archive
else:
    skills_alone = lazy("hermes.app.make_skills:skills_alone")
    fetch_archive = lazy("hermes.app.skill_archive:fetch_archive")

LIST_EPILOG = examples("hermes skills list", "hermes skills list --json")
ADD_EPILOG = examples(
    "hermes skills add ./invoice",
    "hermes skills add skills.zip --path skills/invoice",
    "hermes skills add https://example.com/invoice.tar.gz --yes",
)
SHOW_EPILOG = examples("hermes skills show invoice", "hermes skills show invoice --json")
REMOVE_EPILOG = examples("hermes skills remove invoice", "hermes skills remove invoice --yes")
_ADD_S = 60.0
_COLUMNS = (
    Column("skill", "id"),
    Column("state", "state"),
    Column("used by", rank=1),
    Column("about", rank=2),
)
_NONE = "There are no skills. `hermes skills add FOLDER` adds one; docs/skills.md tells how to write one."
_WEB = ("https://", "http://")
_Name = Annotated[str, typer.Argument(metavar="SKILL_NAME", help="The name of the skill.")]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def list_all(home: Home = None, *, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the skills of the home, and which agents and bindings use them."""
    report = call(
        home,
        SKILLS_LIST,
        NoFields(),
        empty=lambda: asyncio.run(skills_alone(settings_for(home)).list()),
    )
    print_report(report, _print, as_json=as_json, wide=wide)


def show(skill_name: _Name, *, home: Home = None, as_json: AsJson = False) -> None:
    """Show a skill: what it says, its files, and who uses it."""
    ask = SkillAsk(name=skill_name)
    report = call(
        home,
        SKILLS_SHOW,
        ask,
        empty=lambda: asyncio.run(skills_alone(settings_for(home)).show(ask)),
    )
    print_report(report, _print_skill, as_json=as_json)


def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A folder, a zip or tar archive, or the https address of one."
        ),
    ],
    *,
    path: Annotated[
        str,
        typer.Option(help="The folder of the skill in an archive of several.", show_default=False),
    ] = "",
    yes: _Yes = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Add a skill; it is shown, and added after you agree.

    An agent has it as soon as its `skills` name it.
    """
    package = _package(source, path=path, home=home)
    if not yes:
        _check_can_ask(as_json=as_json)
        _print_skill(report_of(package), console())
        typer.confirm(f"Add the skill {package.name}?", abort=True, err=True)
    archive = base64.b64encode(pack(package)).decode()
    order = NewSkill(archive=archive, by=operator_name())
    added = call(home, SKILLS_ADD, order, timeout_s=_ADD_S)
    print_done(added, _added_text(added), as_json=as_json)


def remove(
    skill_name: _Name, *, yes: _Yes = False, home: Home = None, as_json: AsJson = False
) -> None:
    """Remove a skill and its folder from the home."""
    if not yes:
        _check_can_ask(as_json=as_json)
        typer.confirm(f"Remove the skill {clean(skill_name)} and its folder?", abort=True, err=True)
    order = SkillOrder(name=skill_name, by=operator_name())
    gone = call(home, SKILLS_REMOVE, order)
    named = f" Still named by: {', '.join(gone.used_by)}." if gone.used_by else ""
    print_done(gone, f"The skill {gone.name} is removed.{named}", as_json=as_json)


def _package(source: str, *, path: str, home: Home) -> SkillPackage:
    """Return the checked skill; what is shown and what is added are the same bytes."""
    if source.startswith(_WEB):
        error_console().print(f"Fetching {clean(source)}", style="dim", markup=False)
        return unpack(asyncio.run(fetch_archive(settings_for(home).settings, source)), inner=path)
    place = Path(source).expanduser()
    if not place.is_file():
        return read_folder(place / path if path else place)
    if place.stat().st_size > MOST_DOWNLOADED:
        raise BadRequest(f"{place} has more than {MOST_DOWNLOADED:,} bytes.")
    return unpack(place.read_bytes(), inner=path)


def _check_can_ask(*, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise BadRequest("Nobody can be asked here: read the skill first, then give --yes.")


def _added_text(added: SkillReport) -> str:
    if added.used_by:
        return f"Added the skill {added.name}; it is used by {', '.join(added.used_by)}."
    return (
        f"Added the skill {added.name}. No agent has it yet: add its name to `agents.NAME.skills` in "
        f"config.yaml, or run `hermes agents edit NAME --set skills='[\"{added.name}\"]'`."
    )


def _print(report: SkillsReport, out: Console) -> None:
    if report.skills:
        print_table(out, _COLUMNS, map(_cells, report.skills))
    else:
        out.print(_NONE)
    for skill in report.skills:
        if skill.problem:
            out.print(Text(clean(f"{skill.name}: {skill.problem}")), soft_wrap=True)
    if report.missing:
        names = ", ".join(report.missing)
        out.print(Text(clean(f"Named in `skills`, and not here: {names}")), soft_wrap=True)


def _cells(skill: SkillLine) -> tuple[Cell, ...]:
    state = "off" if skill.problem else "ready"
    return (skill.name, state, ", ".join(skill.used_by) or "nobody", _line(skill.description))


def _print_skill(report: SkillReport, out: Console) -> None:
    fields = {
        "skill": report.name,
        "folder": report.folder,
        "about": _line(report.description),
        "problem": report.problem,
        "license": _line(report.license),
        "needs": _line(report.compatibility),
        "used by": ", ".join(report.used_by),
        "metadata": ", ".join(f"{key}: {_line(one)}" for key, one in report.metadata.items()),
        "wants without asking": " ".join(report.allowed_tools),
    }
    print_fields(out, ((name, text) for name, text in fields.items() if text))
    if report.allowed_tools:
        out.print("It does not get that: the settings decide which tools ask first.", style="dim")
    for file in report.files:
        out.print(Text(clean(f"  {file.path}  {file.size:,} bytes")), soft_wrap=True)
    if report.instructions:
        out.print()
        out.print(Text(clean(report.instructions)), soft_wrap=True)


def _line(text: str) -> str:
    return " ".join(text.split())

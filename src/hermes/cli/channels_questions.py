"""The questions of `hermes channels add`: each with its meaning, and what Enter does.

Questions go to standard error. A secret is not shown while it is typed.
"""

from collections.abc import Callable
from getpass import getpass

import typer
from rich.text import Text

from hermes.cli.channels_sheet import ChannelSheet
from hermes.cli.terminal import clean, error_console
from hermes.config.keys import dotted
from hermes.config.platform_files import Place
from hermes.errors import ConfigurationError
from hermes.plugins.manifest import ManifestSetting
from hermes.ports.channel_setup import Suggestion

Suggest = Callable[[str], Suggestion]


def ask_all(sheet: ChannelSheet, suggest: Suggest) -> None:
    """Ask for every setting that the manifest asks for and that was not given."""
    for name, setting in sheet.manifest.settings.items():
        if setting.entries:
            _ask_table(sheet, name)
        elif setting.type != "table" and sheet.is_asked((name,)):
            proposed = _suggestion(suggest, name) if setting.suggested else ""
            _ask(sheet, (name,), proposed=proposed)


def _suggestion(suggest: Suggest, name: str) -> str:
    out = error_console()
    with out.status(f"Looking for {name} ..."):
        found = suggest(name)
    out.print(Text(f"\n{clean(found.why)}"))
    return found.value


def _ask_table(sheet: ChannelSheet, table: str) -> None:
    """Ask for rows until a name is left empty; complete rows that options began."""
    setting = sheet.manifest.settings[table]
    begun = list(dict.fromkeys(place[1] for place in sheet.answers if place[0] == table))
    error_console().print(Text(f"\n{setting.help}"))
    for row in begun:
        _ask_row(sheet, table, row)
    while not begun and (row := _row_name(sheet, table)):
        _ask_row(sheet, table, row)


def _row_name(sheet: ChannelSheet, table: str) -> str:
    out, known = error_console(), sheet.rows(table)
    may_end = bool(known) or not sheet.manifest.settings[table].required
    if known:
        out.print(Text(f"\nSo far: {', '.join(known)}"))
    question = f"{table}: name of the {'next' if known else 'first'} row"
    while True:
        note = " (Enter if there are no more)" if may_end else ""
        row = str(typer.prompt(question + note, default="", err=True, show_default=False)).strip()
        if not row and may_end:
            return ""
        try:
            sheet.check_row(row)
        except typer.BadParameter as problem:
            out.print(Text(f"Please enter a name: {problem.message}."))
        else:
            return row


def _ask_row(sheet: ChannelSheet, table: str, row: str) -> None:
    for one in sheet.manifest.settings[table].entries:
        if sheet.is_asked((table, row, one)):
            _ask(sheet, (table, row, one))


def _ask(sheet: ChannelSheet, place: Place, *, proposed: str = "") -> None:
    """Ask for one setting until the answer is valid or may be left out."""
    setting, out = sheet.setting(place), error_console()
    out.print(Text(f"\n{setting.help}"))
    if setting.example:
        out.print(Text(f"Such as {setting.example}", style="dim"))
    is_there = place in sheet.present
    may_skip = is_there or bool(setting.generate) or not sheet.is_needed(place)
    note = _note(setting, is_there=is_there, may_skip=may_skip)
    while True:
        answer = _typed(
            setting, dotted(place), note=note, proposed=_proposal(sheet, place, proposed)
        )
        problem = _problem(sheet, place, answer)
        if problem is not None:
            out.print(Text(clean(problem)))
        elif answer:
            sheet.answers[place] = answer
            return
        elif may_skip:
            if setting.generate and not is_there:
                sheet.make_up(place)
            return
        else:
            out.print("Please enter a value.")


def _note(setting: ManifestSetting, *, is_there: bool, may_skip: bool) -> str:
    if is_there:
        return " (Enter keeps the current value)"
    if setting.generate:
        return " (Enter generates one)"
    return " (Enter for none)" if may_skip else ""


def _proposal(sheet: ChannelSheet, place: Place, proposed: str) -> str:
    """Return the value that Enter accepts."""
    setting = sheet.setting(place)
    if place in sheet.typed:
        return sheet.typed[place]
    if place in sheet.present:
        return ""
    default = "" if setting.default is None else str(setting.default)
    return proposed or default or setting.usual


def _typed(setting: ManifestSetting, name: str, *, note: str, proposed: str) -> str:
    if setting.type == "secret":
        # typer would write the question before it hides what is typed.
        return getpass(f"{name}{note}: ").strip()
    choices = f" [{'/'.join(setting.choices)}]" if setting.choices else ""
    question = f"{name}{choices}{'' if proposed else note}"
    typed = typer.prompt(question, default=proposed, err=True, show_default=bool(proposed))
    return str(typed).strip()


def _problem(sheet: ChannelSheet, place: Place, answer: str) -> str | None:
    choices = sheet.setting(place).choices
    if answer and choices and answer not in choices:
        return f"Please enter one of {', '.join(choices)}."
    try:
        if answer:
            sheet.check(place, answer)
    except ConfigurationError as problem:
        return f"Please enter it again: {problem}."
    return None

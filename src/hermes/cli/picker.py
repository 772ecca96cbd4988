"""Asks for one of many names: a numbered list, from which a number, a name or a part of one chooses."""

from collections.abc import Callable, Mapping, Sequence

import typer
from rich.columns import Columns
from rich.text import Text

from hermes.cli.terminal import clean, error_console

_SHOWN = 30
# Returns a name for what is not in the list, or None to ask again.
Unlisted = Callable[[str], str | None]


def pick(
    question: str,
    names: Sequence[str],
    *,
    default: str,
    unlisted: Unlisted,
    notes: Mapping[str, str] | None = None,
    declines: frozenset[str] = frozenset(),
) -> str:
    """Return the chosen name, which is one of `names` or what `unlisted` makes of another word.

    A part that several names have lists them, so that the next number chooses among these. The words in
    `declines` mean the default, although names may have them as a part.
    """
    shown = names
    while True:
        _print(shown, notes or {})
        answer = str(typer.prompt(question, default=default, err=True)).strip()
        if answer.casefold() in declines:
            return default
        found = find(answer, names, shown=shown, default=default)
        if isinstance(found, str):
            return found
        if found:
            shown = found
            continue
        other = unlisted(answer) if answer else None
        if other is not None:
            return other
        shown = names


def find(
    answer: str, names: Sequence[str], *, shown: Sequence[str], default: str
) -> str | list[str]:
    """Return the one name that an answer means, or all that it could mean."""
    if answer == default or answer in names:
        return answer
    if answer.isdecimal() and 1 <= int(answer) <= len(shown):
        return shown[int(answer) - 1]
    matching = [name for name in names if answer and answer.lower() in name.lower()]
    return matching[0] if len(matching) == 1 else matching


def _print(names: Sequence[str], notes: Mapping[str, str]) -> None:
    out = error_console()
    width = len(str(min(len(names), _SHOWN)))
    cells = [
        Text.assemble(
            (f"{number:>{width}} ", "dim"),
            clean(name),
            (f" {notes[name]}" if name in notes else "", "green"),
        )
        for number, name in enumerate(names[:_SHOWN], start=1)
    ]
    out.print(Columns(cells, padding=(0, 3), column_first=True))
    if len(names) > _SHOWN:
        more = len(names) - _SHOWN
        out.print(f"and {more:,} more: type a part of the name to search", style="dim")

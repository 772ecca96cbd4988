"""`hermes --help` from the table of commands, without typer; only a terminal gets bold headings."""

import sys
from collections.abc import Mapping

from hermes.cli.command_table import EXAMPLES, SECTIONS, TITLE

_OPTIONS = (
    ("-h, --help", "Show this help, or that of a command"),
    ("--version", "Print the version"),
)
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def is_colourful(environ: Mapping[str, str]) -> bool:
    """Return whether standard output shows colours: a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM", "") != "dumb"


def root_help(environ: Mapping[str, str]) -> str:
    """Return the help of `hermes`: the commands by group, one line for each."""
    bold, plain = (_BOLD, _PLAIN) if is_colourful(environ) else ("", "")
    width = 2 + max(len(word.name) for section in SECTIONS for word in section.words)
    lines = [TITLE, "", f"{bold}Usage:{plain} hermes COMMAND [OPTIONS]"]
    for section in SECTIONS:
        lines += ["", f"{bold}{section.title}{plain}"]
        lines += [f"  {word.name:{width}}{word.about}" for word in section.words]
    lines += ["", f"{bold}Options{plain}"]
    lines += [f"  {name:{width}}{about}" for name, about in _OPTIONS]
    lines += ["", f"{bold}Examples{plain}", *(f"  {line}" for line in EXAMPLES)]
    lines += ["", "`hermes COMMAND --help` shows the options and examples of a command."]
    return "\n".join(lines)

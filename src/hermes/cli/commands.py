"""Builds the commands of `command_table` with typer; only what is asked for is imported."""

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from hermes.cli.command_help import root_help
from hermes.cli.command_table import WORDS, Row, Word
from hermes.cli.environment import environment
from hermes.similar_words import near_words

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_HELP = frozenset({"-h", "--help"})
_TYPES = {"int": "NUMBER", "float": "NUMBER", "Path": "PATH", "str": "TEXT"}
# What the value of an option is, where its type does not say it.
_BY_OPTION = {"--platform": "PLATFORM", "--user": "USER", "--agent": "AGENT", "--model": "MODEL"}
_PLAIN_METAVAR = re.compile(r"[\[{]?([A-Z_]+)[\]}]?")
_CLAUSE_END = re.compile(r"[.:;](?:\s|$)| \(|\n")
_CHECKER = "Value error, "
_GAP = 3
_MOST_MEANT = 2


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; return its exit code."""
    try:
        root()(args=list(arguments), prog_name="hermes")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def root() -> "CommandGroup":
    """Return `hermes` with every command; each is imported when it is looked up."""
    return CommandGroup("hermes", WORDS)


# Any: typer keeps the types of contexts and formatters to itself.
class PlainCommand(TyperCommand):
    """A command whose help has one line for an option, and examples as they are typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a wrong value is told without the words of the library that found it."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_CHECKER)
            raise

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage with the plain names of the arguments."""
        names = [usage_of(one) for one in self.params if isinstance(one, TyperArgument)]
        formatter.write_usage(ctx.command_path, " ".join(["[OPTIONS]", *names]))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        shown = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        of_arguments = [one for one in shown if isinstance(one, TyperArgument)]
        _write_rows(formatter, "Arguments", ((value_name(one), one.help) for one in of_arguments))
        of_options = (
            (_option_name(one), (one.get_help_record(ctx) or ("", ""))[1])
            for one in shown
            if isinstance(one, TyperOption)
        )
        _write_rows(formatter, "Options", of_options)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples without wrapping them."""
        del ctx
        _write_examples(formatter, self.epilog)


class CommandGroup(TyperGroup):
    """A group whose commands are imported when they are looked up."""

    def __init__(self, name: str, known: "dict[str, Word]", *, word: Word | None = None) -> None:
        super().__init__(
            name=name,
            help=word.about + "." if word else "",
            rich_markup_mode=None,
            context_settings=_SETTINGS,
            no_args_is_help=False,
            subcommand_metavar="COMMAND [OPTIONS]",
            options_metavar="",
        )
        self._known = known
        self._word = word

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self._known)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, imported now."""
        del ctx
        word = self._known.get(cmd_name)
        if word is not None and cmd_name not in self.commands:
            self.commands[cmd_name] = _built(word)
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a group without a command of its own runs its first one."""
        name = self.default_for(args)
        args = [name, *args] if name else args
        return super().parse_args(ctx, args)

    def default_for(self, args: list[str]) -> str:
        """Return the command that runs although the arguments name none; empty if they name one."""
        word, is_option = self._word, bool(args) and args[0].startswith("-")
        if word is None or (is_option and _HELP & set(args)):
            return ""
        if not args or (is_option and not word.other):
            return word.rows[0].name
        return "" if args[0] in self._known else word.other

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command; an unknown one is refused with the names that may be meant."""
        if args and args[0] not in self._known:
            near = near_words(args[0], self._known, most=_MOST_MEANT) or self._below(args[0])
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"{args[0][:40]!r} is not a command of `{ctx.command_path}`.{meant}")
        return super().resolve_command(ctx, args)

    def _below(self, name: str) -> tuple[str, ...]:
        """Return the commands of this name in the groups, with their group."""
        groups = (word.name for word in self._known.values() if _has_row(word, name))
        return tuple(f"`{group} {name}`" for group in groups)[:_MOST_MEANT]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; that of `hermes` itself is grouped."""
        if self._word is None:
            formatter.write(root_help(environment()) + "\n")
        else:
            super().format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with one line for each."""
        about = (
            (name, first_clause(self.get_command(ctx, name).help or "")) for name in self._known
        )
        _write_rows(formatter, "Commands", about)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples, and say what the group does without a command."""
        assert self._word is not None
        path, first = ctx.command_path, self._word.rows[0].name
        _write_examples(formatter, self.get_command(ctx, first).epilog)
        formatter.write(f"\n`{path}` alone is `{path} {first}`.\n")
        formatter.write(f"`{path} COMMAND --help` shows options and examples.\n")


def _has_row(word: Word, name: str) -> bool:
    return any(row.name == name for row in word.rows)


def usage_of(argument: TyperArgument) -> str:
    """Return an argument as the usage shows it: its name, in brackets if it can be left out."""
    name = value_name(argument) + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def value_name(parameter: TyperArgument | TyperOption) -> str:
    """Return what stands for a value: a name such as USER, a kind such as TEXT, or its choices."""
    named = _PLAIN_METAVAR.fullmatch(parameter.metavar or "")
    if named:
        return named[1]
    values = choices_of(parameter)
    if values or isinstance(parameter, TyperArgument):
        return "|".join(values) or parameter.name.upper()
    kind = getattr(parameter.type_descriptor.annotation, "__name__", "str")
    return _BY_OPTION.get(parameter.opts[0], _TYPES.get(kind, "TEXT"))


def choices_of(parameter: TyperArgument | TyperOption) -> tuple[str, ...]:
    """Return the values that a parameter takes, if only some are allowed."""
    return tuple(str(getattr(one, "value", one)) for one in parameter.type_descriptor.choices or ())


def _built(word: Word) -> TyperCommand | TyperGroup:
    if word.row is not None:
        return _command(word.row)
    return CommandGroup(
        word.name, {row.name: Word(row.name, "", row=row) for row in word.rows}, word=word
    )


def _command(row: Row) -> TyperCommand:
    """Return the command of a row; its module is imported now."""
    name, _, function = row.function.partition(":")
    module = import_module(name)
    settings = {**_SETTINGS, "ignore_unknown_options": row.takes_negatives}
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    epilog = getattr(module, row.examples)
    app.command(row.name, cls=PlainCommand, epilog=epilog, context_settings=settings)(
        getattr(module, function)
    )
    built = typer.main.get_command(app)
    assert isinstance(built, TyperCommand)
    return built


def first_clause(text: str) -> str:
    """Return a help in one short line: up to the first stop."""
    return _CLAUSE_END.split(text, maxsplit=1)[0]


def _option_name(option: TyperOption) -> str:
    names = ", ".join(sorted((*option.opts, *option.secondary_opts), key=len))
    return names if option.is_flag else f"{names} {value_name(option)}"


def _write_rows(formatter: Any, title: str, rows: Iterable[tuple[str, str | None]]) -> None:
    found = [(name, about or "") for name, about in rows]
    if found:
        formatter.write(f"\n{title}:\n")
        formatter.indent()
        formatter.write_dl(found, col_spacing=_GAP)
        formatter.dedent()


def _write_examples(formatter: Any, text: str | None) -> None:
    if text:
        formatter.write(f"\n{text}\n")

"""The table of commands: help in groups, bare groups, and the file of words that shells complete."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.cli.command_table import SECTIONS, WORDS
from hermes.cli.commands import CommandGroup, root
from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal
from tools.command_words import FILE, page

# What a group does without a command. A new token is no list: its bare form is in many scripts.
GROUPS = {name: word.rows[0].name for name, word in WORDS.items() if word.rows}


@pytest.mark.req("W7")
def test_help_has_every_command_on_one_line_below_its_group(hermes) -> None:
    done = hermes("--help")

    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 88] == []
    for section in SECTIONS:
        first = lines.index(section.title) + 1
        named = [line.split()[0] for line in lines[first : first + len(section.words)]]
        assert named == [word.name for word in section.words]
    assert (hermes("-h").stdout, hermes().stdout, hermes().returncode) == (
        done.stdout,
        done.stdout,
        0,
    )


@pytest.mark.req("W7")
def test_no_command_is_in_two_groups() -> None:
    names = [word.name for section in SECTIONS for word in section.words]

    assert len(names) == len(set(names))


@pytest.mark.req("W8")
def test_the_file_that_shells_complete_from_is_what_the_commands_take() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run python -m tools.command_words"


@pytest.mark.req("W7")
@pytest.mark.parametrize("name", sorted(GROUPS.keys() - {"token", "service"}))
def test_a_bare_group_lists_what_it_holds(name: str, hermes) -> None:
    bare, named = hermes(name), hermes(name, GROUPS[name])

    assert (bare.returncode, bare.stderr) == (0, "")
    assert bare.stdout == named.stdout


@pytest.mark.req("W7")
def test_a_bare_group_takes_the_options_of_its_list(hermes) -> None:
    assert hermes("users", "--json").stdout == hermes("users", "list", "--json").stdout
    assert hermes("users", "--state", "odd").returncode == 2


@pytest.mark.req("W7")
@pytest.mark.parametrize("path", [("why",), ("keys", "create"), ("users", "list"), ("cron", "add")])
def test_help_is_plain(path: tuple[str, ...], hermes) -> None:
    text = hermes(*path, "--help").stdout

    assert re.findall(r"<\w+>|\{\w+\}|[│╭]", text) == []
    examples = text.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith("  ") for line in examples)


@pytest.mark.req("W7")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("usres",), "'usres' is not a command of `hermes`. Did you mean users?"),
        (("usr",), "'usr' is not a command of `hermes`. Did you mean users?"),
        (("grant",), "'grant' is not a command of `hermes`. Did you mean `credits grant`?"),
        (
            ("approve",),
            "'approve' is not a command of `hermes`. Did you mean `pair approve` or "
            "`approvals approve`?",
        ),
        (("users", "lsit"), "'lsit' is not a command of `hermes users`. Did you mean list?"),
        (("nonsense",), "'nonsense' is not a command of `hermes`.\n"),
    ],
)
def test_an_unknown_command_is_refused_with_what_may_be_meant(arguments, said, hermes) -> None:
    done = hermes(*arguments)

    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.req("W7")
def test_every_row_has_a_function_and_examples() -> None:
    tree = root()

    for name in tree.list_commands(None):
        command = tree.get_command(None, name)
        is_group = isinstance(command, CommandGroup)
        rows = command.list_commands(None) if is_group else []
        found = [command.get_command(None, row) for row in rows] or [command]
        assert [one.name for one in found if not one.epilog] == []


@pytest.mark.req("W7", "W8")
@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("--version",), {}),
        (("--help",), {}),
        (
            (),
            {"_HERMES_COMPLETE": "complete_bash", "COMP_WORDS": "hermes why m_", "COMP_CWORD": "2"},
        ),
    ],
)
def test_help_version_and_completion_load_neither_typer_nor_the_settings(
    arguments: tuple[str, ...], asked: dict[str, str], home: Path
) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hermes", *arguments]

    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment(home, **asked)
    )

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hermes.cli.environment" in loaded
    assert loaded & {"typer", "rich", "pydantic", "hermes.config", "hermes.app"} == set()


@pytest.mark.req("W7")
@pytest.mark.parametrize("words", ["agents list", "credits show", "mcp list", "mcp test"])
def test_a_table_that_leaves_columns_out_can_be_wide(words: str, hermes) -> None:
    assert "--wide" in hermes(*words.split(), "--help").stdout


@pytest.mark.req("W7")
def test_wide_shows_the_columns_for_which_there_was_no_room(home: Path) -> None:
    name = "A name that is too long to leave room for all of the others"
    (home / "config.yaml").write_text(f"agents:\n  main:\n    name: {name}\n")
    command = [sys.executable, "-m", "hermes", "agents"]
    narrow = Terminal(command, environment(home))
    wide = Terminal([*command, "--wide"], environment(home))

    assert (narrow.end(), wide.end()) == (0, 0)
    assert name not in narrow.plain()
    assert name in wide.plain()
    narrow.close()
    wide.close()

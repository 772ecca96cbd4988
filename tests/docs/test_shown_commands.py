"""A command that a page shows without running it is one that Hermes has, with these options."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from hermes.cli.commands import CommandGroup, root
from tests.docs.markdown import PAGES, blocks_of, prose_of

# A command in an `sh` block, up to a comment, a pipe or the next command; and one in a sentence.
_COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*hermes +(.+)$")
_IN_PROSE = re.compile(r"`hermes ([^`\n]+)`")
_SUBSTITUTED = re.compile(r"\$\([^)]*\)")
# Words that `hermes` answers before it looks for a command.
_OF_HERMES_ITSELF = frozenset({"help", "version", "--version", "--help", "-V", "-h"})
_END = frozenset({"|", ">", "<", "&&", "||", "&", ";"})
# Words that stand for something in a sentence, and pieces of a command.
_NOT_WHOLE = re.compile(r"\.\.\.|\||\[|^COMMAND|…")


def shown_in_blocks() -> Iterator[tuple[str, str]]:
    """Yield the place and the words of every command that is shown in a block."""
    for page in PAGES:
        for block in blocks_of(page):
            if block.language != "sh":
                continue
            for line in block.text.splitlines():
                found = _COMMAND.match(line.strip())
                if found:
                    yield block.place, found[1]


def shown_in_prose() -> Iterator[tuple[str, str]]:
    """Yield the page and the first words of every command that a sentence names."""
    for page in PAGES:
        # What was once decided or changed may name what is no more.
        if "decisions" in page.parts or page.name == "CHANGELOG.md":
            continue
        for said in _IN_PROSE.findall(prose_of(page)):
            if not _NOT_WHOLE.search(said):
                yield page.name, said


# Any: click's classes, which typer keeps to itself.
def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words name, and what follows it."""
    command: Any = root()
    if words[0] in _OF_HERMES_ITSELF:
        return command, []
    while isinstance(command, CommandGroup):
        listed = command.list_commands(None)
        name = command.default_for(words) or words.pop(0)
        assert name in listed, f"there is no command {name!r}"
        command = command.get_command(None, name)
    return command, words


def words_of(text: str) -> list[str]:
    """Return the words of a command as a shell splits them, up to the end of the command."""
    words = shlex.split(_SUBSTITUTED.sub("x", text), comments=True)
    end = next((place for place, word in enumerate(words) if word in _END), len(words))
    return words[:end]


@pytest.mark.req("W1")
@pytest.mark.parametrize(("place", "text"), sorted(set(shown_in_blocks())))
def test_a_command_in_a_block_can_be_typed(place: str, text: str) -> None:
    command, rest = command_of(words_of(text))

    command.make_context("hermes", rest)


@pytest.mark.req("W1")
@pytest.mark.parametrize(("place", "text"), sorted(set(shown_in_prose())))
def test_a_command_in_a_sentence_exists_with_its_options(place: str, text: str) -> None:
    command, rest = command_of(words_of(text))

    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
    assert given - known - {"--help", "-h"} == set()

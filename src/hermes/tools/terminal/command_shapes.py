"""Which commands need no approval: those that fit a shape of the configuration. Pure.

Only a simple command can fit: one program with its arguments, without anything by which a shell
would run, read or write something else.
"""

import shlex
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

# Wherever they are, also in quotes: a shape allows too little rather than too much.
_SHELL: Final = frozenset("|&;<>(){}$`\\!\n\r\0#")
_REST: Final = "*"


def simple_words(command: str) -> tuple[str, ...] | None:
    """Return the words of a simple command; None for anything else."""
    if _SHELL & set(command) or not command.isprintable():
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    # `NAME=value program` changes what the program does.
    return words if words and "=" not in words[0] else None


def fits(command: str, shapes: Iterable[str]) -> bool:
    """Return whether a command fits one of the shapes.

    A `*` as a shape's last word stands for any further arguments, also none; in other words it
    stands for any characters. The program itself must be written out.
    """
    words = simple_words(command)
    return words is not None and any(_fits(words, tuple(shlex.split(one))) for one in shapes)


def _fits(words: tuple[str, ...], shape: tuple[str, ...]) -> bool:
    if not shape or words[0] != shape[0]:
        return False
    if shape[-1] == _REST and len(shape) > 1:
        shape = shape[:-1]
        words = words[: len(shape)]
    return len(words) == len(shape) and all(
        fnmatchcase(word, pattern) for word, pattern in zip(words[1:], shape[1:], strict=True)
    )

"""Inputs that make a regular expression slow, made from its parsed structure.

An input is a beginning, a piece that is repeated, and an end that makes the match fail. The pieces come
from what each repeat accepts, alone and beside what other repeats accept, with the text that leads to
the repeat once before them all or before each of them (many places to start).
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

from tools.expression_tree import REPEATS, SINGLE, Node, fits, parser, sre

_COMMON = 'a0 "\\\n-.:'
_OTHERS = "aA0 \t_~@<é字\ud800"
_ENDS = ("", "\x00", "\n!", "\u2028x\u2028y")
_LETTERS = 14
_PIECES = 10
_MOST = 900


class Input(NamedTuple):
    """A family of inputs: one for each size."""

    begin: str
    piece: str
    end: str

    def text(self, size: int) -> str:
        """Return the input of about this many characters."""
        return self.begin + self.piece * max(1, size // len(self.piece)) + self.end


def inputs_for(pattern: str, flags: int = 0) -> tuple[Input, ...]:
    """Return the families of inputs for one expression, the likely ones first."""
    parsed = parser.parse(pattern, flags)
    shape = _Shape(tuple(_letters(list(parsed))))
    shape.visit(list(parsed), "")
    found = dict.fromkeys(one for one in shape.inputs(list(parsed)) if one.piece)
    return tuple(islice(found, _MOST))


class _Shape:
    """What the repeats of one expression accept, and the text that leads to each."""

    def __init__(self, letters: tuple[str, ...]) -> None:
        self.letters = letters
        self.groups: dict[int, Node] = {}
        self.repeats: list[tuple[str, tuple[str, ...]]] = []
        self.short_runs: list[str] = []

    def visit(self, nodes: list[Node], before: str) -> None:
        for code, given in nodes:
            if code in REPEATS:
                body = list(given[2])
                pieces = tuple(islice(self.pieces(body), _PIECES))
                self.repeats.append((before, pieces))
                # Runs that are one short of what is asked for: each letter of them is a start.
                self.short_runs += [one * (given[0] - 1) + "\x00" for one in pieces[:2]]
                self.visit(body, before)
                self.visit(body, before + self.example(body, ""))
            for inner in _inside(code, given):
                self.visit(inner, before)
            before += self.example([(code, given)], "")

    def pieces(self, body: list[Node]) -> Iterator[str]:
        """Yield texts that the body of a repeat accepts, each once."""
        bodies = [body]
        for code, given in body:
            bodies += _inside(code, given) if len(body) == 1 else []
        yield from dict.fromkeys(
            self.example(one, letter) for letter in self.letters for one in bodies
        )

    def example(self, nodes: list[Node], letter: str) -> str:
        """Return a text that the nodes accept, with this letter wherever it fits."""
        return "".join(self._one(code, given, letter) for code, given in nodes)

    def _one(self, code: Node, given: Node, letter: str) -> str:
        if code is sre.LITERAL:
            return chr(given)
        if code in SINGLE:
            known = (letter, *self.letters, *_all_letters([(code, given)]), *_OTHERS)
            return next((one for one in known if one and fits(code, given, frozenset(one))), "")
        if code in REPEATS:
            return self.example(list(given[2]), letter) * max(1, min(given[0], 50))
        if code is sre.SUBPATTERN:
            self.groups[given[0]] = list(given[3])
        if code is sre.GROUPREF:
            return self.example(self.groups.get(given, []), letter)
        if code in (sre.ASSERT_NOT, sre.ASSERT) and given[0] < 0:
            return ""
        inner = () if code is sre.ASSERT_NOT else _inside(code, given)
        return self.example(inner[0], letter) if inner else ""

    def inputs(self, nodes: list[Node]) -> Iterator[Input]:
        for begin, pieces in self.repeats:
            for piece, end in product(pieces, _ENDS):
                yield Input(begin, piece, end)
                yield Input("", begin + piece, end)
        whole = [self.example(nodes, letter) for letter in ("", *self.letters)]
        for one, end in product(whole, _ENDS[:2]):
            yield Input("", one, end)
            yield Input("", one[:-1], end)
        for begin, pieces in self.repeats:
            for other, end in product(self._others(), _ENDS[:2]):
                for piece in pieces[:4]:
                    yield Input(begin, piece + other, end)
        for piece in (*self.short_runs, *self.letters):
            yield Input("", piece, "\x00")

    def _others(self) -> list[str]:
        return list(dict.fromkeys(piece for _, pieces in self.repeats for piece in pieces[:4]))[:8]


def _inside(code: Node, given: Node) -> tuple[list[Node], ...]:
    if code is sre.SUBPATTERN:
        return (list(given[3]),)
    if code is sre.BRANCH:
        return tuple(list(one) for one in given[1])
    if code in (sre.ASSERT, sre.ASSERT_NOT):
        return (list(given[1]),)
    if code is sre.ATOMIC_GROUP:
        return (list(given),)
    return ()


def _letters(nodes: list[Node]) -> Iterator[str]:
    """Yield the letters that tell the expression's classes apart, those of repeats first."""
    found = [*_letters_of_repeats(nodes), *_COMMON]
    yield from islice(dict.fromkeys(found), _LETTERS)


def _letters_of_repeats(nodes: list[Node]) -> Iterator[str]:
    for code, given in nodes:
        if code in REPEATS:
            yield from _all_letters(list(given[2]))
            yield from _letters_of_repeats(list(given[2]))
        for inner in _inside(code, given):
            yield from _letters_of_repeats(inner)


def _all_letters(nodes: list[Node]) -> Iterator[str]:
    for code, given in nodes:
        if code in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(given)
        elif code is sre.IN:
            yield from (chr(one[1]) for one in given if one[0] is sre.LITERAL)
            yield from (chr(one[1][0]) for one in given if one[0] is sre.RANGE)
        for inner in _inside(code, given):
            yield from _all_letters(inner)

"""Faults in named queries: a conjunct that guards nothing, a comparison that includes its bound. Pure.

A conjunct becomes `(... OR 1)` instead of going away: its parameters stay, so the fault is what the
query does and not that it cannot be run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutants.faults import Edit, Fault, make_fault

_TOKEN = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\?\d*|[A-Za-z_][A-Za-z_0-9.]*|\d+|<>|<=|>=|\|\||<|>|[^\s]", re.ASCII
)
_ENDS = frozenset(
    {"GROUP", "ORDER", "LIMIT", "HAVING", "RETURNING", "WHERE", "ON", "UNION", "EXCEPT", "WINDOW"}
    | {"DO", "INTERSECT"}
)
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    depth: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def faults_of(source: str, *, area: str, path: str) -> Iterator[Fault]:
    """Yield the faults of every query of a file."""
    for name, start, end in queries(source):
        tokens = _tokens(source, start, end)
        for operator, edit in [*_conjuncts(source, tokens), *_comparisons(tokens)]:
            yield make_fault(
                source, edit, area=area, path=path, function=f"query {name}", operator=operator
            )


def queries(source: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of every query, and where its text starts and ends."""
    heads = list(re.finditer(r"^-- name: (\w+)\n", source, re.MULTILINE))
    for number, head in enumerate(heads):
        is_last = number + 1 == len(heads)
        yield head[1], head.end(), len(source) if is_last else heads[number + 1].start()


def _tokens(source: str, start: int, end: int) -> list[_Token]:
    tokens: list[_Token] = []
    depth = 0
    for match in _TOKEN.finditer(source, start, end):
        text = match[0]
        if text.startswith("--"):
            continue
        depth -= text == ")"
        tokens.append(_Token(text, match.start(), depth))
        depth += text == "("
    return tokens


def _comparisons(tokens: list[_Token]) -> Iterator[tuple[str, Edit]]:
    for token in tokens:
        if token.text in _SHIFTED:
            yield "SQL comparison", Edit(token.start, token.end, _SHIFTED[token.text])


def _conjuncts(source: str, tokens: list[_Token]) -> Iterator[tuple[str, Edit]]:
    for number, token in enumerate(tokens):
        if token.text.upper() == "WHERE" and not _names_an_index(tokens, number):
            for first, last in _parts(tokens, number + 1, depth=token.depth):
                start, end = first.start, last.end
                yield "SQL guard", Edit(start, end, f"({source[start:end]} OR 1)")


def _names_an_index(tokens: list[_Token], where: int) -> bool:
    """Return whether a WHERE is that of `ON CONFLICT (...) WHERE`, which names a partial index.

    It guards nothing, and with any other condition the query cannot be run.
    """
    depth = tokens[where].depth
    before = [one.text.upper() for one in tokens[:where] if one.depth == depth]
    return before[-3:] == ["CONFLICT", "(", ")"]


def _parts(tokens: list[_Token], at: int, *, depth: int) -> Iterator[tuple[_Token, _Token]]:
    """Yield the first and last token of each conjunct of a clause; none where it holds an OR."""
    begin, between, found = at, False, list[tuple[_Token, _Token]]()
    while at < len(tokens):
        token = tokens[at]
        word = token.text.upper()
        is_end = token.depth < depth or word == ";" or word in _ENDS
        if token.depth == depth or token.depth < depth:
            if is_end:
                break
            if word == "OR":
                return
            if word == "AND" and not between:
                found.append((tokens[begin], tokens[at - 1]))
                begin = at + 1
            between = word == "BETWEEN" or (between and word != "AND")
        at += 1
    if at > begin:
        found.append((tokens[begin], tokens[at - 1]))
    yield from found

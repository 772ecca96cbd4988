"""Finds the shapes of regular expressions whose time grows faster than their input, by their parsed tree.

It reads an expression as paths: sequences of single characters, long repeats and conditions, one for each
way through its alternatives. A path is judged by which characters its pieces share, so a verdict may be
too strict, seldom too mild: `tests/unit/patterns` times what passes here.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from tools.expression_tree import REPEATS, SINGLE, Node, fits, parser, sre

# A repeat of at most so many characters costs no more than so many times the input.
SHORT = 256
# More ways through one expression than this are not looked at.
_MOST_PATHS = 400
_PASSES = 2
_KNOWN = frozenset(
    {
        *map(chr, range(128)),
        *"\x85\xa0éßπ\u0300\u0905\u2028\u2029ぁ字\ud800\uffff😀",
    }
)
_LOOKS = (sre.ASSERT, sre.ASSERT_NOT)
Characters = frozenset[str]
_NOTHING: Characters = frozenset()


class Piece(NamedTuple):
    """A part of a path that takes text: a character, or a long repeat of some."""

    takes: Characters
    is_required: bool = True
    is_long: bool = False
    # Whether the repeat tries again with less if what follows does not match.
    gives_back: bool = False
    # A repeat must find so many.
    least: int = 1
    # What a repeat may begin with, and what is wrong inside of it if what follows can fail.
    begins: Characters = _NOTHING
    faults: tuple[str, ...] = ()


class Condition(NamedTuple):
    """A part of a path that takes nothing; `after` are the characters that may stand before it.

    A path that `is_aside` leads into a lookahead and ends there.
    """

    after: Characters | None = None
    is_end: bool = False
    is_start: bool = False
    is_aside: bool = False


Path = tuple[Piece | Condition, ...]


def shapes(pattern: str, flags: int = 0, *, uses: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what is wrong with an expression, in words; nothing if no shape of it backtracks.

    `uses` are the methods that apply it. One that nobody knows may be searched for all over a text.
    """
    parsed = parser.parse(pattern, flags & ~re.DEBUG)
    how = set(uses)
    reader = _Reader(parsed.state.flags, _universe(pattern))
    found: dict[str, None] = {}
    for path in islice(reader.paths(list(parsed)), _MOST_PATHS):
        is_whole = "fullmatch" in how
        found |= dict.fromkeys(_adjacent(path, is_whole=is_whole))
        if not how or how - {"match", "fullmatch"}:
            found |= dict.fromkeys(_searched(path, reader.everything))
    found |= dict.fromkeys(reader.found)
    return tuple(found)


class _Reader:
    """Turns parsed nodes into paths; notes what is wrong inside repeated groups."""

    def __init__(self, flags: int, universe: Characters) -> None:
        self._flags = flags
        self.everything = universe
        self._groups: dict[int, Characters] = {}
        self.found: list[str] = []

    def paths(self, nodes: Sequence[Node]) -> Iterator[Path]:
        """Yield every way through the nodes."""
        if not nodes:
            yield ()
            return
        first = list(islice(self._ways(*nodes[0]), _MOST_PATHS))
        yield from filter(_is_aside, first)
        for rest in self.paths(nodes[1:]):
            for one in first:
                if not _is_aside(one):
                    yield (*one, *rest)

    def _ways(self, code: Node, given: Node) -> Iterator[Path]:
        if code in SINGLE:
            yield (Piece(self._takes(code, given)),)
        elif code is sre.SUBPATTERN:
            yield from self._subpattern(given)
        elif code is sre.BRANCH:
            for one in given[1]:
                yield from self.paths(list(one))
        elif code is sre.ATOMIC_GROUP:
            for path in self.paths(list(given)):
                self.found += _adjacent(path, is_whole=False)
                yield tuple(_kept(one) for one in path)
        elif code in REPEATS:
            yield from self._repeat(code, given)
        elif code in _LOOKS:
            yield from self._look(code, given)
        else:
            yield self._other(code, given)

    def _other(self, code: Node, given: Node) -> Path:
        if code is sre.GROUPREF:
            return (Piece(self._groups.get(given, self.everything), is_required=False),)
        return (self._edge(given),) if code is sre.AT else ()

    def _subpattern(self, given: Node) -> Iterator[Path]:
        number, add, remove, inner = given
        before = self._flags
        self._flags = (self._flags | add) & ~remove
        found = list(islice(self.paths(list(inner)), _MOST_PATHS))
        self._flags = before
        if number is not None:
            self._groups[number] = _all_of(found)
        yield from found

    def _repeat(self, code: Node, given: Node) -> Iterator[Path]:
        least, most, inner = given
        gives_back = code is not sre.POSSESSIVE_REPEAT and least != most
        bodies = list(islice(self.paths(list(inner)), _MOST_PATHS))
        if any(map(_is_aside, bodies)):
            self.found.append("a lookahead inside a repeat has a long repeat of its own")
        bodies = [one for one in bodies if not _is_aside(one)]
        for body in bodies:
            self.found += _adjacent(body, is_whole=False)
        if most > SHORT:
            faults = self._faults(bodies) if gives_back else ()
            yield (
                Piece(
                    _all_of(bodies),
                    is_required=least > 0,
                    is_long=True,
                    gives_back=gives_back,
                    least=least,
                    begins=_first_of(bodies),
                    faults=faults,
                ),
            )
            return
        if not _is_long(bodies):
            # So short that it counts as one character, which may be missing.
            yield (Piece(_all_of(bodies), is_required=least > 0),)
            return
        if least == 0:
            yield ()
        for body in bodies:
            yield body * min(most, _PASSES)

    def _faults(self, bodies: list[Path]) -> tuple[str, ...]:
        """Return what is wrong with a repeated group, if what follows it can fail."""
        found: list[str] = []
        if any(map(_is_ambiguous, combinations(bodies, 2))):
            found.append("alternatives under a repeat begin with the same character")
        for body in bodies:
            found += _nested(body, _first_of(bodies))
            # What follows in the next pass can fail, too.
            found += _adjacent((*body, Condition(is_end=True)), is_whole=False)
        return tuple(found)

    def _look(self, code: Node, given: Node) -> Iterator[Path]:
        direction, inner = given
        bodies = list(islice(self.paths(list(inner)), _MOST_PATHS))
        if direction > 0:
            yield (Condition(is_end=True),)
            # Whatever is looked for may be missing, so a long repeat of it runs and fails.
            for body in bodies:
                if _is_long([body]):
                    yield (*body, Condition(is_end=True, is_aside=True))
            return
        last = frozenset[str]().union(*(_last_of(body, self.everything) for body in bodies))
        yield (Condition(self.everything - last if code is sre.ASSERT_NOT else last),)

    def _edge(self, where: Node) -> Condition:
        if where in (sre.AT_END, sre.AT_END_STRING, sre.AT_END_LINE):
            return Condition(is_end=True)
        if where is sre.AT_BOUNDARY:
            return Condition(frozenset(filter(re.compile(r"\W").match, self.everything)))
        is_start = where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
        if is_start and self._flags & re.MULTILINE and where is sre.AT_BEGINNING:
            return Condition(frozenset("\n"))
        return Condition(is_start=is_start)

    def _takes(self, code: Node, given: Node) -> Characters:
        return frozenset(one for one in self.everything if self._fits(code, given, one))

    def _fits(self, code: Node, given: Node, letter: str) -> bool:
        is_folded = bool(self._flags & re.IGNORECASE)
        forms = {letter, letter.lower(), letter.upper()} if is_folded else {letter}
        return fits(code, given, frozenset(forms), is_dotall=bool(self._flags & re.DOTALL))


def _universe(pattern: str) -> Characters:
    """Return characters enough to tell the classes of an expression apart."""
    return frozenset({*_KNOWN, *pattern, *pattern.lower(), *pattern.upper()})


def _kept(one: Piece | Condition) -> Piece | Condition:
    return one._replace(gives_back=False, faults=()) if isinstance(one, Piece) else one


def _is_aside(path: Path) -> bool:
    last = path[-1:]
    return bool(last) and isinstance(last[0], Condition) and last[0].is_aside


def _pieces(path: Path) -> list[Piece]:
    return [one for one in path if isinstance(one, Piece)]


def _all_of(paths: Iterable[Path]) -> Characters:
    return frozenset(one for path in paths for piece in _pieces(path) for one in piece.takes)


def _is_long(paths: Iterable[Path]) -> bool:
    return any(piece.is_long for path in paths for piece in _pieces(path))


def _first(path: Path) -> Characters:
    """Return the characters that a path may begin with."""
    found = _NOTHING
    for piece in _pieces(path):
        found |= piece.takes
        if piece.is_required:
            break
    return found


def _first_of(paths: Iterable[Path]) -> Characters:
    return _NOTHING.union(*map(_first, paths))


def _last_of(path: Path, everything: Characters) -> Characters:
    last = _pieces(path)[-1:]
    return last[0].takes if last and last[0].is_required else everything


def _is_ambiguous(pair: tuple[Path, Path]) -> bool:
    """Tell whether the same text may be the beginning of both paths, as far as single characters show."""
    one, other = (_pieces(path) for path in pair)
    for left, right in zip(one, other, strict=False):
        if not left.takes & right.takes:
            # A piece that may be missing tells nothing.
            return not (left.is_required and right.is_required)
        if left.is_long or right.is_long:
            return True
    return True


def _nested(body: Path, again: Characters) -> Iterator[str]:
    """Yield what is wrong with the repeats inside of a repeated group, which `again` may begin anew."""
    pieces = _pieces(body)
    for at, piece in enumerate(pieces):
        if not (piece.is_long and piece.gives_back):
            continue
        rest = pieces[at + 1 :]
        follows = _first(tuple(rest))
        if not any(one.is_required for one in rest):
            follows |= again
        if follows & piece.takes and not _is_told_apart(rest, piece):
            yield "a repeat inside a repeat can end in more than one place"


def _is_told_apart(rest: list[Piece], piece: Piece) -> bool:
    """Tell whether something must follow that the repeat cannot take."""
    return any(one.is_required and not one.takes & piece.takes for one in rest)


def _adjacent(path: Path, *, is_whole: bool) -> Iterator[str]:
    """Yield a word about two long repeats that can take the same text, if what follows can fail."""
    repeats = [at for at, one in enumerate(path) if isinstance(one, Piece) and one.is_long]
    for at in repeats:
        group = path[at]
        assert isinstance(group, Piece)
        yield from group.faults if _can_fail(path, at, is_whole=is_whole) else ()
    for start, end in combinations(repeats, 2):
        one, other = path[start], path[end]
        assert isinstance(one, Piece)
        assert isinstance(other, Piece)
        shared = one.takes & other.takes
        between = _pieces(path[start + 1 : end])
        is_bridged = all(piece.takes & shared or not piece.is_required for piece in between)
        is_passed_on = one.gives_back and bool(other.begins & one.takes) and is_bridged
        if is_passed_on and _can_fail(path, end, is_whole=is_whole):
            yield "two repeats that follow each other take the same characters"


def _can_fail(path: Path, at: int, *, is_whole: bool) -> bool:
    """Tell whether anything behind a repeat can fail to match."""
    behind = path[at + 1 :]
    repeat = path[at]
    assert isinstance(repeat, Piece)
    if any(isinstance(one, Piece) and one.is_required for one in behind):
        return True
    ends = is_whole or any(isinstance(one, Condition) for one in behind)
    # At the end of the text stops what takes everything.
    return ends and not repeat.takes >= _KNOWN


def _searched(path: Path, everything: Characters) -> Iterator[str]:
    """Yield a word about a long repeat that a search runs again from each place inside of it."""
    starts = everything
    for one in path:
        if isinstance(one, Piece):
            break
        if one.is_start:
            return
        if one.after is not None:
            starts &= one.after
    for at, repeat in enumerate(path):
        if not (isinstance(repeat, Piece) and repeat.is_long):
            continue
        before = [one for one in _pieces(path[:at]) if one.is_required]
        begins_inside = all(one.takes & repeat.takes for one in before)
        if not begins_inside or not starts & repeat.takes:
            continue
        if repeat.least > SHORT or _can_fail(path, at, is_whole=False):
            yield "a search begins a long repeat again at each character that it takes"

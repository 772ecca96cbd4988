"""The worst time of every regular expression: each with its worst inputs, at the size that its callers let through.

Inputs come from the expression's own structure (`tests/unit/patterns/worst_cases.py`), and from `KNOWN`. All of
them are tried on a short text, the slowest on the largest. An expression that is applied step by step beside the
event loop counts with its longest step: others run between two of them.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import islice
from time import thread_time
from typing import Any, NamedTuple

from tests.unit.patterns.javascript import Literal, Node, javascript_patterns, node
from tests.unit.patterns.table import BUILT, ELSEWHERE, IN_STEPS, TRUSTED, largest
from tests.unit.patterns.walk import evaluate, python_patterns
from tests.unit.patterns.worst_cases import Input, inputs_for
from tools.pattern_gate import shipped_data

# Texts that froze the gateway or the page, by the place of the expression that read them then.
KNOWN: dict[str, tuple[Input, ...]] = {
    "channels/email/authenticity.py _QUOTED": (Input("", '"\\', ""),),
    "channels/email/bounces.py _FIELD": (Input("action:", " ", "x" * 400),),
    "channels/matrix/wire.py _TOKENS": (Input("", '"\\', ""), Input('"', "\\a", "")),
    "message/markup/html_visibility.py _SHOWS_TEXT": (Input("font-size:", "9", "!"),),
    "providers/anthropic/traits.py _VERSION": (Input("", "claude-a", ""),),
    "providers/local/free_answer.py _FENCE": (Input("", "~", "`"),),
    "schedule/schedules.py _SET_ZONE": (Input("tz=a", " ", "\nx\ny"),),
    "schema/unfinished_json.py _INSIDE": (Input('{"value":"', '\\"', ""),),
    "channels/web/static/markdown.js": (Input("# ", " ", "\u2028x\u2028y"), Input("- ", " ", "\n")),
}
_SHORT = 1500
_GO_ON = 3
_AGAIN = 3
_LONG_S = 0.02
_LIMIT_S = "20"
# Enough of them to see the longest.
_STEPS = 200_000
# Seconds of one input of a size.
Measure = Callable[[Input, int], float]


class Row(NamedTuple):
    """An expression with its compiled form, or as a literal of a script, and how it is applied."""

    place: str
    pattern: re.Pattern[str] | re.Pattern[bytes] | Literal
    uses: frozenset[str]


class Worst(NamedTuple):
    """The worst time of an expression, and the input that takes it."""

    ms: float
    place: str
    given: Input
    size: int


def rows() -> Iterator[Row]:
    """Yield every expression that may see text from outside."""
    for found in python_patterns():
        if not found.module.startswith(tuple(TRUSTED)) and found.place not in ELSEWHERE:
            pattern = evaluate(found, **BUILT.get(found.place, {}))
            yield Row(found.place, pattern, found.uses)
    for script in javascript_patterns():
        if not script.script.startswith(tuple(TRUSTED)):
            yield Row(f"{script.script} {script.source}", script, frozenset())
    for name, source in shipped_data():
        yield Row(f"{name} {source}", re.compile(source), frozenset())


def worst_of_all(given: Iterator[Row]) -> list[Worst]:
    """Return the worst time of each expression, the longest first."""
    with node("timer.mjs", _LIMIT_S) as clock:
        return sorted((_worst(one, clock) for one in given), reverse=True)


def _worst(row: Row, clock: Node) -> Worst:
    source, flags = _source(row.pattern)
    families = (*inputs_for(source, flags), *_known(row.place))
    size = largest(row.place)
    measures = list(_measures(row, clock))
    found: list[Worst] = []
    for measure in measures:
        short = [(measure(one, min(_SHORT, size)), one) for one in families]
        slowest = [one for _, one in nlargest(_GO_ON, short)]
        for one in dict.fromkeys((*slowest, *_known(row.place))):
            # The least of some measures: a busy machine makes one longer, never shorter.
            took = measure(one, size)
            for _ in range(_AGAIN if took > _LONG_S else 0):
                took = min(took, measure(one, size))
            found.append(Worst(took * 1000, row.place, one, size))
    return max(found, default=Worst(0.0, row.place, Input("", "", ""), size))


def _known(place: str) -> tuple[Input, ...]:
    return KNOWN.get(place, KNOWN.get(place.partition(" ")[0], ()))


def _source(pattern: re.Pattern[str] | re.Pattern[bytes] | Literal) -> tuple[str, int]:
    if isinstance(pattern, Literal):
        return pattern.source or "", 0
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    return text, pattern.flags & ~re.UNICODE


def _measures(row: Row, clock: Node) -> Iterator[Measure]:
    pattern = row.pattern
    if isinstance(pattern, Literal):
        yield lambda one, size: clock.seconds(pattern, one, size)
        return
    whole = row.uses & {"match", "fullmatch", "search", "split", "findall"}
    for use in whole | ({"finditer"} if row.uses - whole or not row.uses else set()):
        yield _python_measure(row, getattr(pattern, use))


# Any: a method of a pattern takes the text or bytes that its pattern is for.
def _python_measure(row: Row, apply: Callable[[Any], Any]) -> Measure:
    is_bytes = not isinstance(row.pattern, Literal) and isinstance(row.pattern.pattern, bytes)
    in_steps = row.place in IN_STEPS

    def measure(one: Input, size: int) -> float:
        text = one.text(size)
        given = text.encode("latin-1", "replace") if is_bytes else text
        begin = thread_time()
        found = apply(given)
        if in_steps:
            return _longest_step(found)
        if isinstance(found, Iterator):
            deque(found, maxlen=0)
        return thread_time() - begin

    return measure


def _longest_step(found: Iterator[object]) -> float:
    longest, begin = 0.0, thread_time()
    for _ in islice(found, _STEPS):
        end = thread_time()
        longest, begin = max(longest, end - begin), end
    return max(longest, thread_time() - begin)

"""Checks that no regular expression of the source has a shape that backtracks.

Part of `make check`. `tools/backtracking.py` knows the shapes; `tests/unit/patterns` finds the expressions of
Python, of the pages' scripts and of shipped data, and times each of them as well. An expression that must keep
such a shape has a row in `ALLOWED`, with the reason why it does no harm.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

from tests.unit.patterns.javascript import javascript_patterns
from tests.unit.patterns.table import BUILT, DATA, ELSEWHERE, TRUSTED
from tests.unit.patterns.walk import SOURCE, evaluate, python_patterns
from tools.backtracking import shapes

# By module, or by module and name, or text, of the expression.
ALLOWED = {
    "channels/email/quotes.py _SAID": "its repeats take 300 and 200 characters at most, at the start of a line",
    "config/chat_settings.py f'^(\\\\*\\\\.)?{_LABEL}(\\\\.{_LABEL})*\\\\.?$'": (
        "pydantic's own engine runs it, which does not backtrack, on 253 characters of the operator's"
    ),
    "ops/masker.py re.compile('(?P<kept>\\\\beyJ[A-Za-z0-9_-]{8,}+(?!\\\\.[A-Za-z0-9_-]++\\\\.))"
    "|\\\\beyJ[A-Za-z0-9_-]{8,}+\\\\.[A-Za-z0-9_-]++\\\\.[A-Za-z0-9_-]*+')": (
        "where the second half does not match the first half does, so no run is read twice"
    ),
    "schedule/cron_words.py": "its only caller refuses a schedule of more than 300 characters",
    "tools/builtin/web_fetch.py _DECLARED": "it looks at the first 1,024 bytes of a page",
    "channels/web/static/view.js 0+$": "the digits of a price",
}
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


class Expression(NamedTuple):
    """An expression of the source: its name in the tables, where it is, its text and how it is applied."""

    place: str
    where: str
    source: str
    flags: int = 0
    uses: frozenset[str] = frozenset()


def expressions() -> Iterator[Expression]:
    """Yield every expression that may see text from outside."""
    yield from _of_python()
    for script in javascript_patterns():
        # One that is built while it runs is an error of the tests.
        if script.source is not None and not script.script.startswith(tuple(TRUSTED)):
            flags = sum(_FLAGS.get(one, 0) for one in script.flags)
            where = f"{script.script}:{script.line}"
            yield Expression(f"{script.script} {script.source}", where, script.source, flags)
    for name, source in shipped_data():
        yield Expression(f"{name} {source}", name, source)


def shipped_data() -> list[tuple[str, str]]:
    """Return the expressions of shipped data, each with its file."""
    found: list[tuple[str, str]] = []
    for name, keys in DATA.items():
        waiting: list[object] = [tomllib.loads((SOURCE / name).read_text(encoding="utf-8"))]
        for one in waiting:
            inner = one.items() if isinstance(one, dict) else enumerate(one)  # type: ignore[arg-type]
            for key, value in inner:
                if key in keys:
                    sources = [value] if isinstance(value, str) else value
                    found += [(name, source) for source in sources]
                elif isinstance(value, dict | list):
                    waiting.append(value)
    return found


def problems(found: Iterator[Expression], allowed: dict[str, str]) -> Iterator[str]:
    """Yield each expression with a shape that backtracks, and each row of the table that is not needed."""
    unused = set(allowed)
    for one in found:
        wrong = shapes(one.source, one.flags, uses=one.uses)
        rows = {one.place, one.place.partition(" ")[0]} & set(allowed)
        if wrong:
            unused -= rows
        if wrong and not rows:
            yield (
                f"{one.where}: {one.source[:120]!r}: {'; '.join(wrong)}. Use possessive repeats (`*+`), "
                "classes that share no character, or a walk over the text"
            )
    for row in sorted(unused):
        yield f"tools/pattern_gate.py: ALLOWED names {row!r}, which needs no exception; remove the row"


def _of_python() -> Iterator[Expression]:
    for one in python_patterns():
        if one.module.startswith(tuple(TRUSTED)) or one.place in ELSEWHERE:
            continue
        pattern = evaluate(one, **BUILT.get(one.place, {}))
        source = pattern.pattern
        text = source.decode("latin-1") if isinstance(source, bytes) else source
        flags = pattern.flags & ~re.UNICODE
        yield Expression(one.place, f"{one.module}:{one.line}", text, flags, one.uses)


def main() -> int:
    """Print what backtracks; returns how the process ends."""
    found = list(expressions())
    wrong = list(problems(iter(found), ALLOWED))
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"pattern gate: {len(found)} expressions, {len(wrong)} breaches\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

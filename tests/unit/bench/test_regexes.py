"""The bench times every regular expression that may see text from outside."""

import re

import pytest

from bench.regexes import KNOWN, Row, rows, worst_of_all
from tests.unit.patterns.javascript import javascript_patterns
from tests.unit.patterns.table import DATA, ELSEWHERE, TRUSTED
from tests.unit.patterns.walk import python_patterns

pytestmark = pytest.mark.req("A8")


def test_every_expression_is_timed_or_has_a_reason_why_not() -> None:
    places = {one.place for one in python_patterns()}
    places |= {f"{one.script} {one.source}" for one in javascript_patterns()}
    timed = {one.place for one in rows()}
    reasons = {**TRUSTED, **ELSEWHERE}
    left_out = {one for one in places - timed if not one.startswith(tuple(reasons))}
    assert left_out == set()
    assert all(reasons.values())
    assert {one.partition(" ")[0] for one in timed} >= set(DATA)


def test_every_known_attack_is_on_an_expression() -> None:
    timed = {one.place for one in rows()}
    assert set(KNOWN) <= timed | {one.partition(" ")[0] for one in timed}


def test_the_slowest_comes_first_with_its_input() -> None:
    quick = Row("net/a.py _QUICK", re.compile(r"x"), frozenset({"match"}))
    slow = Row("net/a.py _SLOW", re.compile(r"[a-z]+!"), frozenset({"search"}))
    # At the largest size the slow one would take minutes; that of a schedule is enough to tell.
    few = Row("schedule/cron_words.py _SLOW", slow.pattern, slow.uses)
    first, last = worst_of_all(iter([quick, few]))
    assert (first.place, last.place) == ("schedule/cron_words.py _SLOW", "net/a.py _QUICK")
    assert first.size == 300

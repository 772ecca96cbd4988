"""No regular expression that sees text from outside takes more than linear time, whatever it is given."""

import re
from collections.abc import Iterator

import pytest

from hermes.graph import MAX_MESSAGE_BYTES
from tests.unit.patterns.javascript import Literal, Node, javascript_patterns, literals, node
from tests.unit.patterns.judge import Verdict, judge, judge_all
from tests.unit.patterns.table import (
    BUILT,
    DATA,
    ELSEWHERE,
    LARGER,
    LARGEST,
    SMALLER,
    TRUSTED,
    largest,
)
from tests.unit.patterns.walk import SOURCE, Found, evaluate, python_patterns
from tests.unit.patterns.worst_cases import Input, inputs_for
from tools.pattern_gate import shipped_data

pytestmark = pytest.mark.req("A8")
ALL = python_patterns()
JUDGED = [
    one for one in ALL if not one.module.startswith(tuple(TRUSTED)) and one.place not in ELSEWHERE
]
SCRIPTS = [one for one in javascript_patterns() if not one.script.startswith(tuple(TRUSTED))]
# As they were; each made the gateway or the page unresponsive.
QUADRATIC = [
    (r'"((?:[^"\\]|\\.)*)"', "sub"),
    (r'"(?:[^"\\]|\\.)*"|[\[\]{}]', "finditer"),
    (r"(://)[^/@\s\"']+:[^/@\s\"']+(?=@)", "sub"),
    (r"\d{6,}:AA[A-Za-z0-9_-]{20,}", "sub"),
    (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", "sub"),
    (r"[A-Za-z0-9+/_-]{4000,}", "sub"),
    (r"\s*[\n\v\f\r\x85\u2028\u2029]\s*", "sub"),
    (r"(?:\s*(?:re|aw|sv)\s*(?:\[\d+\])?\s*:)+\s*", "match"),
    (r"claude(?:-[a-z]+)*-(\d{1,2})", "search"),
]
EXPONENTIAL = [r"(a+)+$", r"(a|aa)+$", r"^(?:[a-z]+\s?)*!", r"(?:ab|a|b)*c"]
QUADRATIC_SCRIPTS = [
    r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$",
    r"^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$",
    r"^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$",
    r"^ (.*\S.*) $",
    r"\s+[\"'(].*$",
    r"[.,;:!?*_~)\]]+$",
]


@pytest.fixture(scope="module")
def clock() -> Iterator[Node]:
    # The wall's time, which a busy machine stretches: much more than any linear expression takes.
    with node("timer.mjs", "20") as running:
        yield running


def judge_script(clock: Node, pattern: Literal) -> Verdict | None:
    assert pattern.source is not None, "it is built while it runs: judge what it is built from"
    return judge_all(
        lambda given, size: clock.seconds(pattern, given, size),
        inputs_for(pattern.source),
        unit=clock.unit,
        largest=largest(f"{pattern.script} {pattern.source}"),
    )


@pytest.mark.parametrize("found", JUDGED, ids=[f"{one.module}:{one.line}" for one in JUDGED])
def test_an_expression_is_linear(found: Found) -> None:
    pattern = evaluate(found, **BUILT.get(found.place, {}))
    verdict = judge(pattern, found.uses, largest=largest(found.place))
    assert verdict is None, f"{found.place}: {verdict}"


@pytest.mark.parametrize("pattern", SCRIPTS, ids=[f"{one.script}:{one.line}" for one in SCRIPTS])
def test_an_expression_of_the_pages_is_linear(pattern: Literal, clock: Node) -> None:
    verdict = judge_script(clock, pattern)
    assert verdict is None, f"{pattern.script} {pattern.source}: {verdict}"


@pytest.mark.parametrize(("name", "source"), shipped_data())
def test_an_expression_of_shipped_data_is_linear(name: str, source: str) -> None:
    verdict = judge(re.compile(source), {"finditer"}, largest=largest(name))
    assert verdict is None, f"{source}: {verdict}"


@pytest.mark.parametrize(("source", "use"), QUADRATIC)
def test_the_judge_finds_what_is_not_linear(source: str, use: str) -> None:
    assert judge(re.compile(source), {use}, largest=LARGEST) is not None


def test_the_judge_finds_what_is_cheap_and_grows_too_fast() -> None:
    def quadratic(_given: Input, size: int) -> float:
        return size**2 * 1e-13

    def linear(_given: Input, size: int) -> float:
        return size * 1e-8

    some = [Input("", "a", "")]
    assert judge_all(quadratic, some, unit=lambda: 1e-8, largest=LARGEST) is None
    found = judge_all(quadratic, some, unit=lambda: 1e-8, largest=MAX_MESSAGE_BYTES)
    assert found is not None
    assert found.size == MAX_MESSAGE_BYTES
    cheap = judge_all(quadratic, some, unit=lambda: 1e-5, largest=MAX_MESSAGE_BYTES)
    assert cheap is not None
    assert cheap.cost < 1
    assert judge_all(linear, some, unit=lambda: 1e-8, largest=MAX_MESSAGE_BYTES) is None


@pytest.mark.parametrize("source", EXPONENTIAL)
def test_the_judge_stops_what_would_never_end(source: str) -> None:
    verdict = judge(re.compile(source), {"match"}, largest=LARGEST)
    assert verdict is not None
    assert "stopped at" in str(verdict)


def test_the_judge_stops_what_would_never_end_in_a_page() -> None:
    with node("timer.mjs", "0.2") as impatient:
        assert judge_script(impatient, Literal("", 1, r"(a|aa)+$")) is not None


@pytest.mark.parametrize("source", QUADRATIC_SCRIPTS)
def test_the_judge_finds_what_is_not_linear_in_a_page(source: str, clock: Node) -> None:
    assert judge_script(clock, Literal("", 1, source)) is not None


def test_every_row_of_the_tables_is_about_an_expression() -> None:
    scripts = {f"{one.script} {one.source}" for one in SCRIPTS} | {one.script for one in SCRIPTS}
    places = {one.place for one in ALL} | {one.module for one in ALL} | scripts | set(DATA)
    assert {*LARGER, *SMALLER, *BUILT, *ELSEWHERE} - places == set()


def test_the_walk_sees_every_way_to_write_an_expression() -> None:
    places = {one.place for one in ALL}
    assert {
        "schema/unfinished_json.py _INSIDE",
        "channels/slack/wire.py '^[A-Z][A-Z0-9]{1,40}$'",
    } <= places
    assert any("[/" in one.expression for one in ALL if one.module == "channels/email/mime.py")
    imported = [
        path
        for path in SOURCE.rglob("*.py")
        if re.search(r"^\s*(from re import|import re as|import regex)", path.read_text(), re.M)
    ]
    assert imported == [], "the walk knows `import re` only"


def test_the_walk_sees_every_expression_of_a_script() -> None:
    script = r"""
        const a = b / c / d; // no /comment/
        /* nor /this/ */ const s = "nor /this/" + 'or /this/' + `or /this/ but ${x.replace(/y\/[/]`/g, "}")} /z/`;
        if (/w/.test(v)) return /u/i.test(t[0] / 2 / 1);
        new RegExp(r);
    """
    found = [(one.source, one.flags) for one in literals(script)]
    assert found == [(r"y\/[/]`", "g"), ("w", ""), ("u", "i"), (None, "")]

"""The gate of regular expressions knows the shapes that backtrack, and lets the others pass."""

import re

import pytest

from tests.unit.patterns.test_patterns import EXPONENTIAL, QUADRATIC, QUADRATIC_SCRIPTS
from tools.backtracking import shapes
from tools.pattern_gate import ALLOWED, Expression, expressions, main, problems

pytestmark = pytest.mark.req("A8")
NESTED = "a repeat inside a repeat can end in more than one place"
ADJACENT = "two repeats that follow each other take the same characters"
ALTERNATIVES = "alternatives under a repeat begin with the same character"
SEARCHED = "a search begins a long repeat again at each character that it takes"
ASIDE = "a lookahead inside a repeat has a long repeat of its own"
BAD = [
    (r"(a+)+$", "match", NESTED),
    (r"(?:a*b?)*!", "match", NESTED),
    (r"^(\w+\s?)*$", "search", NESTED),
    (r"(?:x(?:a{1,900}){2,})+!", "match", NESTED),
    (r"(?>(?:a+)+!)", "match", NESTED),
    (r"\s*\s*!", "match", ADJACENT),
    (r"a.*x.*y", "match", ADJACENT),
    (r"\d+(?:-\d)?\d*!", "match", ADJACENT),
    (r"tz=(\S+)\s+(.*)", "fullmatch", ADJACENT),
    (r"[ \t]*~{3,}[^`]*\Z", "match", ADJACENT),
    (r"size:[\d.]*[1-9][\d.]*\s*px", "match", ADJACENT),
    (r"(?=\s*\w*\s*\w*!)", "match", ADJACENT),
    (r"(?:[a-c]x?|[c-e])*!", "match", ALTERNATIVES),
    (r"(?:ab|a|b)*c", "match", ALTERNATIVES),
    (r"(?i)(?:ab|[A-C])+!", "match", ALTERNATIVES),
    (r"\w+:", "search", SEARCHED),
    (r"\s+$", "sub", SEARCHED),
    (r"<!--.*?-->", "sub", SEARCHED),
    (r"[a-z]{4000,}", "finditer", SEARCHED),
    (r"\bsk-[a-z-]+!", "search", SEARCHED),
    (r"a(?=.*b)", "search", SEARCHED),
    (r"(?:a(?=[^b]*c))*", "match", ASIDE),
]
GOOD = [
    (r"(?:a++b)*!", "match"),
    (r"(?>(?:a+)+)!", "match"),
    (r'"(?:[^"\\]++|\\.)*+"', "match"),
    (r"(?:\s+\w+)*!", "match"),
    (r"\s*+\s*!", "match"),
    (r"\s*\S+", "match"),
    (r"[^:]*:[^:]*:", "match"),
    (r"tz=(\S+)\s++(.*)", "fullmatch"),
    (r"(\w+)\s*(.*)", "match"),
    (r"(?s)\w*.*", "fullmatch"),
    (r"size:[.0]*+[1-9][\d.]*+\s*px", "match"),
    (r"(?:[a-b]x?|[c-e])*!", "match"),
    (r"(?:[a-c]|[c-e])*!", "match"),
    (r"(?:ab|cd)*!", "match"),
    (r"(?:[^\Wa]|[aé])+", "findall"),
    (r"\w+:", "match"),
    (r"^\s+$", "search"),
    (r"(?m)^#\w+!", "search"),
    (r"(?<!\d)\d{6,}+:AA", "sub"),
    (r"(?<!\w)\w+:", "search"),
    (r"\b\w+:", "search"),
    (r"<[^<>]*>", "sub"),
    (r"a[^a]{0,40}[^b]{0,40}!", "search"),
    (r"\s+", "split"),
]


@pytest.mark.parametrize(("source", "use", "said"), BAD)
def test_a_shape_that_backtracks_is_named(source: str, use: str, said: str) -> None:
    assert said in shapes(source, uses={use})


@pytest.mark.parametrize(("source", "use"), GOOD)
def test_a_linear_shape_passes(source: str, use: str) -> None:
    assert shapes(source, uses={use}) == ()


@pytest.mark.parametrize(
    ("source", "use"),
    [
        *QUADRATIC,
        *((one, "match") for one in EXPONENTIAL),
        *((one, "") for one in QUADRATIC_SCRIPTS),
    ],
)
def test_the_gate_finds_what_the_clock_found(source: str, use: str) -> None:
    assert shapes(source, uses={use} - {""}) != ()


def test_an_expression_that_nobody_is_seen_to_use_may_be_searched_for() -> None:
    assert shapes(r"\w+:") == (SEARCHED,)
    assert shapes(r"\w+:", re.MULTILINE, uses={"match"}) == ()


def test_every_expression_of_the_source_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert "0 breaches" in capsys.readouterr().out


def test_the_gate_reads_python_scripts_and_data() -> None:
    read = {one.place for one in expressions()}
    assert {
        "schema/unfinished_json.py _INSIDE",
        r"channels/web/static/markdown.js ^ {0,3}> ?",
    } <= read
    assert any(one.startswith("memory/injections.toml ") for one in read)


def test_an_exception_needs_an_expression_that_needs_it() -> None:
    bad = Expression("net/a.py _BAD", "net/a.py:3", "(a+)+$")
    good = Expression("net/a.py _GOOD", "net/a.py:4", "a+")
    (said,) = problems(iter([bad, good]), {})
    assert said.startswith("net/a.py:3: '(a+)+$': ")
    assert list(problems(iter([bad]), {"net/a.py _BAD": "never long"})) == []
    (unneeded,) = problems(iter([good]), {"net/a.py _GOOD": "never long"})
    assert "needs no exception" in unneeded
    assert all(ALLOWED.values())

"""The operators of `make mutants`: which faults they make, and that a fault keeps its name."""

from textwrap import dedent

import pytest

from tests.mutants import operators, sql_guards
from tests.mutants.areas import ROOT, file_faults
from tests.mutants.faults import Fault, changed, choose, diff_of
from tests.mutants.sql_check import is_runnable, runnable


def python(source: str) -> list[Fault]:
    return list(operators.faults_of(dedent(source), area="a", path="src/hermes/x.py"))


def made(source: str) -> list[tuple[str, str]]:
    return [(fault.operator, fault.after) for fault in python(source)]


def sql(source: str) -> list[tuple[str, str]]:
    found = sql_guards.faults_of(source, area="a", path="src/hermes/x.sql")
    return [(fault.operator, fault.after) for fault in found]


def test_conditions_comparisons_and_numbers() -> None:
    source = """
        def f(n):
            if n < 3:
                return 1
            return 2.5
    """

    assert made(source) == [
        ("condition", "if (not (n < 3)):"),
        ("early return", "pass"),
        ("comparison", "if n <= 3:"),
        ("constant", "if n < 4:"),
        ("constant", "return 2"),
        ("constant", "return 5.0"),
    ]


def test_and_or_and_each_operand() -> None:
    source = """
        def f(a, b):
            return a and b == 1
    """

    assert made(source)[:3] == [
        ("and/or", "return ((a) or (b == 1))"),
        ("operand", "return ((b == 1))"),
        ("operand", "return ((a))"),
    ]


def test_calls_awaits_and_raises_are_left_out_and_logs_stay() -> None:
    source = """
        class C:
            async def f(self):
                self.g(
                    self.h,
                )
                await self.h()
                _log.info("told", at=1)
                raise ValueError("no %s" % 1)
    """

    assert [(fault.function, fault.operator, fault.after) for fault in python(source)] == [
        ("C.f", "call", "pass"),
        ("C.f", "await", "pass"),
        ("C.f", "raise", "pass"),
    ]


def test_numbers_at_the_top_that_only_functions_read() -> None:
    source = """
        _MOST = 5
        _WIDE = 2
        _TWICE = _WIDE * 2

        def f():
            return _MOST
    """

    assert made(source) == [("constant", "_MOST = 6")]


def test_what_can_only_be_run_where_it_stands_is_left_alone() -> None:
    source = """
        def f(n=1, *, deep=True):
            assert n == 1
            text = f"{n + 1}"
            yield g(n)
            return text
    """

    assert made(source) == []


def test_a_faulty_source_has_as_many_lines() -> None:
    source = "def f(a):\n    a(\n        b,\n    )\n    return 1\n"
    call, number = python(source)

    assert changed(source, call.edit) == "def f(a):\n    pass\n\n\n    return 1\n"
    assert changed(source, number.edit).count("\n") == source.count("\n")
    assert diff_of(number, source).endswith("@@ -5 +5 @@\n-    return 1\n+    return 2")


def test_a_fault_keeps_its_name_when_lines_above_it_come() -> None:
    source = "def f(a):\n    return a < 1\n"
    before, after = python(source), python(f"import x\n\n\n{source}")

    assert [one.identity for one in before] == [one.identity for one in after]
    assert [one.line for one in after] == [one.line + 3 for one in before]


def test_columns_behind_letters_of_several_bytes() -> None:
    assert ("comparison", 'return "ü" != a') in made('def f(a):\n    return "ü" == a\n')


@pytest.mark.parametrize(
    ("where", "guards"),
    [
        ("a = ?1", ["WHERE (a = ?1 OR 1);"]),
        ("a = ?1 AND b IS NULL", ["WHERE (a = ?1 OR 1) AND b IS NULL;", "WHERE a = ?1 AND (b IS NULL OR 1);"]),
        ("a BETWEEN 1 AND 2 AND b", ["WHERE (a BETWEEN 1 AND 2 OR 1) AND b;", "WHERE a BETWEEN 1 AND 2 AND (b OR 1);"]),
        ("a OR b", []),
        ("(a OR b) AND c = 'x AND y'", ["WHERE ((a OR b) OR 1) AND c = 'x AND y';", "WHERE (a OR b) AND (c = 'x AND y' OR 1);"]),
    ],
)  # fmt: skip
def test_each_conjunct_of_a_query(where: str, guards: list[str]) -> None:
    found = sql(f"-- name: q\n-- Finds it; AND more.\nSELECT 1 FROM t\nWHERE {where};\n")

    assert [after for operator, after in found if operator == "SQL guard"] == guards


def test_queries_inside_queries_and_bounds() -> None:
    source = (
        "-- name: q\nDELETE FROM t WHERE a > ?1 AND NOT EXISTS (SELECT 1 FROM u WHERE u.b <= t.b) "
        "ORDER BY a LIMIT 1;\n"
    )

    assert [after.partition("WHERE ")[2] for _, after in sql(source)] == [
        "(a > ?1 OR 1) AND NOT EXISTS (SELECT 1 FROM u WHERE u.b <= t.b) ORDER BY a LIMIT 1;",
        "a > ?1 AND (NOT EXISTS (SELECT 1 FROM u WHERE u.b <= t.b) OR 1) ORDER BY a LIMIT 1;",
        "a > ?1 AND NOT EXISTS (SELECT 1 FROM u WHERE (u.b <= t.b OR 1)) ORDER BY a LIMIT 1;",
        "a >= ?1 AND NOT EXISTS (SELECT 1 FROM u WHERE u.b <= t.b) ORDER BY a LIMIT 1;",
        "a > ?1 AND NOT EXISTS (SELECT 1 FROM u WHERE u.b < t.b) ORDER BY a LIMIT 1;",
    ]


def numbered(area: str, count: int) -> list[Fault]:
    text = "".join(f"def f{number}(a):\n    return a < {number}\n" for number in range(count))
    return list(operators.faults_of(text, area=area, path=f"src/hermes/{area}.py"))


def test_a_seed_draws_the_same_faults_of_every_area_and_another_others() -> None:
    faults = [*numbered("one", 30), *numbered("two", 30), *numbered("small", 1)]

    first, again, other = (choose(faults, seed=seed, count=22) for seed in (1, 1, 2))

    assert first == again != other
    areas = [fault.area for fault in first]
    assert [areas.count(area) for area in ("one", "two", "small")] == [10, 10, 2]
    # A line gives a second fault only when every line has given one.
    assert len({fault.before for fault in first if fault.area == "one"}) == 10


def test_what_was_drawn_stays_drawn_when_other_code_changes() -> None:
    before = set(choose(numbered("one", 30), seed=1, count=10))
    after = set(choose(numbered("one", 33), seed=1, count=10))

    assert len(before & after) >= 7


def test_the_condition_of_a_partial_index_guards_nothing() -> None:
    source = (
        "-- name: q\nINSERT INTO t (a) VALUES (?1) ON CONFLICT (a) WHERE a IS NOT NULL DO UPDATE "
        "SET a = 1 WHERE a = 2;\n"
    )

    assert [after.partition("SET ")[2] for _, after in sql(source)] == ["a = 1 WHERE (a = 2 OR 1);"]


def test_a_fault_that_sqlite_cannot_run_is_not_drawn() -> None:
    source = "-- name: q\nSELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state <> 'done';\n"
    found = list(sql_guards.faults_of(source, area="store", path="x.sql"))

    assert [fault.edit.text for fault in found] == ["(lane = ?1 OR 1)", "(state <> 'done' OR 1)"]
    assert [fault.edit.text for fault in runnable(found, source)] == ["(lane = ?1 OR 1)"]


def test_every_query_of_the_store_has_its_faults_and_all_can_be_run() -> None:
    path = ROOT / "src/hermes/store/sql/queries/people.sql"
    source = path.read_text(encoding="utf-8")
    faults = list(file_faults(path, area="people"))

    assert len(faults) > 20
    assert [fault.identity for fault in faults if not is_runnable(fault, source)] == []

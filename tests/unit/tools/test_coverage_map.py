"""The coverage map reads every form of the mark, and refuses ids that do not exist."""

import json
from pathlib import Path

import pytest

from tools.coverage_map import HERE, Claim, collect, find_unknown, main, read_requirements


def claims_of(folder: Path, text: str) -> list[Claim]:
    path = folder / "test_it.py"
    path.write_text(text)
    return collect([path], root=folder).claims


def make_project(folder: Path, tests: str) -> list[str]:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(tests)
    (folder / "ids.txt").write_text("# the ids\n\nA1 The first\nA2 The second\nJ1 The third\n")
    return [
        str(folder / "tests"),
        *("--ids", str(folder / "ids.txt")),
        *("--proofs", str(folder / "proofs.json")),
    ]


def prove(folder: Path, requirement: str, test: str) -> None:
    """Write the proof that a test, as it is now, failed without a requirement."""
    path = folder / "tests" / "test_it.py"
    name = f"{path}::{test}"
    digest = collect([path], root=folder / "elsewhere").digests[name]
    (folder / "proofs.json").write_text(json.dumps({requirement: {"tests": {name: digest}}}))


def test_marks_on_functions_are_read_also_on_async_ones(tmp_path: Path) -> None:
    text = (
        "@pytest.mark.req('A1', 'A2')\ndef test_one(): ...\n"
        "@pytest.mark.slow\n@pytest.mark.req('J1')\nasync def test_two(): ...\n"
    )

    assert claims_of(tmp_path, text) == [
        Claim("A1", "test_it.py::test_one"),
        Claim("A2", "test_it.py::test_one"),
        Claim("J1", "test_it.py::test_two"),
    ]


def test_marks_of_a_class_and_of_the_module_hold_for_each_test_in_them(tmp_path: Path) -> None:
    text = (
        "pytestmark = [pytest.mark.req('A1')]\n"
        "@pytest.mark.req('A2')\nclass TestIt:\n"
        "    pytestmark = pytest.mark.req('J1')\n"
        "    def test_inner(self): ...\n"
        "def test_outer(): ...\n"
    )

    assert claims_of(tmp_path, text) == [
        Claim("A1", "test_it.py::TestIt::test_inner"),
        Claim("A2", "test_it.py::TestIt::test_inner"),
        Claim("J1", "test_it.py::TestIt::test_inner"),
        Claim("A1", "test_it.py::test_outer"),
    ]


def test_marks_inside_parameters_count_once_for_the_test(tmp_path: Path) -> None:
    text = (
        "@pytest.mark.parametrize('x', [\n"
        "    pytest.param(1, marks=pytest.mark.req('A1')),\n"
        "    pytest.param(2, marks=[pytest.mark.req('A1')]),\n"
        "])\ndef test_one(x): ...\n"
    )

    assert claims_of(tmp_path, text) == [Claim("A1", "test_it.py::test_one")]


def test_what_pytest_does_not_collect_claims_nothing(tmp_path: Path) -> None:
    text = (
        "@pytest.mark.req('A1')\ndef build(): ...\n"
        "@pytest.mark.req('A2')\nclass Story:\n    def test_inner(self): ...\n"
    )

    assert claims_of(tmp_path, text) == []


@pytest.mark.parametrize(
    "mark", ["req(*IDS)", "req(ID)", "req()", "req(7)", "req('A1', also='A2')"]
)
def test_a_mark_that_cannot_be_read_is_a_problem(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(f"@pytest.mark.{mark}\ndef test_one(): ...\n")

    [problem] = collect([path], root=tmp_path).problems

    assert problem.startswith(f"test_it.py::test_one: pytest.mark.{mark} (line 1) cannot be read")


def test_the_table_shows_proven_tests_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "@pytest.mark.req('A2')\ndef test_one(): ...\n@pytest.mark.req('A2')\ndef test_two(): ...\n"
    )
    arguments = make_project(tmp_path, text)
    prove(tmp_path, "A2", "test_one")

    status = main([*arguments, "--only", "A"])

    told = capsys.readouterr()
    assert status == 0
    assert told.err == ""
    assert told.out == (
        "A1     0  The first\n"
        "A2     1  The second\n"
        f"            {tmp_path}/tests/test_it.py::test_one\n"
        "1 of 2 requirements have a test that proves them.\n"
        "A1   no test  The first\n"
        "Marks: 1 proven, 0 of tests that have changed since, 0 of tests that pass without the "
        "feature, 1 not tried (`make prove`).\n"
    )


def test_a_proof_holds_for_the_test_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = make_project(tmp_path, "@pytest.mark.req('A2')\ndef test_one(): assert 1\n")
    prove(tmp_path, "A2", "test_one")
    path = tmp_path / "tests" / "test_it.py"

    path.write_text(
        "@pytest.mark.req('A2')\n@pytest.mark.slow\ndef test_one():\n    assert 1  # so\n"
    )
    same = main([*arguments, "--only", "A2", "--require-all"])
    capsys.readouterr()
    path.write_text("@pytest.mark.req('A2')\ndef test_one(): assert 2\n")
    other = main([*arguments, "--only", "A2", "--require-all", "--unproven"])

    assert (same, other) == (0, 1)
    told = capsys.readouterr().out
    assert f"changed  {path}::test_one" in told
    assert "A2   no proof, 1 marks  The second" in told


def test_an_unknown_id_fails_and_names_the_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = make_project(tmp_path, "@pytest.mark.req('A99')\ndef test_one(): ...\n")

    status = main([*arguments, "--missing"])

    assert status == 1
    assert capsys.readouterr().err == f"unknown id A99 in {tmp_path}/tests/test_it.py::test_one\n"


def test_a_test_file_that_is_no_python_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = make_project(tmp_path, "def (\n")

    status = main(arguments)

    assert status == 1
    assert "test_it.py:1: is no Python" in capsys.readouterr().err


def test_json_holds_the_whole_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = make_project(tmp_path, "@pytest.mark.req('A1', 'B7')\ndef test_one(): ...\n")
    prove(tmp_path, "A1", "test_one")

    status = main([*arguments, "--json", "--only", "A"])

    name = f"{tmp_path}/tests/test_it.py::test_one"
    assert status == 1
    assert json.loads(capsys.readouterr().out) == {
        "requirements": {
            "A1": {
                "title": "The first",
                "tests": [name],
                "changed": [],
                "passed": [],
                "untried": [],
            },
            "A2": {"title": "The second", "tests": [], "changed": [], "passed": [], "untried": []},
        },
        "missing": ["A2"],
        "unknown": [{"id": "B7", "test": name}],
        "problems": [],
    }


@pytest.mark.parametrize(("prefix", "status"), [("A1", 0), ("A", 1)])
def test_require_all_fails_while_an_id_has_no_proven_test(
    tmp_path: Path, prefix: str, status: int
) -> None:
    arguments = make_project(tmp_path, "@pytest.mark.req('A1', 'A2')\ndef test_one(): ...\n")
    prove(tmp_path, "A1", "test_one")

    assert main([*arguments, "--require-all", "--only", prefix]) == status


@pytest.mark.parametrize("arguments", [["absent"], ["--ids", "absent.txt", "."]])
def test_wrong_arguments_are_explained(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "error: no such" in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == 0
    assert "make coverage-map ARGS=--json" in capsys.readouterr().out


def test_every_mark_of_the_project_names_a_known_id() -> None:
    findings = collect((HERE.parent / "tests").rglob("*.py"), root=HERE.parent)

    known = read_requirements(HERE / "requirement_ids.txt")
    assert find_unknown(known, findings.claims) == []
    assert findings.problems == []


def test_the_projects_list_has_every_id_once_in_order_with_a_title() -> None:
    lengths = {"A": 34, "P": 7, "G": 7, "W": 43, "M": 12, "J": 25}
    expected = [
        f"{letter}{number}" for letter, length in lengths.items() for number in range(1, length + 1)
    ]

    titles = read_requirements(HERE / "requirement_ids.txt")

    assert list(titles) == expected
    assert [requirement for requirement, title in titles.items() if not title] == []

"""The size gate finds each breach of the house rules that it knows, and nothing else."""

from pathlib import Path

import pytest

from tools.size_gate import body_lines, describe_sizes, find_breaches, main, read_module

DOC = '"""A module."""\n'


def breaches_of(folder: Path, text: str, *, name: str = "dedup.py") -> list[tuple[int, str]]:
    path = folder / name
    path.write_text(text)
    return [(breach.line, breach.text) for breach in find_breaches(read_module(path))]


def function_of(lines: int) -> str:
    return DOC + "def work():\n" + '    """Works."""\n' + "    x = 1\n" * lines


def test_a_tidy_module_has_no_breach(tmp_path: Path) -> None:
    text = DOC + "import os\nfrom hermes import errors\n\n\ndef work():\n    import httpx\n"

    assert breaches_of(tmp_path, text) == []


def test_a_file_of_601_lines_is_too_long_and_one_of_600_is_not(tmp_path: Path) -> None:
    assert breaches_of(tmp_path, DOC + "x = 1\n" * 599) == []
    assert breaches_of(tmp_path, DOC + "x = 1\n" * 600) == [
        (1, "601 lines, at most 600: split it by what it knows")
    ]


def test_a_body_of_51_lines_is_too_long_and_one_of_50_is_not(tmp_path: Path) -> None:
    assert breaches_of(tmp_path, function_of(50)) == []
    assert breaches_of(tmp_path, function_of(51)) == [
        (2, "work has 51 lines, at most 50: take parts out")
    ]


def test_the_signature_and_the_docstring_do_not_count_as_body(tmp_path: Path) -> None:
    path = tmp_path / "dedup.py"
    path.write_text(
        'def work(\n    a,\n    b,\n):\n    """One.\n\n    Two.\n    """\n    return a\n'
    )

    [function] = read_module(path).functions()

    assert body_lines(function) == 1


@pytest.mark.parametrize("name", ["utils.py", "helpers.py", "common.py", "manager.py"])
def test_a_name_that_says_nothing_is_forbidden(tmp_path: Path, name: str) -> None:
    assert breaches_of(tmp_path, DOC, name=name) == [
        (1, f"{name} says nothing: name the file by what it knows")
    ]


@pytest.mark.parametrize("text", ["x = 1\n", "", '"""  """\n', "# only a comment\n"])
def test_a_module_needs_a_docstring(tmp_path: Path, text: str) -> None:
    assert breaches_of(tmp_path, text) == [
        (1, "no module docstring: say what it is, where it sits, what it must not know")
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from hermes.ports import clock", "hermes.ports"),
        ("import hermes", "hermes"),
        ("import hermes.errors as e", "hermes.errors"),
        ("from . import sibling", "."),
        ("from ..ports import clock", "..ports"),
    ],
)
def test_a_first_party_import_inside_a_function_is_found(
    tmp_path: Path, line: str, name: str
) -> None:
    text = DOC + f"class A:\n    async def work(self):\n        if self:\n            {line}\n"

    assert breaches_of(tmp_path, text) == [
        (5, f"work imports {name}: first-party imports stand at the top")
    ]


def test_a_package_whose_name_only_begins_like_ours_is_third_party(tmp_path: Path) -> None:
    assert breaches_of(tmp_path, DOC + "def work():\n    import hermes_other\n") == []


@pytest.mark.parametrize(
    "clause",
    [
        "except:",
        "except Exception:",
        "except BaseException as e:",
        "except (OSError, Exception):",
        "except builtins.Exception:",
        "except Exception:  # whatever comes",
    ],
)
def test_a_broad_except_without_its_boundary_is_found(tmp_path: Path, clause: str) -> None:
    text = DOC + f"try:\n    work()\n{clause}\n    log()\n"

    [(line, said)] = breaches_of(tmp_path, text)

    assert (line, said.split(":")[0]) == (4, "a broad except without its boundary")


@pytest.mark.parametrize(
    "clause",
    [
        "except Exception:  # Boundary: one lane must not stop the others",
        "# task boundary of the sender\nexcept Exception:",
        "except (OSError, ValueError):",
    ],
)
def test_a_narrow_except_or_a_named_boundary_passes(tmp_path: Path, clause: str) -> None:
    assert breaches_of(tmp_path, DOC + f"try:\n    work()\n{clause}\n    log()\n") == []


def test_the_word_in_a_string_is_no_comment(tmp_path: Path) -> None:
    text = DOC + "try:\n    x = 'boundary'\nexcept Exception:\n    log('boundary')\n"

    assert len(breaches_of(tmp_path, text)) == 1


def test_sizes_are_told_as_median_p90_and_maximum() -> None:
    assert describe_sizes(list(range(1, 11))) == "median 5.5, p90 9, max 10"
    assert describe_sizes([7]) == "median 7, p90 7, max 7"
    assert describe_sizes([]) == "none"


def test_the_command_passes_on_a_tidy_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dedup.py").write_text(function_of(3))

    status = main([str(tmp_path)])

    assert status == 0
    assert capsys.readouterr().out == (
        "files:         1  median 6, p90 6, max 6 lines\n"
        "functions:     1  median 3, p90 3, max 3 lines\n"
        "size gate: all within the rules\n"
    )


def test_the_command_fails_and_names_the_place_of_each_breach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "utils.py").write_text(DOC)
    (tmp_path / "broken.py").write_text("def (\n")

    status = main([str(tmp_path)])

    told = capsys.readouterr().out.splitlines()
    assert status == 1
    assert f"{tmp_path}/broken.py:1: is no Python: invalid syntax" in told
    assert any(line.startswith(f"{tmp_path}/inner/utils.py:1: utils.py") for line in told)
    assert told[-1] == "size gate: 2 breaches"


def test_the_command_says_when_the_folder_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([str(tmp_path / "absent")])

    assert status == 2
    assert "no such folder" in capsys.readouterr().err

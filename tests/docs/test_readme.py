"""The first screen of the README says what it must, and CI runs what the README tells people to."""

import re
import tomllib

import pytest

from hermes import __version__
from tests.docs.markdown import ROOT, blocks_of, headings_of, sections_of

README = ROOT / "README.md"
FIRST_SCREEN = 45
MOST_LINES = 160
SAID = "make test"


def first_screen() -> str:
    """Return what a reader sees before scrolling far."""
    return "\n".join(README.read_text(encoding="utf-8").splitlines()[:FIRST_SCREEN])


@pytest.mark.req("W1")
def test_the_first_screen_has_the_two_commands_the_promises_and_the_picture() -> None:
    screen = first_screen()
    commands = blocks_of(README)[0].text

    promises = re.findall(r"^(\d)\. \*\*", screen, re.MULTILINE)

    assert "durable gateway between people on chat platforms and AI agents on models" in screen
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make run", SAID]
    assert promises == list("1234567")
    assert 'src="docs/images/chat.png"' in screen


def test_the_readme_is_short_and_names_what_a_newcomer_needs_next() -> None:
    text = README.read_text(encoding="utf-8")
    wanted = (
        "docs/tutorial.md",
        "docs/index.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "hermes backup",
    )

    assert len(text.splitlines()) <= MOST_LINES
    assert [name for name in wanted if name not in text] == []


def test_the_numbers_are_five_lines_and_a_link_to_the_page_that_has_them_all() -> None:
    section = sections_of(README)["How fast it is"]
    bench = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    lines = [line for line in section.splitlines() if line.startswith("- ")]

    measured = [re.findall(r"\d+\.\d+|\d{2,}(?= ms| messages)", line) for line in lines]

    assert len(lines) == 5
    assert "(docs/benchmarks.md)" in section
    assert [number for numbers in measured for number in numbers if number not in bench] == []


def test_the_caption_says_who_answers_in_the_picture() -> None:
    text = README.read_text(encoding="utf-8")
    caption = text.partition("</picture>")[2][:500]

    assert "scripted model" in caption
    assert "tools/take_screenshots.py" in caption


def test_ci_runs_the_checks_and_then_the_readmes_test_command() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("make ")]

    assert commands == ["make check", SAID]


def test_both_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert re.search(r"^run: setup ", makefile, re.MULTILINE)
    assert re.search(r"^test: setup-dev ", makefile, re.MULTILINE)


def test_the_changelog_has_the_version_and_says_what_a_user_notices() -> None:
    changelog = ROOT / "CHANGELOG.md"
    version = next(name for name in headings_of(changelog) if name.startswith(__version__))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["version"] == __version__
    assert sections_of(changelog)[version].strip()
    assert "Added" in headings_of(changelog)


def test_the_readme_names_the_licence_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f"[{project['license']}](LICENSE)" in sections_of(README)["Licence"]
    assert "Apache 2.0" in sections_of(README)["Licence"]

"""The glossary stays short, sorted and alive: every word in it is used elsewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, sections_of

PAGE = ROOT / "docs" / "glossary.md"
MOST_WORDS = 48
HOUSE_WORDS = ("event", "session", "lane", "turn", "call", "reply", "delivery", "route", "agent")
# Former names of parts of the code. A reader would search the code for them in vain.
FORMER = ("desk", "door", "lever", "office", "purse", "shelf", "sight", "till", "wish")

ENTRIES = {word: text for word, text in sections_of(PAGE).items() if word != "Glossary"}


def texts(*files: Path) -> list[str]:
    """Return the files' texts in small letters, with spaces for what joins names in code."""
    read = (file.read_text(encoding="utf-8").lower() for file in files)
    return [re.sub(r"[_\s]+", " ", text) for text in read]


DOCS = texts(*(page for page in PAGES if page not in (PAGE, ROOT / "CHANGELOG.md")))
CODE = texts(*sorted((ROOT / "src" / "hermes").rglob("*.py")))


def test_the_glossary_is_sorted_and_short_and_has_the_house_words() -> None:
    assert list(ENTRIES) == sorted(ENTRIES)
    assert len(ENTRIES) <= MOST_WORDS
    assert [word for word in HOUSE_WORDS if word not in ENTRIES] == []


@pytest.mark.parametrize("word", ENTRIES)
def test_a_word_of_the_glossary_is_used_in_code_and_in_other_pages(word: str) -> None:
    used = re.compile(rf"\b{re.escape(word)}(s|ed|es|ing)?\b")

    assert any(used.search(text) for text in DOCS)
    assert any(used.search(text) for text in CODE)


def test_the_glossary_names_nothing_by_a_former_name() -> None:
    former = re.compile(rf"\b({'|'.join(FORMER)})s?\b")

    assert [word for word, text in ENTRIES.items() if former.search(f"{word} {text}")] == []

"""Links lead somewhere, pictures are there, and no page tells where it was written."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, anchors_of, links_of, name_of

# Paths of one machine, and addresses of package indexes: neither means anything to a reader.
FOREIGN = re.compile(
    re.escape(str(ROOT)) + r"|/root/|/home/\w|/tmp/|/Users/\w|/usr/local/\w|index-url|/simple/?\b"
)
DECISION = re.compile(
    r"# \d{4} \S.*\n\n## Context\n.+\n## Decision\n.+\n## Consequences\n.+", re.DOTALL
)
MOST_LINES = 60


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_local_link_and_picture_is_there(page: Path) -> None:
    broken = []
    for link in links_of(page):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_mentions_a_machine_or_an_index(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if FOREIGN.search(line)] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}

    unlinked = [page for page in PAGES if page.parent != ROOT and page != index]

    assert [name_of(page) for page in unlinked if page not in linked] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=name_of)
def test_a_decision_is_half_a_page_of_context_decision_and_consequences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", page.name)
    assert text.startswith(f"# {page.name[:4]} ")
    assert DECISION.match(text)
    assert len(text.splitlines()) <= MOST_LINES

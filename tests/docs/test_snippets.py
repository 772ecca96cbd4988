"""The pages are run: every console and Python block, against a real gateway."""

from pathlib import Path

import pytest

from tests.docs.lesson import check_output, run_page
from tests.docs.markdown import PAGES, ROOT, blocks_of, name_of

RUN = ("console", "python")
SHOWN = ("sh", "text", "yaml", "toml", "mermaid", "")
TAUGHT = [page for page in PAGES if any(block.language in RUN for block in blocks_of(page))]


@pytest.mark.req("W1", "W4", "W7", "W12", "P7", "J1")
@pytest.mark.parametrize("page", TAUGHT, ids=name_of)
async def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    await run_page(page, tmp_path)


def test_the_pages_that_must_be_run_are_run() -> None:
    names = {"README.md", *(f"docs/{name}.md" for name in ("quickstart", "cli", "rest-api"))}

    assert names | {"docs/providers.md", "docs/channels/writing-a-channel.md"} <= {
        name_of(page) for page in TAUGHT
    }


def test_every_block_says_what_it_is() -> None:
    known = {*RUN, *SHOWN}
    odd = [
        f"{block.place}: {block.language}"
        for page in PAGES
        for block in blocks_of(page)
        if block.language not in known
    ]

    assert odd == []


def test_no_fence_is_left_open() -> None:
    odd = [
        name_of(page)
        for page in PAGES
        if page.read_text(encoding="utf-8").count("\n```") != 2 * len(blocks_of(page))
    ]

    assert odd == []


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("id m_06gtv2gs6bqvb0ljq03ptcp1 after 5 ms", "id  m_06gtv2gsa5cdehf4hir1u3uu after 17 ms"),
        ("first\n...\nlast", "first\nand\nmore\nlast\n"),
        ("first\n...", "first\nand\nmore\n"),
        ('{"a":1,...}', '{"a":1,"b":2}'),
    ],
)
def test_what_varies_is_not_compared(shown: str, printed: str) -> None:
    check_output(shown, printed, place="here")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("answered", "failed"),
        ("first\n...\nlast", "first\nand\nmore\n"),
        ("id m_06gtv2gs6bqvb0ljq03ptcp1", "id r_06gtv2gs6bqvb0ljq03ptcp1"),
        ("one line", "one line\nand another"),
    ],
)
def test_any_other_difference_is_found(shown: str, printed: str) -> None:
    with pytest.raises(AssertionError, match="the page shows"):
        check_output(shown, printed, place="here")


def test_the_root_is_the_repository() -> None:
    assert (ROOT / "pyproject.toml").is_file()

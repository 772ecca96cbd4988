"""The website of the docs has every page and no dead link, and loads nothing from elsewhere."""

from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT
from tools.docs_site import llms_txt, write_site


class SitePage(HTMLParser):
    """What a page of the site names, links to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.by_attribute: dict[str, list[str]] = defaultdict(list)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.names.add(value or "")
            self.by_attribute["loads" if tag in {"script", "link"} else name].append(value or "")

    def loaded(self) -> list[str]:
        return [one for name in ("src", "srcset", "loads") for one in self.by_attribute[name]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, SitePage]:
    """The site, as it is written."""
    folder = tmp_path_factory.mktemp("site").resolve()
    write_site(folder)
    return {page: SitePage(page.read_text(encoding="utf-8")) for page in folder.rglob("*.html")}


def broken(page: Path, link: str, site: dict[Path, SitePage]) -> bool:
    path, _, name = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(name and name not in site[target].names)


def test_every_page_is_in_the_site_and_links_to_all_of_them(site: dict[Path, SitePage]) -> None:
    folder = next(page.parent for page in site if page.name == "README.html")
    wanted = {folder / page.relative_to(ROOT).with_suffix(".html") for page in PAGES}
    linked = {
        (folder / link).resolve() for link in site[folder / "index.html"].by_attribute["href"]
    }

    assert set(site) == wanted | {folder / "index.html"}
    assert {page for page in wanted if page.is_relative_to(folder / "docs")} - linked == set()


def test_no_link_of_the_site_is_broken(site: dict[Path, SitePage]) -> None:
    links = [
        (page, link)
        for page, found in site.items()
        for link in (*found.by_attribute["href"], *found.loaded())
        if not link.startswith(("http://", "https://", "mailto:"))
    ]

    assert len(links) > len(site)
    assert [(page.name, link) for page, link in links if broken(page, link, site)] == []


def test_a_page_of_the_site_loads_nothing_from_elsewhere(site: dict[Path, SitePage]) -> None:
    loaded = [one for found in site.values() for one in found.loaded()]

    assert [one for one in loaded if "//" in one] == []
    assert any(one.endswith("images/chat.png") for one in loaded)


def test_the_index_for_programs_is_the_generated_one() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")

    assert text == llms_txt(), (
        "docs/llms.txt is old; run: python -m tools.docs_site --llms > docs/llms.txt"
    )

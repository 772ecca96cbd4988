"""Renders docs/ as a website under build/site, and writes the index of the docs for programs.

`python -m tools.docs_site` writes the site, for `make docs`. `python -m tools.docs_site --llms >
docs/llms.txt` writes the index. The navigation and the index are the sections of docs/index.md. A page
of the site needs no network: its style is in it, and pictures are copied. The site has the folders of
the repository, so that links between pages stay as they are.
"""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUT = ROOT / "build" / "site"
# Pages beside docs/ that its pages link to.
_OF_THE_ROOT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LAST_SECTION = "Decisions"
_ENTRY = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<link>[^)#]+)\)")
_ITEM = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
_SOURCE = re.compile(r'\b(?:src|srcset)="([^":]+)"')
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --code: #8882; }
body { display: grid; grid-template-columns: 17rem minmax(0, 50rem); gap: 3rem; margin: 0 auto; max-width: 76rem;
  padding: 1.5rem; font: 1rem/1.6 system-ui, sans-serif; }
nav { font-size: .9rem; } nav ul { list-style: none; margin: 0; padding: 0; }
nav summary { font-weight: 600; cursor: pointer; margin-top: .6rem; } nav [aria-current] { font-weight: 700; }
pre, code { font: .875rem/1.5 ui-monospace, monospace; background: var(--code); border-radius: .25rem; }
code { padding: .1rem .25rem; overflow-wrap: anywhere; } pre { padding: .75rem; overflow: auto; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
table { display: block; overflow: auto; border-collapse: collapse; } img { max-width: 100%; height: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
@media (max-width: 60rem) {
  body { display: block; } nav { max-height: 9rem; overflow: auto; border-bottom: 1px solid var(--line); }
}
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<nav aria-label="Documentation">{navigation}</nav>
<main>{content}</main>
</body>
</html>
"""


@dataclass(frozen=True)
class Entry:
    """One line of docs/index.md: its section, its pages as (title, link), and its text."""

    section: str
    pages: tuple[tuple[str, str], ...]
    text: str


def entries() -> list[Entry]:
    """Return the list items of docs/index.md that name pages."""
    parts = re.split(r"^## (.+)$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.M)
    items = [
        (section, " ".join(item.split()))
        for section, text in zip(parts[1::2], parts[2::2], strict=True)
        for item in _ITEM.findall(text)
    ]
    found = [Entry(section, tuple(_ENTRY.findall(item)), item) for section, item in items]
    return [entry for entry in found if entry.text.startswith("[")]


def llms_txt() -> str:
    """Return the index for programs, in the format of llms.txt: what can be left out is last."""
    head = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    lines = ["# Hermes", "", f"> {' '.join(head.split())}"]
    for section, group in groupby(entries(), key=lambda entry: entry.section):
        name = "Optional" if section == _LAST_SECTION else section
        lines += ["", f"## {name}", "", *(f"- {entry.text}" for entry in group)]
    return "\n".join(lines) + "\n"


def write_site(out: Path) -> list[Path]:
    """Write every page, and each file that a page links to, where it is in the repository."""
    shutil.rmtree(out, ignore_errors=True)
    sources = [*(ROOT / name for name in _OF_THE_ROOT), *sorted(DOCS.rglob("*.md"))]
    pages = [_write_page(page, out) for page in sources]
    shutil.copyfile(out / "README.html", out / "index.html")
    return pages


def _write_page(page: Path, out: Path) -> Path:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = reader.parse(page.read_text(encoding="utf-8"))
    _name_headings(tokens)
    for link in _turn_links(tokens):
        _copy(page.parent / link, out)
    content = str(reader.renderer.render(tokens, reader.options, {}))
    title = re.sub(r"<[^>]+>", "", content.partition("</h1>")[0]).strip()
    target = (out / page.relative_to(ROOT)).with_suffix(".html")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        _PAGE.format(title=title, style=_STYLE, navigation=_navigation(page), content=content),
        encoding="utf-8",
    )
    return target


def _name_headings(tokens: list[Token]) -> None:
    """Give headings the names by which links in Markdown name them."""
    known = Counter[str]()
    for opened, text in pairwise(tokens):
        if opened.type == "heading_open":
            shown = "".join(one.content for one in text.children or [])
            name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
            opened.attrSet("id", f"{name}-{known[name]}" if known[name] else name)
            known[name] += 1


def _turn_links(tokens: list[Token]) -> Iterator[str]:
    """Turn links to pages into links to their HTML; yield the links to all other files."""
    for token in tokens:
        yield from _turn_links(token.children or [])
        if token.type == "link_open":
            path, mark, anchor = str(token.attrGet("href")).partition("#")
            if path.endswith(".md"):
                token.attrSet("href", f"{path.removesuffix('.md')}.html{mark}{anchor}")
            elif path and "://" not in path:
                yield path
        elif token.type in {"html_block", "html_inline"}:
            yield from _SOURCE.findall(token.content)
        elif token.type == "image":
            yield str(token.attrGet("src"))


def _copy(file: Path, out: Path) -> None:
    target = out / file.resolve().relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def _navigation(page: Path) -> str:
    parts = [_list_item(page, "Documentation", "index.md")]
    for section, group in groupby(entries(), key=lambda entry: entry.section):
        pages = [item for entry in group for item in entry.pages]
        is_open = section != _LAST_SECTION or page.parent.name == "decisions"
        items = "".join(_list_item(page, title, link) for title, link in pages)
        parts.append(
            f"<li><details{' open' if is_open else ''}><summary>{escape(section)}</summary>"
            f"<ul>{items}</ul></details></li>"
        )
    return f"<ul>{''.join(parts)}</ul>"


def _list_item(page: Path, title: str, link: str) -> str:
    current = ' aria-current="page"' if page == DOCS / link else ""
    ups = "../" * (len(page.relative_to(ROOT).parents) - 1)
    href = f"{ups}docs/{link.removesuffix('.md')}.html"
    return f'<li><a href="{href}"{current}>{MarkdownIt().renderInline(title)}</a></li>'


def main() -> None:
    """Write the site, or print the index for programs."""
    if "--llms" in sys.argv[1:]:
        sys.stdout.write(llms_txt())
        return
    pages = write_site(OUT)
    sys.stdout.write(f"{len(pages)} pages are written; open {OUT / 'index.html'}\n")


if __name__ == "__main__":
    main()

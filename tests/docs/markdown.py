"""Reads the pages: their blocks of code, headings and links. Pure."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_THE_ROOT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = (*(ROOT / name for name in OF_THE_ROOT), *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# file: (\S+)\n")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
_INLINE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Block:
    """One fenced block; `output` is the `text` block directly below a Python one."""

    page: str
    line: int
    language: str
    text: str
    output: str | None = None

    @property
    def file(self) -> str | None:
        """The file that the block is the content of, if it says so."""
        named = _FILE.match(self.text)
        return named[1] if named else None

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One `$` line of a console block and what the page shows below it."""

    text: str
    output: str


def name_of(page: Path) -> str:
    """Return the page's path as people write it."""
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    blocks = []
    for match, after in zip_longest(found, found[1:]):
        line = text.count("\n", 0, match.start()) + 1
        output = None
        if (
            after is not None
            and after[1] == "text"
            and not text[match.end() : after.start()].strip()
        ):
            output = after[2]
        blocks.append(Block(name_of(page), line, match[1], match[2], output))
    return blocks


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a console block; a line that ends with `\\` goes on in the next."""
    commands: list[Command] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            text = line[2:]
            while text.endswith("\\"):
                text += "\n" + next(lines)
            commands.append(Command(text, ""))
        else:
            assert commands, f"{block.place}: the console block does not begin with `$ `"
            commands[-1] = Command(commands[-1].text, commands[-1].output + line + "\n")
    return commands


def prose_of(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def headings_of(page: Path) -> list[str]:
    """Return the headings of a page, without their marks."""
    return [heading for _, heading in _HEADING.findall(prose_of(page))]


def sections_of(page: Path) -> dict[str, str]:
    """Return the text below each heading, without code marks in the heading."""
    parts = re.split(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name.strip("`"): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def anchors_of(page: Path) -> set[str]:
    """Return the names under which headings can be linked to."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings_of(page)
    }


def links_of(page: Path) -> list[str]:
    """Return the targets of every link and picture of a page."""
    text = _INLINE.sub("", prose_of(page))
    return [first or second for first, second in _LINK.findall(text)]

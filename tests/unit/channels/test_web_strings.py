"""The table of the chat page's texts: every text that a script asks for is there, and every one is used."""

import re
from importlib import resources

import pytest

pytestmark = pytest.mark.req("W9")
FOLDER = resources.files("hermes.channels.web") / "static"
ENTRY = re.compile(r'^  "([a-z_.]+)":\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
NAMED = re.compile(r'"([a-z]+\.[a-z_]+)"')
BUILT = re.compile(r"say\(`([a-z]+)\.\$\{")
FILLED = re.compile(r"\{(\w+)\}")


def table() -> dict[str, str]:
    return dict(ENTRY.findall((FOLDER / "strings.js").read_text()))


def scripts() -> str:
    files = (one for one in FOLDER.iterdir() if one.name.endswith(".js"))
    return "\n".join(one.read_text() for one in files if one.name != "strings.js")


def test_every_text_is_in_the_table_and_used() -> None:
    known = set(table())
    groups = {name.partition(".")[0] for name in known}
    source = scripts()
    named = {name for name in NAMED.findall(source) if name.partition(".")[0] in groups}
    built = tuple(f"{group}." for group in BUILT.findall(source))
    assert named - known == set()
    assert {name for name in known - named if not name.startswith(built)} == set()


def test_what_a_text_is_filled_with_is_given_where_it_is_shown() -> None:
    source = scripts()
    filled = {name: set(FILLED.findall(text)) for name, text in table().items()}
    missing = [
        (name, field)
        for name, fields in filled.items()
        for field in fields
        if re.search(rf"\b{field}\b", source) is None
    ]
    assert missing == []

"""The page of chat commands is what `/help` knows: every command, its use, and when it is answered."""

import re

import pytest

from hermes.sessions.commands import BUILT_IN, CommandSpec
from tests.docs.markdown import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`/.+?) \| (.+) \| (at once|in turn) \|$", re.MULTILINE)


def shown(spec: CommandSpec) -> tuple[str, str, str]:
    """Return the row that a command has on the page."""
    use = spec.use.replace("|", "\\|")
    names = [f"`{f'/{spec.name} {use}'.strip()}`", *(f"`/{alias}`" for alias in spec.aliases)]
    return " or ".join(names), spec.about, "at once" if spec.beside else "in turn"


@pytest.mark.req("W18")
def test_the_table_has_a_row_for_each_command_and_no_other() -> None:
    rows = [match.groups() for match in ROW.finditer(PAGE)]

    assert rows == [shown(spec) for spec in BUILT_IN]


@pytest.mark.req("W18")
@pytest.mark.parametrize("spec", BUILT_IN, ids=lambda spec: spec.name)
def test_every_example_stands_on_the_page(spec: CommandSpec) -> None:
    words = " ".join(PAGE.split())

    assert [example for example in spec.examples if f"`{example}`" not in words] == []

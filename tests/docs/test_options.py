"""The table of options on the page about models is the table that the code reads."""

from pathlib import Path
from typing import get_args

import pytest

from hermes.ports.options import Option
from tools.options_table import BEGIN, END, table

PAGE = Path("docs/providers.md")


@pytest.mark.req("P1")
def test_the_page_has_the_table_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition(f"{BEGIN}\n")[2].partition(END)[0].strip()
    assert shown == table().strip(), "run python -m tools.options_table, between the markers"


@pytest.mark.req("P1")
def test_every_option_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [option for option in get_args(Option) if f"| `{option}` |" not in text]
    assert missing == []

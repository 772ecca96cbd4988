"""Tables fit their terminal: ids stay whole, what matters least goes, and a pipe gets everything."""

import io

import pytest
from rich.console import Console

from hermes.cli.tables import Column, print_table, relative_time
from hermes.cli.terminal import clean

ID = "m_06gu8v1l2k3j4h5g6f7d8s9a0q"
COLUMNS = (
    Column("when", "time"),
    Column("message", "id"),
    Column("model", rank=1),
    Column("tokens", "number", rank=2),
    Column("state", "state"),
)
ROW = (1_700_000_000.0, ID, "provider:a-model-with-quite-a-long-name", "1,234", "answered")


def shown(width: int, *, terminal: bool = True, color: bool = False) -> str:
    """Print one row and return what a terminal of this width gets."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=terminal,
        no_color=not color,
        highlight=False,
        legacy_windows=False,
    )
    print_table(console, COLUMNS, [ROW])
    return out.getvalue()


@pytest.mark.req("W7")
@pytest.mark.parametrize("width", [20, 40, 60, 80, 110, 200])
def test_an_id_is_never_cut_and_a_row_is_one_line(width: int) -> None:
    lines = shown(width).splitlines()

    assert ID in lines[1]


@pytest.mark.req("W7")
def test_where_there_is_no_room_the_least_important_goes_and_is_named() -> None:
    wide, middle, narrow = shown(200), shown(80), shown(68)

    assert "1,234" in wide
    assert "provider:a-model-with-quite-a-long-name" in wide
    assert "No room" not in wide
    assert "1,234" in middle
    assert "provider:a-mo" in middle
    assert "…" in middle
    assert "No room for: tokens. --wide shows every column." in narrow


@pytest.mark.req("W7")
def test_every_row_fits_the_terminal() -> None:
    rows = shown(80, terminal=False).splitlines()[:2]

    assert all(len(row) <= 80 for row in rows)


@pytest.mark.req("W7")
def test_a_pipe_gets_full_times_and_a_terminal_relative_ones() -> None:
    assert "2023-11-14 22:13:20 UTC" in shown(200, terminal=False)
    assert "2023-11-14 " in shown(200)
    assert "UTC" not in shown(200)


@pytest.mark.req("W7")
def test_states_have_colours_unless_nobody_wants_them() -> None:
    assert "\x1b[32manswered" in shown(200, color=True)
    assert "\x1b[32m" not in shown(200, color=False)
    assert "\x1b" not in shown(200, terminal=False)


@pytest.mark.req("W7")
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "now"),
        (12, "12 s ago"),
        (130, "2 min ago"),
        (3 * 3600, "3 h ago"),
        (86_400, "1 day ago"),
        (5 * 86_400, "5 days ago"),
        (-7_300, "in 2 h"),
        (40 * 86_400, "2023-10-05"),
    ],
)
def test_a_time_is_told_as_people_tell_it(seconds: float, text: str) -> None:
    now = 1_700_000_000.0

    assert relative_time(now - seconds, now) == text


@pytest.mark.req("W7")
def test_a_cell_cannot_manipulate_the_terminal_or_break_its_row() -> None:
    out = io.StringIO()
    console = Console(file=out, width=200, highlight=False)

    print_table(console, (Column("name"), Column("id", "id")), [("a\x1b[2J\n[red]b", "x")])

    assert out.getvalue().splitlines()[1].split() == ["a[2J", "[red]b", "x"]


def test_a_foreign_text_moves_and_hides_nothing() -> None:
    assert clean("\x1b[2Ja\tb\u202ec\u2028") == r"[2Ja" + "\tb" + r"\u202ec\u2028"

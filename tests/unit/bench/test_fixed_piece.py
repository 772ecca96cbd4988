"""The fixed piece of Python, and figures as multiples of it."""

import pytest

from bench.fixed_piece import (
    FIXED_PIECE_VERSION,
    cpu_figures,
    do_piece,
    fixed_piece_ms,
    in_fixed_pieces,
    ratio_name,
)

RESULT = 243190


def test_the_piece_is_the_same_work_every_time() -> None:
    # Another number is another piece: then `FIXED_PIECE_VERSION` must be another one, too.
    assert (FIXED_PIECE_VERSION, do_piece(), do_piece()) == (2, RESULT, RESULT)


def test_the_piece_takes_time() -> None:
    assert fixed_piece_ms(1) > 0


@pytest.mark.parametrize(
    ("figure", "name"),
    [
        ("cpu_ms_per_turn_50", "cpu_per_turn_50_in_fixed_pieces"),
        ("cold_start_cpu_s", "cold_start_cpu_in_fixed_pieces"),
        ("graph_append_us_1k", "graph_append_1k_in_fixed_pieces"),
        ("route_us", "route_in_fixed_pieces"),
    ],
)
def test_a_ratio_is_named_after_its_figure_without_the_unit(figure: str, name: str) -> None:
    assert ratio_name(figure) == name


@pytest.mark.parametrize("figure", ["idle_rss_mb", "turns_per_s_ms"])
def test_a_figure_without_one_unit_of_time_has_no_ratio(figure: str) -> None:
    with pytest.raises(ValueError, match=f"{figure}: .* one unit of us, ms, s"):
        ratio_name(figure)


@pytest.mark.parametrize(
    ("figure", "value", "pieces"),
    [
        ("route_us", 20.0, 0.002),
        ("cpu_ms_per_turn_50", 1.5, 0.15),
        ("cold_start_cpu_s", 1.0, 100.0),
    ],
)
def test_a_ratio_minds_the_unit_of_its_figure(figure: str, value: float, pieces: float) -> None:
    assert in_fixed_pieces(figure, value, piece_ms=10.0) == pytest.approx(pieces)


def test_cpu_figures_are_those_that_have_a_ratio_beside_them() -> None:
    numbers = {
        "cpu_ms_per_turn_50": 1.2,
        "cpu_per_turn_50_in_fixed_pieces": 0.1,
        "p50_ms_50": 3.0,
        "turns_per_s_50": 500.0,
        "idle_rss_mb": 88.0,
    }

    assert cpu_figures(numbers) == {"cpu_ms_per_turn_50": "cpu_per_turn_50_in_fixed_pieces"}

"""What a server says loses what cannot be seen, its excess length, and our secrets."""

import pytest

from hermes.tools.mcp.clean_text import Scrubber, cleaned, one_line


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    "hidden",
    [
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\x9b",
        "\u200b",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\U000e0041",
        "\ud800",
    ],
)
def test_what_cannot_be_seen_is_removed(hidden: str) -> None:
    assert "\x1b" not in cleaned(f"a{hidden}b", 100)
    assert cleaned(f"a{hidden}b", 100) == "a" + hidden.lstrip(hidden[0]) + "b"


@pytest.mark.req("W37")
def test_ordinary_text_stays_as_it_is() -> None:
    text = "Grüße,\n\tمرحبا 👩‍👩‍👧 ✔️"

    assert cleaned(text, 100) == text
    assert cleaned("a\r\nb", 100) == "a\nb"


@pytest.mark.req("W37")
def test_a_long_text_is_cut_where_it_is_said() -> None:
    assert cleaned("x" * 10, 10) == "x" * 10
    assert cleaned("x" * 11, 10) == "x" * 9 + "…"
    assert cleaned("x" * 10_000_000, 10) == "x" * 9 + "…"
    # Also when nothing but the beginning can be seen.
    assert cleaned("x" + "\u200b" * 100, 10) == "x…"


@pytest.mark.req("W37")
def test_a_line_is_a_line() -> None:
    assert one_line(" a\n\n b\x1b[2J ", 50) == "a b[2J"


@pytest.mark.req("W35")
def test_secrets_are_masked_also_without_what_stands_before_them() -> None:
    scrubber = Scrubber(["Bearer canary-0123456789", "short", "other-canary"])

    told = scrubber.scrub("you sent canary-0123456789, short and other-canary")

    assert told == "you sent ****, short and ****"

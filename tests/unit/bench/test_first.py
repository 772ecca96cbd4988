"""Group `first`: which answers count as cut."""

import pytest

from bench.groups.first import is_cut
from hermes.providers.local.settings import LocalSettings

LIMIT = LocalSettings().max_output_tokens


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("reply", "tokens_out", "cut"),
    [
        ("The dragon flew away.", LIMIT, False),
        ("Paris", 2, False),
        ("The dragon flew …", LIMIT, True),
        ("The dragon flew", LIMIT, True),
        ("```\nfly()\n```", LIMIT, False),
        ("```\nfly()\n```\n…", LIMIT, True),
        ("```\nfly(", LIMIT, True),
        ("```\n# It flies.", LIMIT // 2, True),
        ("- dragons\n- kin", LIMIT, True),
    ],
)
def test_an_answer_is_cut_whether_it_shows_it_or_not(
    reply: str, tokens_out: int, *, cut: bool
) -> None:
    assert is_cut(reply, tokens_out=tokens_out) is cut

"""Results that are too long for a model, and too long to be kept."""

import pytest

from hermes.message.parts import ToolResultPart
from hermes.tools import tool
from hermes.tools.result_limit import MAX_KEPT_CHARS, kept_text, shortened
from tests.unit.tools.tool_runs import ran


@pytest.mark.req("A17")
@pytest.mark.parametrize("limit", [1_000, 1_001, 30_000])
def test_a_shortened_result_has_both_ends_and_says_how_much_is_missing(limit: int) -> None:
    text = "".join(chr(ord("a") + index % 26) for index in range(100_003))
    whole = ToolResultPart("c1", "read", text, failed=True)

    short = shortened(whole, limit=limit, message_id="m_1", step=7)

    head, _, rest = short.text.partition("\n\n[")
    note, _, tail = rest.partition("]\n\n")
    assert len(short.text) <= limit
    assert (text.startswith(head), text.endswith(tail)) == (True, True)
    assert min(len(head), len(tail)) > 300
    assert note.startswith(f"{len(text) - len(head) - len(tail)} of 100003 characters are left out")
    assert "kept as step 7 of m_1" in note
    assert (short.call_id, short.name, short.failed) == ("c1", "read", True)


@pytest.mark.req("A17")
async def test_what_is_too_long_to_be_kept_says_so_at_its_end() -> None:
    @tool
    def read() -> str:
        """Read."""
        return "x" * (MAX_KEPT_CHARS + 5)

    result = await ran(read)

    assert kept_text("short") == "short"
    assert result.text.endswith("x\n[5 more characters were not stored]")

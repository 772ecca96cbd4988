"""The result of a tool has no secrets, whether it succeeds, fails or is cut."""

import msgspec
import pytest

from hermes.errors import ToolError
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.tools.executor import run_tool
from hermes.tools.result_limit import MAX_KEPT_CHARS
from tests.unit.tools.tool_runs import CONTEXT

VALUE = "s3cr3t-value-of-a-tool"


async def mask(text: str) -> str:
    return text.replace(VALUE, "[secret TOKEN]")


class Says:
    """A tool that says something, or fails with it."""

    spec = ToolSpec("says", "", msgspec.Raw(b'{"type": "object"}'))
    traits = ToolTraits()

    def __init__(self, text: str, *, fails: bool = False) -> None:
        self._text = text
        self._fails = fails

    async def run(self, _arguments: msgspec.Raw, _context: ToolContext) -> str:
        if self._fails:
            raise ToolError(self._text)
        return self._text


@pytest.mark.req("M9", "W35")
@pytest.mark.parametrize("fails", [False, True])
async def test_a_result_and_a_failure_are_masked(fails: bool) -> None:
    call = ToolCallPart("t1", "says", "{}")

    result = await run_tool(
        Says(f"it is {VALUE}", fails=fails), call, context=CONTEXT, timeout_s=5.0, mask=mask
    )

    assert (result.text, result.failed) == ("it is [secret TOKEN]", fails)


@pytest.mark.req("M9", "W35")
async def test_a_secret_across_the_cut_of_a_long_result_is_masked() -> None:
    call, before = ToolCallPart("t1", "says", "{}"), "x" * (MAX_KEPT_CHARS - 9)

    result = await run_tool(
        Says(f"{before}{VALUE} and more"), call, context=CONTEXT, timeout_s=5.0, mask=mask
    )

    assert "s3cr3t" not in result.text

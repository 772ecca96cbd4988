"""The SDK takes a second to import: a gateway without MCP servers does not pay for it."""

import subprocess
import sys

import pytest


@pytest.mark.req("W37")
def test_the_sdk_is_not_imported_before_a_server_is_started() -> None:
    code = (
        "import sys, hermes.app, tools.command_words as words; words.page(); "
        "print('mcp' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "False\n"

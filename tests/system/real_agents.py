"""Claude Code and Codex themselves, where `make test` puts them."""

from pathlib import Path

import pytest

PARTS = Path(__file__).resolve().parents[2] / "build" / "test-parts" / "agents"
PACKAGES = PARTS / "node_modules"
CLAUDE = PACKAGES / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"
# Its npm package starts this program with Node.
CODEX = next(
    PACKAGES.glob("@openai/codex-*/vendor/*/bin/codex"), PACKAGES / "@openai" / "codex" / "codex"
)


def need(program: Path) -> str:
    """Return a program, or skip the test where it is not installed."""
    if not program.exists():
        pytest.skip(f"{program.name} is not installed: run tools/install_test_parts.sh")
    return str(program)

"""Without bubblewrap nothing is run, and the reason says what to install."""

from pathlib import Path

import pytest

from hermes.tools.terminal.sandbox import tools_problem


@pytest.mark.req("W42")
def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path) -> None:
    alone = tools_problem(str(tmp_path))
    for name in ("setpriv", "prlimit"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    last = tools_problem(str(tmp_path))
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)

    assert alone is not None
    assert alone.startswith(
        "the sandbox needs bwrap and setpriv and prlimit, which are not installed"
    )
    assert last is not None
    assert last.startswith(
        "the sandbox needs bwrap, which is not installed: `apt install bubblewrap"
    )
    assert tools_problem(str(tmp_path)) is None

"""`hermes acp` where no editor is."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import environment


@pytest.mark.parametrize("source", ["/dev/null", "a file"])
def test_what_is_no_pipe_is_refused_with_what_to_do(
    source: str, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "input"
    file.write_text("{}\n", encoding="utf-8")
    with Path(source if source.startswith("/") else file).open("rb") as text:
        done = subprocess.run(
            [sys.executable, "-m", "hermes", "acp"],
            env=environment(home), stdin=text, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hermes: `hermes acp` talks to an editor over pipes")
    assert "Traceback" not in done.stderr

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warm.python import WarmProcess, run, stand_in, stand_in_started

Hermes = Callable[..., "subprocess.CompletedProcess[str]"]
STAND_IN = Path(__file__).with_name("stand_in_gateway.py")


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HERMES_HOME": str(home), "HOME": str(home), "PATH": "/usr/bin:/bin", **more}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def hermes(home: Path) -> Hermes:
    """Runs the command to its end."""

    def run_command(
        *arguments: str, text: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        return run("-m", "hermes", *arguments, env=environment(home, **environ), text=text)

    return run_command


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """A model server that echoes; its value is the environment that configures it."""
    with stand_in("-m", "hermes.testing.model_server", "--port", "0") as line:
        port = json.loads(line)["port"]
        yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "stand-in-key"}


@pytest.fixture
def gateway(home: Path) -> Iterator[WarmProcess]:
    """A gateway that runs in the home."""
    with stand_in_started(str(STAND_IN), str(home)) as (process, _, out):
        assert out.readline() == "ready\n"
        yield process


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What the stand-in of a platform says of itself."""
    with stand_in("-m", f"hermes.testing.{request.param}") as line:
        yield {"name": request.param, **json.loads(line)}

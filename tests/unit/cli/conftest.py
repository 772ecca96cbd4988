import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.warm.python import run

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
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes.testing.model_server", "--port", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    port = json.loads(process.stdout.readline())["port"]
    yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "stand-in-key"}
    process.communicate()


@pytest.fixture
def gateway(home: Path) -> Iterator["subprocess.Popen[str]"]:
    """A gateway that runs in the home."""
    process = subprocess.Popen(
        [sys.executable, str(STAND_IN), str(home)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What the stand-in of a platform says of itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"hermes.testing.{request.param}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield {"name": request.param, **json.loads(process.stdout.readline())}
    process.communicate()

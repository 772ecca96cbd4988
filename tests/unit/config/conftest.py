"""A home folder to write configuration files into, and `load` on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.config import LoadedConfig, load
from hermes.errors import ConfigurationError

Write = Callable[..., None]
LoadHome = Callable[..., LoadedConfig]
Refusal = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def write(home: Path) -> Write:
    """Write files of the home folder: `write(yaml=..., dotenv=..., legacy=...)`."""
    names = {"yaml": "config.yaml", "dotenv": ".env", "legacy": "gateway.json"}

    def write_files(**contents: str) -> None:
        for kind, text in contents.items():
            (home / names[kind]).write_text(text, encoding="utf-8")

    return write_files


@pytest.fixture
def load_home(home: Path) -> LoadHome:
    def load_it(**environ: str) -> LoadedConfig:
        return load(environ, home)

    return load_it


@pytest.fixture
def refusal(load_home: LoadHome) -> Refusal:
    """Load what must be refused, and return the error text."""

    def refused(**environ: str) -> str:
        with pytest.raises(ConfigurationError) as caught:
            load_home(**environ)
        return str(caught.value)

    return refused

"""Which sandbox the configuration gives, and which folders it refuses to show."""

from pathlib import Path

import pytest

from hermes.app.make_terminal import make_sandbox
from hermes.config import Settings
from hermes.errors import ConfigurationError


def settings(**terminal: object) -> Settings:
    return Settings.model_validate({"terminal": terminal})


@pytest.mark.req("W42")
def test_the_home_is_hidden_and_the_limits_are_those_of_the_settings(tmp_path: Path) -> None:
    chosen = settings(processes=10, memory_mb=20, file_mb=30, variables={"A": "b"})
    sandbox = make_sandbox(chosen, home=tmp_path)

    assert sandbox.kind == "bubblewrap"
    assert sandbox.hidden == (tmp_path,)
    assert (sandbox.limits.processes, sandbox.limits.memory_mb, sandbox.limits.file_mb) == (
        10,
        20,
        30,
    )
    assert sandbox.environment(tmp_path)["A"] == "b"
    assert "HERMES_HOME" not in sandbox.environment(tmp_path)


@pytest.mark.req("W42")
@pytest.mark.parametrize("name", ["cwd", "readable"])
def test_a_folder_that_contains_the_home_is_refused(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in (home, tmp_path, tmp_path / "link"):
        value = str(folder) if name == "cwd" else [str(folder)]
        with pytest.raises(ConfigurationError, match=rf"terminal\.{name}"):
            make_sandbox(settings(**{name: value}), home=home)

    make_sandbox(settings(cwd=str(tmp_path / "beside")), home=home)


@pytest.mark.req("W42")
def test_a_working_folder_in_the_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "skills").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / "skills")

    for folder in (home / "skills", home / "new" / "work", tmp_path / "link"):
        with pytest.raises(ConfigurationError, match="which is in the home"):
            make_sandbox(settings(cwd=str(folder)), home=home)

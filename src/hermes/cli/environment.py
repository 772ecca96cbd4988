"""The start of every command: the environment, passed on unread, and the settings read from it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.cli.failure import DEBUG
from hermes.home_path import home_folder
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.config import LoadedConfig, load
else:
    load = lazy("hermes.config:load")


def environment() -> Mapping[str, str]:
    """Return the process's environment for `hermes.config` to read."""
    return os.environ  # noqa: TID251 - handed on unread


def settings_for(home: Path | None) -> "LoadedConfig":
    """Return the settings of a home, by default the one that HERMES_HOME names."""
    # HERMES_DEBUG is a switch of the command line, not a setting.
    environ = {name: value for name, value in environment().items() if name != DEBUG}
    return load(environ, home.expanduser().absolute() if home else None)


def home_for(home: Path | None) -> Path:
    """Return the home folder without reading its settings, so that a broken file does no harm."""
    return home.expanduser().absolute() if home else home_folder(environment())

"""The start of every command: the environment, passed on unread, and the settings read from it."""

import os
from collections.abc import Mapping
from pathlib import Path

from hermes.cli.failure import DEBUG
from hermes.config import LoadedConfig, home_folder, load
from hermes.config.machine import INHERITED_LOCK, inherited_lock


def environment() -> Mapping[str, str]:
    """Return the process's environment for `hermes.config` to read."""
    return os.environ  # noqa: TID251 - handed on unread


def take_inherited_lock() -> int | None:
    """Return the lock that a restart handed over; the programs of this process do not see it."""
    lock = inherited_lock(environment())
    os.environ.pop(INHERITED_LOCK, None)  # noqa: TID251 - not for children
    return lock


def settings_for(home: Path | None) -> LoadedConfig:
    """Return the settings of a home, by default the one that HERMES_HOME names."""
    # HERMES_DEBUG is a switch of the command line, not a setting.
    environ = {name: value for name, value in environment().items() if name != DEBUG}
    return load(environ, home.expanduser().absolute() if home else None)


def home_for(home: Path | None) -> Path:
    """Return the home folder without reading its settings, so that a broken file does no harm."""
    return home.expanduser().absolute() if home else home_folder(environment())

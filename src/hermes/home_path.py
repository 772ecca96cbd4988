"""Where the home folder is, for commands that must not load the settings to know it. Pure."""

from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "HERMES_HOME"


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder in HERMES_HOME, else `~/.hermes`."""
    given = environ.get(HOME_VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    own = environ.get("HOME")
    return (Path(own) if own else Path.home()) / ".hermes"

"""Imports a file of the operator's own code: a hook, a plugin's folder, a file of tools.

The one place that runs such files. Nothing is run that other users of this machine can change.
"""

import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from hermes.config.code_files import check_code, folder_problem, read_code
from hermes.errors import ConfigurationError


class _CheckedLoader(SourceFileLoader):
    """Reads the source through the check, and neither reads nor writes compiled files."""

    def __init__(self, name: str, path: Path, *, home: Path) -> None:
        super().__init__(name, str(path))
        self._home = home

    def get_data(self, path: str) -> bytes:
        """Return the source of a file that only its owner can change."""
        return read_code(Path(path), home=self._home)

    def path_stats(self, path: str) -> Mapping[str, float]:
        """Say that the time of the file is unknown: so no compiled file is used."""
        raise OSError(path)


def import_file(name: str, path: Path, *, home: Path) -> ModuleType:
    """Import a file under a name; raises `ConfigurationError` if others can change it.

    An `__init__.py` is a package: everything in its folder is checked. A module that fails to
    load is not found by a later import.
    """
    check_code(path, home=home)
    if path.name == "__init__.py":
        problem = folder_problem(path.parent, home=home)
        if problem is not None:
            raise ConfigurationError(problem)
    loader = _CheckedLoader(name, path, home=home)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    # Boundary of a foreign module: a half-imported one must not be found by the next import.
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module

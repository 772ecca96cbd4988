"""What a channel needs on the machine besides Hermes, by its manifest: modules and programs."""

import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import msgspec


class Requirements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Python modules and programs that must be there, and the command that installs them."""

    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    install: str = ""

    def problem(self) -> str:
        """Return what is missing and how it is installed; empty if everything is there."""
        missing = [f"the Python module {one}" for one in self.modules if not _has_module(one)]
        missing += [f"the program {one}" for one in self.programs if shutil.which(one) is None]
        if not missing:
            return ""
        how = f"run `{self.install}`" if self.install else "install it for the user of the gateway"
        return f"{' and '.join(missing)} is not installed: {how}"


def read_requirements(file: Path) -> Requirements | None:
    """Return the requirements of a manifest; None if it has none that can be read."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("requires")
        return None if table is None else msgspec.convert(table, Requirements)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False

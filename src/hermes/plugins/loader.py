"""Loading plugins: a module by name, or a folder that holds one; each has `register(registry)`."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from hermes.errors import ConfigurationError
from hermes.plugins.registry import Registry


def load_plugin(name: str, registry: Registry, *, home: Path) -> None:
    """Import one plugin and let it register what it brings; a folder is looked up from `home`."""
    is_folder = "/" in name
    module = _from_folder(home / Path(name).expanduser()) if is_folder else _from_name(name)
    register = getattr(module, "register", None)
    if register is None:
        raise ConfigurationError(
            f"plugins: {name!r} has no function register(registry); "
            "a plugin registers its channels, providers, tools and vision pipelines there"
        )
    register(registry)


def _from_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"plugins: module {name!r} cannot be imported ({error}); "
            "install it into the same environment, or remove it from `plugins`"
        ) from error


def _from_folder(folder: Path) -> ModuleType:
    file = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(f"hermes_plugin_{folder.name}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ConfigurationError(
            f"plugins: the folder {str(folder)!r} holds no __init__.py; name a plugin's folder"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError) as error:
        raise ConfigurationError(f"plugins: {str(folder)!r} does not load: {error}") from error
    return module

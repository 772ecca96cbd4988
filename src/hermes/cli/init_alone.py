"""Tests a key for `hermes init`: one call through the provider's own code.

Imported by name only when used, because it imports the whole composition root.
"""

import asyncio
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import structlog

from hermes.app.key_test import KeyTest, list_models, try_provider
from hermes.app.platforms import built_in, plugged_in
from hermes.cli.environment import environment, home_for
from hermes.config import LoadedConfig, load
from hermes.config.first_files import FirstChoices, secret_variable, write_files
from hermes.ports.clock import SystemClock


def try_key(home: Path | None, choices: FirstChoices, api_key: str | None) -> dict[str, object]:
    """Return the result of one call with the settings to be written."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with TemporaryDirectory(prefix="hermes-init-") as folder:
        loaded = _as_if_written(Path(folder), choices, api_key=api_key)
        tried = asyncio.run(_try(loaded, choices.provider, home=home_for(home)))
    return dict(msgspec.to_builtins(tried))


def models_of(home: Path | None, choices: FirstChoices, api_key: str | None) -> tuple[str, ...]:
    """Return the models that a service lists for a key; raises `HermesError` if it does not."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with TemporaryDirectory(prefix="hermes-init-") as folder:
        settings = _as_if_written(Path(folder), choices, api_key=api_key).settings
    return asyncio.run(list_models(choices.provider, settings=settings, home=home_for(home)))


def platform_names() -> tuple[str, ...]:
    """Return the platforms that `hermes channels add` can set up."""
    return tuple(sorted({*built_in(), *plugged_in()}))


def _as_if_written(folder: Path, choices: FirstChoices, *, api_key: str | None) -> LoadedConfig:
    write_files(folder, choices, api_key=api_key)
    # The key that was given is the one to test, whatever the environment holds.
    hidden = secret_variable(choices.provider) if api_key is not None else ""
    environ = {name: text for name, text in environment().items() if name != hidden}
    environ = {name: text for name, text in environ.items() if name != "HERMES_DEBUG"}
    return load(environ, folder)


async def _try(loaded: LoadedConfig, name: str, *, home: Path) -> KeyTest:
    settings = loaded.settings
    return await try_provider(
        name, settings.providers[name], settings=settings, home=home, clock=SystemClock()
    )

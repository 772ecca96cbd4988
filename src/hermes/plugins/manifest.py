"""Reads a channel's `manifest.toml`: what a platform can do is data."""

import tomllib
from importlib import resources

import msgspec

from hermes.errors import ConfigurationError
from hermes.ports.channel import Capabilities


def load_capabilities(package: str) -> Capabilities:
    """Return the capabilities that the manifest of a channel's package declares."""
    file = resources.files(package) / "manifest.toml"
    try:
        manifest = tomllib.loads(file.read_text(encoding="utf-8"))
        return msgspec.convert(manifest["capabilities"], Capabilities)
    except FileNotFoundError:
        raise ConfigurationError(
            f"{package} has no manifest.toml: every channel ships one."
        ) from None
    except KeyError:
        raise ConfigurationError(f"{package}/manifest.toml has no [capabilities] table.") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise ConfigurationError(f"{package}/manifest.toml does not fit: {problem}.") from None

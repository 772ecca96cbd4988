"""What the tests of `hermes channels add` share: what a gateway would read of the files written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes.config import load
from hermes.plugins.manifest import Manifest, load_manifest, read_settings

NAMES = ("discord", "email", "irc", "matrix", "qq", "slack", "telegram", "webhook")


def manifest_of(name: str) -> Manifest:
    return load_manifest(f"hermes.{'contrib' if name == 'irc' else 'channels'}.{name}")


def near(home: Path) -> dict[str, str]:
    """Return the environment in which stand-ins may be called."""
    locks = str(home / "locks")
    return {"HERMES_NET__EXEMPT": '["127.0.0.0/8"]', "HERMES_PROCESS__LOCK_DIR": locks}


def written(home: Path, name: str, **environ: str) -> dict[str, Any]:
    """Return what a gateway would read of the platform; the files say nothing twice."""
    loaded = load(environ, home)
    assert loaded.warnings == ()
    platform = loaded.settings.platforms[name]
    assert platform.enabled
    return read_settings(manifest_of(name), platform.extra)


def text_of(value: object) -> str:
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


def places(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """Return every setting of a stand-in, as text, by its place."""
    found: dict[tuple[str, ...], str] = {}
    for name, value in table.items():
        place = (*above, name)
        found |= places(value, place) if isinstance(value, dict) else {place: text_of(value)}
    return found

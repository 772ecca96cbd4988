"""The credentials of the enabled platforms that only one process of this machine may use."""

from pathlib import Path

from hermes.config import Settings
from hermes.ops.credential_locks import CredentialLock, default_folder
from hermes.plugins.registry import Registry
from hermes.ports.clock import Clock


def make_rights(
    settings: Settings, registry: Registry, *, home: Path, clock: Clock
) -> dict[str, CredentialLock]:
    """Return the lock of every enabled platform whose manifest names a credential to lock."""
    folder = settings.process.lock_dir or default_folder()
    made: dict[str, CredentialLock] = {}
    for name, chosen in settings.platforms.items():
        platform = registry.platforms.get(name) if chosen.enabled else None
        setting = "" if platform is None else platform.manifest.auth.lock
        given = chosen.extra.get(setting) if setting else None
        reveal = getattr(given, "get_secret_value", None)
        credential = str(reveal() if callable(reveal) else given or "").strip()
        if credential:
            made[name] = CredentialLock(
                folder,
                credential,
                platform=name,
                setting=f"platforms.{name}.{setting}",
                home=home,
                clock=clock,
            )
    return made

"""Rotates the store's key: writes a new key file, wraps every data key with it, drops the old keys.

In this order, so that a key to everything exists after a crash at any point. The next rotation
finishes one that was cut off.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import structlog

from hermes.app.core import Core
from hermes.app.store_files import KEY_FILE
from hermes.config import read_or_create_secret_file
from hermes.config.home import replace_secret_file
from hermes.control.store_keys import RotationReport
from hermes.store.sql.seal import add_store_key, make_store_keys, newest_store_key

_log = structlog.get_logger(__name__)
Replace = Callable[[Path, bytes], None]


class _Rotating(Protocol):
    async def rotate_keys(
        self, key_file: bytes | None = None, *, tell: Callable[[int], None] | None = None
    ) -> int: ...


@runtime_checkable
class _Following(Protocol):
    def use_keys(self, key_file: bytes) -> None: ...


class KeyRotation:
    """Rotates the key of an open store, and of its search index if that is open too."""

    def __init__(
        self,
        path: Path,
        store: _Rotating,
        *,
        search: object | None,
        replace: Replace = replace_secret_file,
    ) -> None:
        self._path = path
        self._store = store
        self._search = search
        self._replace = replace

    async def rotate(self, by: str, *, tell: Callable[[int], None] | None = None) -> RotationReport:
        """Replace the old keys by a new one; call `tell` with the number of wrapped keys."""
        old = read_or_create_secret_file(self._path, make_store_keys)
        both = add_store_key(old)
        self._replace(self._path, both)
        if isinstance(self._search, _Following):
            self._search.use_keys(both)
        rotated = await self._store.rotate_keys(both, tell=tell)
        self._replace(self._path, newest_store_key(both))
        _log.info("store_key_rotated", by=by, data_keys=rotated)
        return RotationReport(data_keys=rotated, removed=len(old.split()), key_file=str(self._path))


def make_rotation(home: Path, core: Core) -> KeyRotation:
    """Return the rotation of a running gateway."""
    return KeyRotation(home / KEY_FILE, core.store, search=core.search)

"""The half of a backup that depends on the store's engine: its content as files, and back."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

# Told how many bytes are done, of how many.
TellBytes = Callable[[int, int], None]


class StoreDump(msgspec.Struct, frozen=True, kw_only=True):
    """What a dump holds: its files by name, the schema, and the keyed name of the home."""

    files: tuple[str, ...]
    schema_version: int
    home_id: str


class StoreBackup(Protocol):
    """Writes the content of a store into files, and makes a store of them."""

    engine: str

    @property
    def newest_schema(self) -> int:
        """The newest schema that `load` accepts."""
        ...

    def size(self) -> int:
        """Return how many bytes a dump has, about."""
        ...

    def dump(self, folder: Path, *, tell: TellBytes) -> StoreDump:
        """Write everything that is committed now into a folder; the store may be in use."""
        ...

    def load(self, folder: Path, *, key_file: bytes | None) -> None:
        """Make the store from the files of a dump; with the key file, check that it opens them."""
        ...

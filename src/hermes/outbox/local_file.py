"""The delivery target `local`: writes a message to a file in the home folder, atomically."""

import asyncio
import os
from pathlib import Path

FOLDER = "delivered"


class LocalFiles:
    """Writes messages to `delivered/` in the home folder; each name is written once."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    async def write(self, name: str, text: str) -> tuple[str, bool]:
        """Write a file; return its path relative to the home folder, and whether it is new."""
        return await asyncio.to_thread(self._write, name, text)

    def _write(self, name: str, text: str) -> tuple[str, bool]:
        path = self._folder / f"{name}.md"
        if path.exists():
            return f"{FOLDER}/{path.name}", False
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = path.with_suffix(".part")
        with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode(errors="replace"))
            file.flush()
            os.fsync(file.fileno())
        whole.replace(path)
        return f"{FOLDER}/{path.name}", True

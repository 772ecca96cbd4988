"""The state files of channels from before the store kept their state: each is taken over once."""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

import structlog

from hermes.durable_file import sync_folder
from hermes.errors import ConfigurationError
from hermes.message.channel_name import settings_place
from hermes.ports.channel_state import ChannelState, PlatformState

_FOLDER: Final = "channels"
_log = structlog.get_logger(__name__)


async def open_state(platform: str, states: ChannelState, *, home: Path) -> PlatformState:
    """Return the state of a platform, with the content of its old files under their names."""
    state = PlatformState(states, platform)
    folder = home / _FOLDER / platform
    try:
        for path in await asyncio.to_thread(_files, folder):
            await _take_over(path, state)
    except OSError as error:
        raise ConfigurationError(
            f"{settings_place(platform)}: cannot move {error.filename or folder} into the store "
            f"({error.strerror}). Let the gateway's user read and delete it, or delete it: the "
            "channel then starts without what it remembers"
        ) from error
    return state


async def _take_over(path: Path, state: PlatformState) -> None:
    # After a crash before the file was gone, what the store has is as new as the file, or newer.
    if await state.get(path.name) is None:
        await state.put(path.name, await asyncio.to_thread(path.read_bytes))
    await asyncio.to_thread(_remove, path)
    _log.info("channel_files.taken_over", path=str(path))


def _files(folder: Path) -> list[Path]:
    """Return the files of a channel, without drafts that a crash left: those are deleted."""
    if not folder.is_dir():
        return []
    found = sorted(path for path in folder.iterdir() if path.is_file())
    for path in found:
        if path.name.startswith("."):
            path.unlink()
    return [path for path in found if not path.name.startswith(".")]


def _remove(path: Path) -> None:
    path.unlink()
    sync_folder(path.parent)
    with contextlib.suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()
